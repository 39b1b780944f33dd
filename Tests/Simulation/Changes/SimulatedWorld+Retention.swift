import CipherSQL
import SyncModel
import TestSupport

/// The records that the server had stored and forgotten at one true time.
struct RetentionMark {
  /// The virtual time in microseconds.
  let time: Int64
  /// The last numbers of `SimulationHistory`, `SimulationForgotten` and `SimulationAnswer`.
  let versions, deletions, answers: Int64

  static let start = RetentionMark(time: 0, versions: 0, deletions: 0, answers: 0)
}

extension SimulatedWorld {
  /// Lets up to 180 days pass in which some devices have no network. The others delete, write and sync from time to time, and
  /// the clock of the server jumps.
  func passRetention() throws {
    try repair()
    let away = Set(devices.map(\.name).filter { _ in changes.random.chance(0.5) })
    network.trouble = 0
    for _ in 0..<changes.random.number(2..<5) {
      for device in devices {
        try perform { await device.rest() }
        try noteSealed(device)
        try stop(device, byPowerCut: false)
      }
      // A request does not stay on its way for days.
      scheduler.run(until: scheduler.now + 420_000_000)
      try markRetention()
      if changes.random.chance(0.5) { setServerClock() }
      let days = changes.random.number(20..<60)
      scheduler.skip(Int64(days) * 86_400_000_000)
      trace.note("change", "\(days) days pass")
      if changes.random.chance(0.5) {
        // The server advances its time and forgets, and starts again with this time.
        scheduler.run(until: scheduler.now + 1_000_000)
        try restartServer(byPowerCut: false)
        scheduler.run(until: scheduler.now + 1_000_000)
      } else {
        scheduler.run(until: scheduler.now + 25 * 900_000_000)
      }
      try markRetention()
      network.offline = away
      for device in devices { try open(device, lives: true) }
      scheduler.run(until: scheduler.now + Int64(changes.random.number(20_000_000..<120_000_000)))
      try repair()
    }
  }

  /// Sets the clock of the server wrong by up to 400 days, or right.
  private func setServerClock() {
    let before = server.machine.clockError
    let days = changes.random.chance(0.3) ? 0 : changes.random.number(-400..<400)
    server.machine.clockError = Int64(days) * 86_400_000
    trace.note("clock", "server is wrong by \(days) days")
    if server.machine.clockError > before { incidents.circumstances.setsServerForward = true }
  }

  /// The server forgets responses. An operation whose response did not arrive counts as new afterwards.
  private func noteSealed(_ device: SimulatedDevice) throws {
    let sealed = try device.read { connection in
      try connection.fetch(
        "SELECT entityUuid FROM OfflineSyncQueue WHERE completedAt IS NULL AND payload IS NOT NULL", as: String.self)
    }
    incidents.circumstances.resent.formUnion(sealed)
    // The forgotten response may have had a conflict.
    incidents.circumstances.unanswered.formUnion(sealed)
  }

  /// Notes the records that the server has stored and forgotten until now.
  func markRetention() throws {
    let database = try server.store.open()
    defer { database.close() }
    let time = scheduler.now
    let mark = try database.read { try server.store.mark(at: time, in: $0) }
    incidents.circumstances.retention.append(mark)
  }

  /// Checks the forgotten records before the data of the server are replaced.
  func checkRetention() throws {
    try markRetention()
    var circumstances = incidents.circumstances
    circumstances.operations = network.operations
    let database = try server.store.open()
    defer { database.close() }
    try database.read { try RetentionCheck(circumstances).check($0) }
  }

  /// Leaves out the records that a restored server does not have.
  func resetRetention() throws {
    try markRetention()
    guard let last = incidents.circumstances.retention.last else { return }
    incidents.circumstances.retention.removeAll {
      $0.versions > last.versions || $0.deletions > last.deletions || $0.answers > last.answers
    }
  }
}
