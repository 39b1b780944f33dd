import BenchmarkFloor
import CipherSQL
import Foundation

/// Measures the typed layer against the C API, and sync against its parts: `fieldvault-bench [ROUNDS] [--whole]
/// [--file-mib=N] [PART...]`. A part is one of `layer`, `vault`, `files`, `outbox`, `first`, `round`, `push`,
/// `photos`, `batch`, `growth`, `cascade`, `queue`, `commands`, `slow`, `compared`, `postgresql`, `waiting`, `accounts`,
/// `fairness`, `metrics`, `backup`, or `server` for `queue` and the last seven; by default all of them. `--whole` uses the promised numbers of
/// records instead of smaller ones. `--file-mib` is the size of the encrypted file, 1024 if the
/// disk has space for it.
///
/// Both sides use encrypted files with the same settings and take turns, so that other load of the machine affects
/// both. Processor times are compared, unless a part says otherwise.
@main
enum BenchmarkCommand {
  static let parts = [
    "layer", "vault", "files", "outbox", "first", "round", "push", "photos", "batch", "growth", "cascade", "queue",
    "commands", "slow", "compared", "postgresql", "waiting", "accounts", "fairness", "metrics", "backup",
    "server",
  ]

  static func main() async throws {
    let words = Array(CommandLine.arguments.dropFirst())
    if words.first == "device" { return try await DeviceProcess.run(Array(words.dropFirst())) }
    if words.first == "load" { return try await LoadProcess.run(Array(words.dropFirst())) }
    let rounds = words.first.flatMap(Int.init) ?? 5
    let fileOption = words.first { $0.hasPrefix("--file-mib=") }
    let named = words.filter { Int($0) == nil && $0 != "--whole" && $0 != fileOption }
    guard Set(named).isSubset(of: parts) else {
      print("usage: fieldvault-bench [ROUNDS] [--whole] [--file-mib=N] [\(parts.joined(separator: "|"))]...")
      exit(2)
    }
    let wanted = Set(named.isEmpty ? parts : named)
    let folder = NSTemporaryDirectory() + "fieldvault-bench-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let sizes = words.contains("--whole") ? SyncSizes.whole : SyncSizes()
    do {
      let fileMiB = try fileOption.flatMap { Int($0.dropFirst(11)) } ?? FileSuite.usualMiB(in: folder)
      let holds = try await run(wanted, in: folder, rounds: rounds, sizes: sizes, fileMiB: fileMiB)
      removeOrTell(folder)
      exit(holds ? 0 : 1)
    } catch {
      removeOrTell(folder)
      throw error
    }
  }

  private static func run(
    _ parts: Set<String>, in folder: String, rounds: Int, sizes: SyncSizes, fileMiB: Int
  ) async throws -> Bool {
    var holds = true
    if parts.contains("layer") { holds = try layer(folder, rounds: rounds) }
    if parts.contains("vault") {
      let whole = try VaultSuite(folder: folder).report(rounds: rounds)
      print((whole.lines + [""]).joined(separator: "\n"))
      holds = holds && whole.holds
    }
    if parts.contains("files") {
      for finding in try FileSuite(folder: folder, rounds: rounds, byteCount: fileMiB << 20).findings() {
        say(finding.text)
        holds = holds && finding.holds
      }
      say("")
    }
    if parts.contains("outbox") {
      print("A vault with its triggers and two rows written in C, \(rounds) rounds, processor time")
      holds = try table(try OutboxSuite(folder: folder, count: 20_000).benchmarks, rounds: rounds) && holds
    }
    return try await SyncSuite(folder: folder, rounds: rounds, sizes: sizes).run(parts) && holds
  }

  private static func layer(_ folder: String, rounds: Int) throws -> Bool {
    let suite = try Suite(folder: folder)
    print(
      "Typed layer and C floor, \(rounds) rounds, processor time; page cache \(suite.cacheMiB) MiB, WAL, synchronous=FULL"
    )
    var holds = try table(suite.benchmarks, rounds: rounds)
    for scaling in try suite.readerScaling(rounds: rounds) {
      holds = holds && scaling.holds
      print(
        "two readers on two cores, pages \(scaling.name): \(format(scaling.factor, 2)) times the look-ups of one "
          + "(promised: more than 1.6; the C floor: \(format(scaling.floorFactor, 2))) \(scaling.holds ? "holds" : "TOO SLOW")"
      )
    }
    print("")
    return holds
  }

  private static func table(_ benchmarks: [Benchmark], rounds: Int) throws -> Bool {
    var holds = true
    print("")
    line("work", "C, s", "typed, s", "ratio", "promised", "")
    for benchmark in benchmarks {
      let result = try measure(benchmark, rounds: rounds)
      holds = holds && result.holds
      line(
        result.name, format(result.floorMedian, 4), format(result.typedMedian, 4), format(result.ratio, 2),
        format(result.limit, 2), result.holds ? "holds" : "TOO SLOW")
    }
    print("")
    return holds
  }

  private static func measure(_ benchmark: Benchmark, rounds: Int) throws -> Measurement {
    var result = Measurement(name: benchmark.name, limit: benchmark.limit)
    // The first round of each side is not counted: it fills the caches and prepares the statements.
    for round in 0...rounds {
      try benchmark.prepare()
      // The side that begins alternates between rounds.
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
    say(cells.joined(separator: "  "))
  }

  private static func removeOrTell(_ folder: String) {
    do { try FileManager.default.removeItem(atPath: folder) } catch { print("could not remove \(folder): \(error)") }
  }
}

func format(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

/// Prints a line at once, also into a pipe.
func say(_ line: String) {
  print(line)
  fflush(nil)
}

/// Seconds of processor time, user and system, of the whole process so far.
func processorTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Those of some work.
func processorTime(_ body: () throws -> Void) rethrows -> Double {
  let begin = processorTime()
  try body()
  return processorTime() - begin
}
