import CipherSQL
import Foundation
import HTTPClient
import RestorationModel
import SyncModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Devices that were away for longer than the server keeps deletions.
@Suite struct ForgottenDeletionTests {
  private let server: LocalServer
  private let one: Device
  private let two: Device

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
    try await one.write { db in
      for title in ["House", "Barn"] { _ = try db.insert(Project(title: title)) }
    }
    try await one.sync()
    try await two.sync()
  }

  private func forgetBarn() async throws {
    try await one.write { _ = try $0.execute("DELETE FROM OfflineProject WHERE title = 'Barn'") }
    try await one.sync()
    try await server.forgetDeletions()
  }

  private static let titles: SQL = "SELECT title FROM OfflineProject WHERE isDeleted = 0 ORDER BY title"

  @Test("A round whose regular comparison keeps a cursor that the server does not know compares once more")
  func regularComparison() async throws {
    try await forgetBarn()
    #expect(try await two.sync(RoundRequest(isFull: true)).outcome == .done)
    #expect(try await two.values(Self.titles) == ["House"])
    #expect(try await two.sync(RoundRequest(isFull: true)).repaired == 0)
  }

  @Test("A sealed edit of a record whose deletion the server has forgotten becomes a conflict and does not fail")
  func sealedEdit() async throws {
    let address = try ServerAddress(server.server.url)
    let token = two.token
    let remote = FaultyRemote(FieldVaultRemote(transport: HTTPTransport(address: address) { token }))
    let worker = SyncWorker(vault: two.vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
    try await two.write { _ = try $0.execute("UPDATE OfflineProject SET projectNumber = '7' WHERE title = 'Barn'") }
    remote.plan(1)
    #expect(try await worker.sync().outcome == .offline)
    #expect(
      try await two.value("SELECT count(*) FROM OfflineSyncQueue WHERE payload IS NOT NULL AND completedAt IS NULL")
        == 1)
    try await forgetBarn()
    let report = try await two.sync(RoundRequest(isFull: true))
    #expect(report.failed == 0)
    let conflict = try #require(try two.conflicts().first)
    #expect(conflict.conflictType == "deleted_remotely" && conflict.remoteVersion == nil)
    try two.resolve(conflict.conflictId, takesLocal: true)
    try await two.sync()
    try await one.sync()
    #expect(try await one.values("SELECT projectNumber FROM OfflineProject WHERE title = 'Barn'") == ["7"])
  }

  @Test("A deleted row that is restored after the server has forgotten the deletion is sent as a create")
  func restoredRow() async throws {
    try await two.write { db in
      _ = try db.execute(
        "INSERT INTO OfflineRoom (projectId, title) SELECT projectId, 'loft' FROM OfflineProject WHERE title = 'Barn'")
    }
    try await forgetBarn()
    _ = try await two.sync(RoundRequest(isFull: true))
    try await two.write { _ = try $0.execute("UPDATE OfflineProject SET isDeleted = 0 WHERE title = 'Barn'") }
    for _ in 1...2 { #expect(try await two.sync().failed == 0) }
    try await one.sync()
    #expect(try await one.values(Self.titles) == ["Barn", "House"])
  }

  @Test("A version in the inbox is dropped when the server has forgotten its record")
  func versionInTheInbox() async throws {
    try await one.write { db in
      for _ in 0..<3 {
        try db.insert(
          AtmosphericLog(projectId: 1, date: .nowInMilliseconds(), relativeHumidity: 50, temperature: 70))
      }
    }
    for device in [one, two] { try await device.sync() }
    // An inlet has one outlet, so the unsent choice of a device blocks the choice of the other one.
    try await one.write { _ = try $0.execute("UPDATE OfflineAtmosphericLog SET inletId = 1 WHERE logId = 2") }
    try await one.sync()
    try await two.write { _ = try $0.execute("UPDATE OfflineAtmosphericLog SET inletId = 1 WHERE logId = 3") }
    #expect(try await two.sync().conflicts == 1)
    #expect(try await two.values("SELECT reason FROM SyncInbox") == ["refused"])
    try await one.write { _ = try $0.execute("DELETE FROM OfflineAtmosphericLog WHERE logId = 2") }
    try await one.sync()
    try await server.forgetDeletions()
    #expect(try await two.sync(RoundRequest(isFull: true)).outcome == .done)
    try two.resolve(try #require(try two.conflicts().first).conflictId, takesLocal: false)
    for _ in 0..<2 { try await two.sync() }
    let live: SQL = "SELECT CAST(logId AS TEXT) FROM OfflineAtmosphericLog WHERE isDeleted = 0 ORDER BY logId"
    #expect(try await two.values(live) == ["1", "3"])
    #expect(try await one.digests() == two.digests())
  }

  @Test("A record that is created again after its deletion was forgotten has a higher version than before")
  func createdAgain() async throws {
    let uuid = try #require(try await one.values("SELECT uuid FROM OfflineProject WHERE title = 'Barn'").first)
    try await forgetBarn()
    try await one.write { _ = try $0.execute("INSERT INTO OfflineProject (uuid, title) VALUES (\(uuid), 'Barn')") }
    try await one.sync()
    #expect(try await one.value("SELECT syncVersion FROM OfflineProject WHERE uuid = \(uuid)", as: Int.self) == 3)
    try await two.sync()
    #expect(try await two.value("SELECT syncVersion FROM OfflineProject WHERE uuid = \(uuid)", as: Int.self) == 3)
  }
}
