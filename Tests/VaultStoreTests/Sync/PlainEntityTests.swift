import CipherSQL
import Foundation
import SyncModel
import Testing

@testable import VaultStore

/// Entities that have the common columns and nothing else.
@Suite struct PlainEntityTests {
  @Test(
    "An entity without a column of its own is created, deleted and restored, whatever is unique",
    arguments: ["", "UNIQUE (createdAt)", "UNIQUE (uuid, createdAt)", "UNIQUE (syncStatus, uuid)"])
  func recordsAreQueued(_ constraint: String) throws {
    let text = """
      CREATE TABLE OfflineMark (
        markId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE,
        createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
        updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
        lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
        isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0\(constraint.isEmpty ? "" : ", ")\(constraint)
      ) STRICT;
      INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Mark', 'OfflineMark', 'marks');
      """
    let schema = Schema(name: "marks", migrations: [MigrationFile(version: 1, name: "marks", sql: text)])
    let database = try Database.inMemory()
    defer { database.close() }
    try Vault.migrator(for: [schema]).apply(to: database, isDraft: true)
    func operations() throws -> [String] {
      try database.read { try $0.fetch("SELECT operationType FROM OfflineSyncQueue", as: String.self) }
    }
    func execute(_ sql: SQL) throws { _ = try database.write { try $0.execute(sql) } }
    let uuid = UUID.version7().uuidString.lowercased()
    try execute("INSERT INTO OfflineMark (uuid) VALUES (\(uuid))")
    #expect(try operations() == ["create"])
    try execute("DELETE FROM OfflineMark")
    #expect(try operations() == [])
    try execute("UPDATE OfflineMark SET isDeleted = 0")
    #expect(try operations() == ["create"])
  }
}
