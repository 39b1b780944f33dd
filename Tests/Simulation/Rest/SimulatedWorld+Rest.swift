import CipherSQL
import TestSupport
import VaultStore

extension SimulatedAPI {
  /// The share of the worlds with an API.
  private static let share = 0.08

  /// Returns the API of a world; `nil` for a world with a server.
  static func draw(_ seed: UInt64, _ remote: WorldScale.Remote?, _ machine: Machine, _ trace: Trace) -> SimulatedAPI? {
    generator(seed, remote).map { SimulatedAPI(machine, trace, $0) }
  }

  /// Returns the generator of the API of a world; `nil` if the world has none.
  static func generator(_ seed: UInt64, _ remote: WorldScale.Remote?) -> Seeded? {
    var random = Seeded(seed, "rest", 0)
    let isDrawn = random.chance(share)
    return remote == .rest || remote == nil && isDrawn ? random : nil
  }
}

extension SimulatedWorld {
  /// Notes the ids that records have at the API. A record that was deleted loses its row.
  func noteIdentities() throws {
    guard let api else { return }
    api.requests = [:]
    for device in devices {
      for kind in workload.kinds {
        let rows = try device.read { connection in
          try connection.fetchRows(
            "SELECT uuid, serverId FROM \(identifier: kind.table) WHERE serverId IS NOT NULL", as: String.self,
            Int64.self)
        }
        for (uuid, id) in rows { api.identities[device.name, default: [:]][uuid, default: []].insert(id) }
      }
    }
  }

  /// Lets the devices sync until nothing changes, and compares them with the API.
  func settle(with api: SimulatedAPI, resolves: Bool) throws {
    try perform { await api.stop() }
    // Requests of the time with faults may arrive until then.
    scheduler.run(until: scheduler.now + 420_000_000)
    let quiet = Quiet(devices: devices, resolves: resolves, depth: workload.depth, mayDiffer: false, yields: true)
    let seed = random.next()
    let shared = OneThread(value: quiet)
    do {
      let isQuiet = try scheduler.finish(within: 48 * 3_600_000_000) {
        var random = Seeded(seed)
        try await shared.value.settle(&random)
        return true
      }
      guard isQuiet == true else { throw Violation(5, "the devices do not become quiet in two days") }
    } catch let violation as Violation {
      throw network.violation ?? api.violation ?? violation
    }
    try repair()
    try noteIdentities()
    for device in devices { try tallyConflicts(of: device) }
    try RestCheck(devices: devices, api: api).check()
  }
}
