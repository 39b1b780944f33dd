import CipherSQL
import SyncEngine
import TestSupport

extension SimulatedWorld {
  /// Lets the server be out of reach for hours. Each device must find it soon afterwards.
  func passOutage() throws {
    try repair()
    for device in devices {
      try stop(device, byPowerCut: false)
      // A worker waits by its clock.
      device.machine.stoppedAt = nil
      // The people sleep meanwhile, so their writes end no wait.
      try open(device, lives: true, hasPerson: false)
    }
    network.isDown = true
    let minutes = changes.random.number(60..<400)
    trace.note("change", "the server is out of reach for \(minutes) minutes")
    scheduler.run(until: scheduler.now + Int64(minutes) * 60_000_000)
    (network.isDown, network.trouble, network.offline) = (false, 0, [])
    let before = network.delivered
    // A timer starts a round at the latest, and its requests may take a while.
    scheduler.run(until: scheduler.now + (Schedule.interval + Schedule.longestBackoff) * 1000 + 60_000_000)
    for device in devices where network.delivered[device.name] == before[device.name] {
      // A worker without a valid token waits for a new one, and nothing is sent in device-only mode.
      guard !changes.mayLackTokens, !device.isLoggedOut, network.silentSince[device.name] == nil else { continue }
      let rounds = try device.read { connection in
        try connection.fetch(
          """
          SELECT startedAt || ', ' || cause || ': ' || outcome || coalesce(', ' || errorMessage, '') FROM SyncRun
          ORDER BY runId DESC LIMIT 3
          """, as: String.self)
      }
      throw Violation(
        5,
        ["\(device.name) does not look for the server after an outage of \(minutes) minutes; its last rounds:"] + rounds
      )
    }
    for device in devices {
      try stop(device, byPowerCut: false)
      try open(device, lives: true)
    }
  }
}
