import Foundation
import Glibc
import TestSupport

/// Kills, cuts the power and lets operations fail under processes that work on a vault, and checks the vault:
/// `fieldvault-torture [--small] [--only SCENARIO] [--runs N] [--from N] [--seed N] [--workers N] [--results FILE]`.
@main
enum TortureCommand {
  static func main() throws {
    let words = Array(CommandLine.arguments.dropFirst())
    if words.first == "--child" { exit(Child.run(Array(words.dropFirst()))) }
    let options: Options
    do {
      options = try Options(words)
    } catch {
      say("\(error)")
      exit(2)
    }
    exit(try run(options) ? 0 : 1)
  }

  private static func run(_ options: Options) throws -> Bool {
    let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
    let programs = Programs(
      torture: own + "/fieldvault-torture", fieldvault: own + "/fieldvault", layer: own + "/libFaultLayer.so")
    for path in [programs.fieldvault, programs.layer] where !FileManager.default.fileExists(atPath: path) {
      throw Unexpected("\(path) is missing: build everything first")
    }
    let folder = NSTemporaryDirectory() + "/fieldvault-torture-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let campaign = Campaign(
      options: options, folder: folder, programs: programs, templates: Templates(folder: folder))
    say("seed \(options.seed)")
    var results: [Campaign.Result] = []
    for scenario in Scenario.all where options.only.isEmpty || options.only.contains(scenario.name) {
      let result = try campaign.perform(scenario)
      results.append(result)
      say(Report.line(result))
      for failure in result.failures { say("  FAILED: \(failure)") }
    }
    let holds = results.allSatisfy { $0.failures.isEmpty && ($0.isAvailable || options.isSmall) }
    if let path = options.results {
      try Data(Report.page(results, options).utf8).write(to: URL(filePath: path))
    }
    if results.allSatisfy(\.failures.isEmpty) { try FileManager.default.removeItem(atPath: folder) }
    return holds
  }

  static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}

struct Options: Sendable {
  var isSmall = false
  var only: [String] = []
  var runs: Int?
  var from = 0
  var seed = UInt64.random(in: 1...999_999)
  var workers = 2
  var results: String?

  init(_ words: [String]) throws {
    var rest = Words(rest: words[...])
    while let word = rest.rest.popFirst() {
      switch word {
      case "--small": isSmall = true
      case "--only":
        let name = try rest.value(word)
        guard Scenario.all.contains(where: { $0.name == name }) else {
          throw Unexpected("no scenario '\(name)'; there are: \(Scenario.all.map(\.name).joined(separator: ", "))")
        }
        only.append(name)
      case "--runs": runs = try rest.number(word)
      case "--from": from = try rest.number(word)
      case "--seed": seed = UInt64(try rest.number(word))
      case "--workers": workers = max(1, try rest.number(word))
      case "--results": results = try rest.value(word)
      default: throw Unexpected("unknown option '\(word)'")
      }
    }
  }
}

/// The words that are not yet read.
private struct Words {
  var rest: ArraySlice<String>

  mutating func value(_ option: String) throws -> String {
    guard let value = rest.popFirst() else { throw Unexpected("\(option) needs a value") }
    return value
  }

  mutating func number(_ option: String) throws -> Int {
    guard let number = Int(try value(option)), number >= 0 else { throw Unexpected("\(option) needs a number") }
    return number
  }
}
