import Foundation
import TestSupport

/// Worlds one after the other, each for a number of rounds.
final class Campaign {
  private let options: Options
  private let folder = NSTemporaryDirectory() + "/fieldvault-simulation-\(getpid())"
  private let programs: Programs
  private var tally = Tally()

  init(_ options: Options) throws {
    self.options = options
    let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path
    let place = URL(filePath: own).deletingLastPathComponent().path
    programs = Programs(own: own, server: place + "/fieldvault-server", layer: place + "/libFaultLayer.so")
    for path in [programs.server, programs.layer] where !FileManager.default.fileExists(atPath: path) {
      throw Unexpected("\(path) is missing: build it first")
    }
  }

  /// Whether everything held.
  func run() async throws -> Bool {
    say("seed \(options.seed)")
    var number = options.world.map { $0 - 1 } ?? 0
    while options.world == nil ? number * options.roundsPerWorld < options.rounds : number < options.world ?? 0 {
      guard try await perform(world: number) else { return false }
      number += 1
      say("\(min(number * options.roundsPerWorld, options.rounds)) rounds, \(tally.line)")
    }
    if let path = options.results {
      try Data(Report.page(tally, options).utf8).write(to: URL(filePath: path))
    }
    try FileManager.default.removeItem(atPath: folder)
    return true
  }

  private func workload(of number: Int) -> Workload {
    if let name = options.schema, let workload = Workload.all.first(where: { $0.name == name && $0.hasIncidents }) {
      return workload
    }
    return Workload.all[(Int(options.seed % 1_000) + number) % Workload.all.count]
  }

  private func perform(world number: Int) async throws -> Bool {
    let seed = Seeded(options.seed, "worlds", number).first
    let devices = options.devices ?? 3 + number % 3
    let place = "\(folder)/world-\(number + 1)"
    let workload = workload(of: number)
    let world = try World(folder: place, seed: seed, workload: workload, devices: devices, programs: programs)
    defer { world.stop() }
    let first = number * options.roundsPerWorld
    let end =
      options.world == nil ? min(first + options.roundsPerWorld, options.rounds) : first + options.roundsPerWorld
    for round in first..<end {
      // One generator for each round: the timing of a round does not change the next one's plan.
      var random = Seeded(seed, "round", round)
      do {
        try await Round(world: world, isResolving: random.chance(0.5)).perform(&random)
        tally.rounds += 1
        tally.workloads[workload.name, default: 0] += 1
      } catch let violation as Violation {
        say(
          "seed \(options.seed), round \(round + 1) (world \(number + 1), \(workload.name), \(devices) devices): \(violation)"
        )
        say("again: scripts/simulate --processes --seed \(options.seed) --world \(number + 1)\(options.worldOptions)")
        say("the folders are kept in \(place)")
        return false
      }
    }
    tally.devices.insert(devices)
    try tally.add(world)
    try FileManager.default.removeItem(atPath: place)
    return true
  }
}
