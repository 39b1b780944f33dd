import Foundation
import Glibc
import TestSupport

/// Devices, a server and a faulty network, checked for the invariants: in one process from one seed (``SeedOptions``), or
/// as processes, in rounds: `fieldvault-simulation --processes [--small] [--rounds N] [--seed N] [--devices N] [--rounds-per-world N] [--world N] [--schema NAME] [--results
/// FILE]`.
@main
enum SimulationCommand {
  static func main() async throws {
    let words = Array(CommandLine.arguments.dropFirst())
    signal(SIGPIPE, SIG_IGN)
    if words.first == "device" { exit(await DeviceProcess.run(Array(words.dropFirst()))) }
    do {
      if words.first != "--processes" {
        let options = try SeedOptions(words)
        try SeedCommand.fixHashing()
        exit(try SeedCommand.run(options))
      }
      let options = try Options(Array(words.dropFirst()))
      exit(try await Campaign(options).run() ? 0 : 1)
    } catch let error as SimulatorDefect {
      say("\(error)")
      exit(3)
    } catch let error as Unexpected {
      say("\(error)")
      exit(2)
    }
  }
}

struct Options: Sendable {
  var rounds = 200
  var seed = UInt64.random(in: 1...999_999)
  /// Nil: three to five, another number in each world.
  var devices: Int?
  /// How many rounds a world lasts.
  var roundsPerWorld = 20
  /// The only world of the campaign to run, from 1.
  var world: Int?
  /// The schema of all worlds, with copies and restores; `nil`: another one in each world.
  var schema: String?
  var results: String?

  /// The options that shape a world, as they were given.
  var worldOptions: String {
    " --rounds-per-world \(roundsPerWorld)" + (devices.map { " --devices \($0)" } ?? "")
      + (schema.map { " --schema \($0)" } ?? "")
  }

  init(_ words: [String]) throws {
    var rest = words[...]
    func number(_ option: String) throws -> Int {
      guard let word = rest.popFirst(), let number = Int(word), number >= 0 else {
        throw Unexpected("\(option) needs a number")
      }
      return number
    }
    while let word = rest.popFirst() {
      switch word {
      case "--small": (rounds, roundsPerWorld, devices) = (5, 1, 3)
      case "--rounds": rounds = try number(word)
      case "--seed": seed = UInt64(try number(word))
      case "--devices": devices = try number(word)
      case "--rounds-per-world": roundsPerWorld = max(1, try number(word))
      case "--world": world = max(1, try number(word))
      case "--schema":
        guard let name = rest.popFirst(), Workload.all.contains(where: { $0.name == name }) else {
          throw Unexpected("--schema needs one of \(Set(Workload.all.map(\.name)).sorted().joined(separator: ", "))")
        }
        schema = name
      case "--results":
        guard let path = rest.popFirst() else { throw Unexpected("--results needs a file") }
        results = path
      default: throw Unexpected("unknown option '\(word)'")
      }
    }
  }
}
