import CipherSQL
import Foundation
import Testing

@testable import VaultStore
@testable import SyncEngine

/// The session was deleted at the server while this device added entries to it.
@Suite(.serialized) struct GoneTests {
  let api: RangeAPI
  let device: RangeDevice
  let session: Int64

  init() async throws {
    api = try RangeAPI()
    device = try RangeDevice(at: api.url)
    try await device.sync()
    session = try await device.addSession("gone")
    try await device.addHold(session, at: 300)
    try await device.sync()
    for table in ["sessions", "dope"] { try await api.sql("DELETE FROM \(table)") }
    try await device.addHold(session, at: 400)
    let report = try await device.worker.sync(RoundRequest(pulls: false))
    #expect(report.conflicts == 1)
  }

  private func conflict() async throws -> String {
    let found = try await device.values(
      "SELECT conflictId FROM OfflineConflictResolution WHERE conflictType = 'deleted_remotely' AND resolvedAt IS NULL")
    #expect(found.count == 1)
    return try #require(found.first)
  }

  private func resolve(takesLocal: Bool, choices: [String: Vault.ConflictChoice] = [:]) async throws {
    let id = try await conflict()
    let vault = device.vault
    try await Task.detached {
      try Self.now { try vault.resolveConflict(id, takesLocal: takesLocal, choices: choices, user: "ada") }
    }.value
  }

  private static func now(_ body: () throws -> Void) throws { try body() }

  @Test("An entry of a deleted session is kept and waits for the user's decision")
  func theEntryIsNotLostAndWaitsForAPerson() async throws {
    #expect(
      try await device.value(
        "SELECT count(*) FROM OfflineDopeEntry WHERE distance = 400 AND isDeleted = 0", as: Int.self) == 1)
    // Nothing changes before a user decides, however often the device syncs.
    for _ in 0..<3 { _ = try await device.worker.sync() }
    #expect(try await api.count("dope") == "[[0]]")
    _ = try await conflict()
  }

  @Test("Restoring the parent also restores its dependents")
  func bringingTheParentBackBringsBackWhatHungOnIt() async throws {
    try await resolve(takesLocal: true)
    try await device.syncUntilQuiet()
    #expect(try await api.sql("SELECT notes FROM sessions") == #"[["gone"]]"#)
    #expect(try await api.sql("SELECT distance FROM dope ORDER BY 1") == "[[300], [400]]")
    #expect(try await device.value("SELECT count(*) FROM OfflineSession WHERE isDeleted = 0", as: Int.self) == 1)
    #expect(try await device.value("SELECT count(*) FROM OfflineDopeEntry WHERE isDeleted = 0", as: Int.self) == 2)
    _ = try await device.sync()
    #expect(try await api.count("sessions") == "[[1]]")
  }

  @Test("A lost response to the recreation of the session causes no duplicate")
  func lostRecreationCausesNoDuplicate() async throws {
    try await resolve(takesLocal: true)
    try await api.fault("POST /api/sessions", "drop-response")
    try await device.syncUntilQuiet()
    #expect(try await api.sql("SELECT notes FROM sessions") == #"[["gone"]]"#)
    #expect(try await api.sql("SELECT distance FROM dope ORDER BY 1") == "[[300], [400]]")
    #expect(try await device.value("SELECT count(*) FROM OfflineSession WHERE isDeleted = 0", as: Int.self) == 1)
  }

  @Test("An entry that is moved to another parent is sent there") func movingItSendsItToTheOtherParent() async throws {
    let other = try await device.addSession("other")
    let uuid = try #require(
      try await device.value("SELECT uuid FROM OfflineSession WHERE sessionId = \(other)", as: String.self))
    try await resolve(takesLocal: true, choices: ["sessionId": .value(uuid)])
    try await device.syncUntilQuiet()
    #expect(try await api.sql("SELECT notes FROM sessions") == #"[["other"]]"#)
    #expect(try await api.sql("SELECT distance FROM dope") == "[[400]]")
  }

  @Test("Discarding the entry leaves nothing behind") func lettingItGoLeavesNothingBehind() async throws {
    try await resolve(takesLocal: false)
    try await device.syncUntilQuiet()
    _ = try await device.sync()
    #expect(try await api.count("dope") == "[[0]]")
    #expect(try await device.value("SELECT count(*) FROM OfflineDopeEntry", as: Int.self) == 0)
    #expect(try await device.value("SELECT count(*) FROM OfflineSession", as: Int.self) == 0)
    #expect(try await device.value("SELECT count(*) FROM SyncCascade", as: Int.self) == 0)
  }
}
