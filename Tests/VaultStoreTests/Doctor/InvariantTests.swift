import CipherSQL
import RestorationModel
import StoreSupport
import Testing

@testable import VaultStore

@Suite("Invariants between records and the outbox")
struct InvariantTests {
  private let database: Database
  private let catalog: SyncCatalog

  init() throws {
    let (database, entities) = try restorationDatabase()
    (self.database, catalog) = (database, SyncCatalog(entities))
    try database.write { db in for number in 1...3 { _ = try db.insert(Project(title: "House \(number)")) } }
  }

  private func violations() throws -> [String] {
    try database.read { try VaultInvariants.violations(catalog, in: $0) }
  }

  @Test(
    "Operations and bases that do not agree with their records are named, and a repair removes the disagreement",
    arguments: [
      (
        "UPDATE OfflineProject SET isDirty = 0 WHERE projectId = 1",
        ["Project has an operation but is marked as unchanged"]
      ),
      (
        "UPDATE OfflineSyncQueue SET payload = '{}'; UPDATE OfflineProject SET isDirty = 0",
        ["records of Project have an operation but are marked as unchanged"]
      ),
      (
        "UPDATE OfflineSyncQueue SET entityId = 9 WHERE entityId = 1",
        ["Project has changes but no operation", "operation refers to a missing Project"]
      ),
      (
        "UPDATE OfflineSyncQueue SET entityUuid = 'x' WHERE entityId < 3",
        ["operations refer to other records of Project than their rows"]
      ),
      (
        "INSERT INTO SyncBase (entityType, entityId, fields, isDeleted, syncVersion, updatedAt) VALUES ('Project', 9, '{}', 0, 1, '')",
        ["base refers to a missing Project"]
      ),
    ])
  func disagreements(sql: String, expected: [String]) throws {
    #expect(try violations() == [])
    try database.write { db in
      try WriteMode.sync(on: db) {
        for statement in sql.split(separator: ";") { try db.execute(SQL(raw: String(statement))) }
      }
    }
    #expect(try violations().map { $0.drop { $0.isNumber || $0 == " " } }.map(String.init) == expected)
    try database.write { try VaultInvariants.restore(catalog, on: $0) }
    #expect(try violations() == [])
  }
}
