import BenchmarkFloor
import CipherSQL
import Foundation

/// Measures the typed layer against the C API: `fieldvault-bench [ROUNDS]`.
///
/// Both sides work in one process, on encrypted files with the same settings, and take turns, so that what the
/// machine does beside them meets both. What is compared is processor time.
@main
enum BenchmarkCommand {
  static func main() throws {
    let rounds = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 5
    let folder = NSTemporaryDirectory() + "fieldvault-bench-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { removeOrTell(folder) }
    let suite = try Suite(folder: folder)
    print(
      "Typed layer and C floor, \(rounds) rounds, processor time; page cache \(suite.cacheMiB) MiB, WAL, synchronous=FULL"
    )
    print("")
    line("work", "C, s", "typed, s", "ratio", "promised", "")
    var holds = true
    for benchmark in suite.benchmarks {
      let result = try measure(benchmark, rounds: rounds)
      holds = holds && result.holds
      line(
        result.name, format(result.floorMedian, 4), format(result.typedMedian, 4), format(result.ratio, 2),
        format(result.limit, 2), result.holds ? "holds" : "TOO SLOW")
    }
    print("")
    for scaling in try suite.readerScaling(rounds: rounds) {
      holds = holds && scaling.holds
      print(
        "two readers on two cores, pages \(scaling.name): \(format(scaling.factor, 2)) times the look-ups of one "
          + "(promised: more than 1.6; the C floor: \(format(scaling.floorFactor, 2))) \(scaling.holds ? "holds" : "TOO SLOW")"
      )
    }
    print("")
    let whole = try VaultSuite(folder: folder).report(rounds: rounds)
    for line in whole.lines { print(line) }
    exit(holds && whole.holds ? 0 : 1)
  }

  private static func measure(_ benchmark: Benchmark, rounds: Int) throws -> Measurement {
    var result = Measurement(name: benchmark.name, limit: benchmark.limit)
    // The first round of each side is not counted: it fills the caches and prepares the statements.
    for round in 0...rounds {
      try benchmark.prepare()
      // Who begins changes from round to round.
      let (typed, floor): (Double, Double)
      if round % 2 == 0 {
        typed = try processorTime(benchmark.typed)
        floor = try processorTime(benchmark.floor)
      } else {
        floor = try processorTime(benchmark.floor)
        typed = try processorTime(benchmark.typed)
      }
      if round > 0 {
        result.typed.append(typed)
        result.floor.append(floor)
      }
    }
    return result
  }

  private static func line(_ columns: String...) {
    let widths = [64, 8, 9, 6, 9, 9]
    let cells = zip(columns, widths).enumerated().map { index, cell in
      let padding = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
      return index == 0 ? cell.0 + padding : padding + cell.0
    }
    print(cells.joined(separator: "  "))
  }

  private static func removeOrTell(_ folder: String) {
    do { try FileManager.default.removeItem(atPath: folder) } catch { print("could not remove \(folder): \(error)") }
  }
}

func format(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

/// Seconds of processor time, user and system, of the whole process.
func processorTime(_ body: () throws -> Void) rethrows -> Double {
  var begin = timespec()
  var end = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin)
  try body()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end)
  return Double(end.tv_sec - begin.tv_sec) + Double(end.tv_nsec - begin.tv_nsec) / 1e9
}
