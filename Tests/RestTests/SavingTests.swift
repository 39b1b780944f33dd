import CipherSQL
import Foundation
import Testing
import WebTransport

@testable import OfflineStore
@testable import SyncEngine

/// Saving while the signal goes.
@Suite(.serialized) struct SavingTests {
  private func save(_ device: RangeDevice, distance: Int, within limit: Duration = .seconds(20)) async throws
    -> SaveOutcome
  {
    let (_, outcome) = try await device.worker.save(within: limit) { connection in
      try connection.execute(
        "INSERT INTO OfflineDopeEntry (sessionId, distance) SELECT min(sessionId), \(distance) FROM OfflineSession")
    }
    return outcome
  }

  private func ready(_ api: RangeAPI) async throws -> RangeDevice {
    let device = try RangeDevice(at: api.url, jitter: 1)
    try await device.sync()
    _ = try await device.addSession()
    try await device.sync()
    return device
  }

  @Test func withASignalTheServerHasIt() async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    #expect(try await save(device, distance: 300) == .sent)
    #expect(try await api.count("dope") == "[[1]]")
  }

  @Test func aRefusalIsToldAtOnce() async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    let outcome = try await save(device, distance: 9000)
    #expect(outcome == .refused(message: "distance must be 1 to 5000 yards", status: 422))
  }

  @Test(arguments: ["drop", "drop-answer", "status 500", "status 503", "page"])
  func whatCanBeTriedAgainIsSavedOfflineAndSentLaterOnce(_ fault: String) async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    try await api.fault("POST /api/sessions/1/dope", fault, times: fault == "status 503" ? 6 : 1)
    let outcome = try await save(device, distance: 300)
    guard case .savedOffline = outcome else {
      Issue.record("\(outcome)")
      return
    }
    try await api.noFaults()
    try await device.syncUntilQuiet()
    #expect(try await api.sql("SELECT distance FROM dope") == "[[300]]")
  }

  @Test func withoutANetworkItIsSavedAtOnce() async throws {
    let api = try RangeAPI()
    let online = try await ready(api)
    let worker = SyncWorker(
      vault: online.vault, remote: await online.worker.remote, monitor: NetworkMonitor(fixed: .offline), jitter: { 0 })
    let (_, outcome) = try await worker.save { connection in
      try connection.execute(
        "INSERT INTO OfflineDopeEntry (sessionId, distance) SELECT min(sessionId), 300 FROM OfflineSession")
    }
    #expect(outcome == .savedOffline("there is no network"))
    #expect(try await online.waiting() == 1)
    try await online.sync()
    #expect(try await api.count("dope") == "[[1]]")
  }

  @Test func aServerThatTakesItsTimeIsNotWaitedFor() async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    try await api.fault("POST /api/sessions/1/dope", "slow 4")
    #expect(
      try await save(device, distance: 300, within: .milliseconds(300))
        == .savedOffline("the server has not answered yet"))
    // What is under way is kept when it comes.
    for _ in 0..<100 where try await device.waiting() > 0 { try await Task.sleep(for: .milliseconds(100)) }
    #expect(try await device.waiting() == 0)
    #expect(try await api.count("dope") == "[[1]]")
  }

  @Test func whatTheVaultRefusesIsNotSavedAndNotSent() async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    await #expect(throws: SQLError.self) { try await save(device, distance: -1) }
    #expect(try await device.waiting() == 0)
  }

  /// What was saved offline is taken back before it was sent.
  @Test func takingBackWhatWasNotSentIsASaveToo() async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    try await device.addHold(1, at: 300)
    let (_, outcome) = try await device.worker.save { try $0.execute("DELETE FROM OfflineDopeEntry") }
    #expect(outcome == .sent)
    #expect(try await api.count("dope") == "[[0]]")
  }

  @Test func othersRefusalsAreNotThisOnes() async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    try await device.addHold(1, at: 9000)
    try await device.syncUntilQuiet()
    #expect(try await save(device, distance: 300) == .sent)
  }

  @Test func aCallerWhoIsCancelledHasSavedAllTheSame() async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    try await api.fault("POST /api/sessions/1/dope", "slow 3")
    let saving = Task { try await save(device, distance: 300) }
    try await Task.sleep(for: .milliseconds(500))
    saving.cancel()
    guard case .savedOffline = try await saving.value else {
      Issue.record("not told as saved")
      return
    }
    #expect(try await device.value("SELECT count(*) FROM OfflineDopeEntry", as: Int.self) == 1)
  }
}
