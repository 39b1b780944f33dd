import CipherSQL
import Foundation
import RestorationModel
import StoreSupport
import SyncModel
import Testing
import VaultStore

@testable import Outbox

/// Dependents of records whose deletion the server has executed.
@Suite struct DiscardTests {
  private let database: Database
  private let catalog: SyncCatalog

  init() throws {
    let (database, entities) = try restorationDatabase()
    (self.database, catalog) = (database, SyncCatalog(entities))
  }

  @discardableResult
  private func sync<Result>(_ body: (SyncTransaction) throws -> Result) throws -> Result {
    try database.write { try SyncTransaction.run(on: $0, catalog, now: Clock.system.now(), body) }
  }

  private func live() throws -> [String] {
    try database.read {
      try $0.fetch("SELECT title FROM OfflineRoom WHERE isDeleted = 0 ORDER BY title", as: String.self)
    }
  }

  private static let ids = (1...4).map { String(format: "00000000-0000-7000-8000-%012d", $0) }
  private static let hall: SyncObject = ["title": "Hall", "projectId": .text(ids[0])]

  private func apply(_ versions: [RemoteRecord]) throws {
    try sync { transaction in
      var counts = ApplyCounts()
      try transaction.changes.apply(versions, counts: &counts)
      try transaction.changes.endPull(counts: &counts)
    }
  }

  /// Restores a project while its deletion is sent, and discards the restoration.
  private func discardRestoration() throws {
    try apply([
      ValueReferenceTests.version(1, of: "Project", Self.ids[0], ["title": "House"]),
      ValueReferenceTests.version(1, of: "Project", Self.ids[1], ["title": "Barn"]),
      ValueReferenceTests.version(1, of: "Room", Self.ids[2], Self.hall),
    ])
    try database.write { try $0.execute("DELETE FROM OfflineProject WHERE title = 'House'") }
    let deletion = try #require(try sync { try $0.nextBatch(limit: 25).operations.first })
    try database.write { try $0.execute("UPDATE OfflineProject SET isDeleted = 0 WHERE title = 'House'") }
    #expect(try live() == ["Hall"])
    try sync { transaction in
      var counts = PushCounts()
      try transaction.acknowledge(
        .accepted(version: 2, serverId: .integer(1)), of: deletion, jitter: 0, counts: &counts)
    }
    try sync { transaction in
      let waiting = try transaction.connection.fetch(
        "SELECT operationId FROM OfflineSyncQueue WHERE completedAt IS NULL", as: String.self)
      #expect(waiting.count == 1)
      try transaction.discard(waiting)
    }
  }

  @Test("Discarding the restoration of a record deletes the dependents that were restored with it")
  func dependents() throws {
    try discardRestoration()
    #expect(try live() == [])
    try apply([ValueReferenceTests.version(2, of: "Room", Self.ids[2], Self.hall, isDeleted: true)])
    #expect(try live() == [])
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM SyncCascade", as: Int.self) } == 0)
    // The server restores the dependents with the record.
    try apply([
      ValueReferenceTests.version(3, of: "Project", Self.ids[0], ["title": "House"]),
      ValueReferenceTests.version(3, of: "Room", Self.ids[2], Self.hall),
    ])
    #expect(try live() == ["Hall"])
  }

  @Test("A dependent that another device had moved before the deletion stays after the discarded restoration")
  func movedDependent() throws {
    try discardRestoration()
    try apply([
      ValueReferenceTests.version(2, of: "Room", Self.ids[2], ["title": "Hall", "projectId": .text(Self.ids[1])])
    ])
    #expect(try live() == ["Hall"])
  }

  // Found by the simulation, seed 8028 with a REST remote: the restored record was created a second time.
  @Test("A restoration that a REST remote may have stored is discarded only with the records that need its row")
  func perhapsStoredRestoration() throws {
    try database.write { try SyncSettings.set(.remoteRoutes, "{}", in: $0) }
    try apply([ValueReferenceTests.version(1, of: "Project", Self.ids[0], ["title": "House"])])
    try database.write {
      try $0.execute("INSERT INTO OfflineRoom (uuid, title, projectId) VALUES (\(Self.ids[2]), 'Hall', 1)")
    }
    try apply([ValueReferenceTests.version(2, of: "Project", Self.ids[0], ["title": "House"], isDeleted: true)])
    try database.write { try $0.execute("UPDATE OfflineProject SET isDeleted = 0") }
    let restoration = try #require(try sync { try $0.nextBatch(limit: 25).operations.first })
    #expect(restoration.patch.isDeleted == false)
    try sync { transaction in
      var counts = PushCounts()
      let problem = ServerProblem(title: "", status: 500, detail: "")
      try transaction.acknowledge(.rejected(problem), of: restoration, jitter: 0, counts: &counts)
    }
    func discard(_ condition: SQL) throws {
      let ids = try database.read {
        try $0.fetch(
          "SELECT operationId FROM OfflineSyncQueue WHERE completedAt IS NULL AND \(condition)", as: String.self)
      }
      try sync { _ = try $0.discard(ids) }
    }
    #expect(throws: VaultError.self) { try discard("entityType = 'Project'") }
    #expect(try database.read { try $0.fetchOne("SELECT isDeleted FROM OfflineProject", as: Bool.self) } == false)
    try discard("1")
    #expect(try database.read { try $0.fetch("SELECT uuid FROM OfflineProject", as: String.self) } == [])
  }

  // Found by the simulation, seed 2 with a REST remote.
  @Test(
    "A version that waits in the inbox is stored as deleted when a REST remote has deleted the record that it belongs to"
  )
  func waitingVersion() throws {
    try database.write { try SyncSettings.set(.remoteRoutes, "{}", in: $0) }
    let (project, room, material, log) = (Self.ids[0], Self.ids[2], Self.ids[1], Self.ids[3])
    let fields: SyncObject = [
      "projectId": .text(project), "roomId": .text(room), "materialId": .text(material),
      "date": "2026-01-01T00:00:00.000Z", "moistureContent": 12,
    ]
    try apply([
      ValueReferenceTests.version(1, of: "Project", project, ["title": "House"]),
      ValueReferenceTests.version(1, of: "Room", room, Self.hall),
      ValueReferenceTests.version(1, of: "MoistureLog", log, fields),
      ValueReferenceTests.version(2, of: "Room", room, Self.hall, isDeleted: true),
    ])
    try apply([ValueReferenceTests.version(1, of: "Material", material, ["name": "Oak"])])
    let logs = try database.read {
      try $0.fetch("SELECT uuid FROM OfflineMoistureLog WHERE isDeleted = 0", as: String.self)
    }
    #expect(logs == [])
    #expect(try database.read { try $0.fetch("SELECT reason FROM SyncInbox", as: String.self) } == [])
  }
}
