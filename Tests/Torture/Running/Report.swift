import Foundation
import Glibc

/// A readable report of the findings.
enum Report {
  static func line(_ result: Campaign.Result) -> String {
    let name = result.scenario.name.padding(toLength: 20, withPad: " ", startingAt: 0)
    guard result.isAvailable else { return "\(name) not available: the program has no such command" }
    let points = result.operations > 0 ? " of \(result.operations) operations" : ""
    return "\(name) \(result.runs) runs, \(result.hits) hit\(points), \(result.seconds) s: \(verdict(result))"
  }

  private static func verdict(_ result: Campaign.Result) -> String {
    if !result.isAvailable { return "not available" }
    return result.failures.isEmpty ? "all hold" : "\(result.failures.count) FAILED"
  }

  static func page(_ results: [Campaign.Result], _ options: Options) -> String {
    var text = """
      # Results of the crash torture

      - date: \(Date.now.formatted(.iso8601))
      - command: `scripts/torture --seed \(options.seed)`
      - machine: \(machine)

      A run is hit when its process was killed, lost its power or ended with an error; the others had finished
      before. In a run of `cut-…` one of the counted operations is the last one before the power cut.

      | scenario | runs | hit | operations to hit | seconds | result |
      |---|---|---|---|---|---|

      """
    for result in results {
      let operations = result.operations > 0 ? String(result.operations) : ""
      text +=
        "| `\(result.scenario.name)` | \(result.runs) | \(result.hits) | \(operations) | \(result.seconds) "
        + "| \(verdict(result)) |\n"
    }
    return text
  }

  private static var machine: String {
    var system = utsname()
    uname(&system)
    let release = withUnsafeBytes(of: system.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    let model =
      (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n")
      .first { $0.hasPrefix("model name") }?.split(separator: ":").last ?? "unknown processor"
    let cores = ProcessInfo.processInfo.activeProcessorCount
    return "\(cores) cores of\(model), Linux \(release)"
  }
}
