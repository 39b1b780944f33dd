import CipherSQL
import Foundation
import Testing
import HTTPClient

@testable import VaultStore
@testable import SyncEngine

/// Saves while the connection fails.
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

  @Test("With a connection, a save reaches the server") func withASignalTheServerHasIt() async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    #expect(try await save(device, distance: 300) == .sent)
    #expect(try await api.count("dope") == "[[1]]")
  }

  @Test("A refusal is reported at once") func aRefusalIsToldAtOnce() async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    let outcome = try await save(device, distance: 9000)
    #expect(outcome == .refused(message: "distance must be 1 to 5000 yards", status: 422))
  }

  @Test(
    "A save that fails temporarily is kept offline and later sent exactly once",
    arguments: ["drop", "drop-response", "status 500", "status 503", "page"])
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

  @Test("Without a network, a save is kept offline at once") func withoutANetworkItIsSavedAtOnce() async throws {
    let api = try RangeAPI()
    let online = try await ready(api)
    let worker = SyncWorker(
      vault: online.vault, remote: await online.worker.remote, monitor: NetworkMonitor(fixed: .offline))
    let (_, outcome) = try await worker.save { connection in
      try connection.execute(
        "INSERT INTO OfflineDopeEntry (sessionId, distance) SELECT min(sessionId), 300 FROM OfflineSession")
    }
    #expect(outcome == .savedOffline("no network"))
    #expect(try await online.waiting() == 1)
    try await online.sync()
    #expect(try await api.count("dope") == "[[1]]")
  }

  @Test("A save does not wait for a slow server") func aServerThatTakesItsTimeIsNotWaitedFor() async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    try await api.fault("POST /api/sessions/1/dope", "slow 4")
    #expect(
      try await save(device, distance: 300, within: .milliseconds(300))
        == .savedOffline("the server has not responded yet"))
    // The response of the request in flight is applied when it arrives.
    for _ in 0..<100 where try await device.waiting() > 0 { try await Task.sleep(for: .milliseconds(100)) }
    #expect(try await device.waiting() == 0)
    #expect(try await api.count("dope") == "[[1]]")
  }

  @Test("A write that the vault rejects is neither saved nor sent")
  func whatTheVaultRefusesIsNotSavedAndNotSent() async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    await #expect(throws: SQLError.self) { try await save(device, distance: -1) }
    #expect(try await device.waiting() == 0)
  }

  /// A record that was saved offline is deleted before it was sent.
  @Test("Deleting a record that was not sent yet is reported as sent")
  func takingBackWhatWasNotSentIsASaveToo() async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    try await device.addHold(1, at: 300)
    let (_, outcome) = try await device.worker.save { try $0.execute("DELETE FROM OfflineDopeEntry") }
    #expect(outcome == .sent)
    #expect(try await api.count("dope") == "[[0]]")
  }

  @Test("The refusal of another record does not affect a save") func othersRefusalsAreNotThisOnes() async throws {
    let api = try RangeAPI()
    let device = try await ready(api)
    try await device.addHold(1, at: 9000)
    try await device.syncUntilQuiet()
    #expect(try await save(device, distance: 300) == .sent)
  }

  @Test("A cancelled save is still kept offline") func aCallerWhoIsCancelledHasSavedAllTheSame() async throws {
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
