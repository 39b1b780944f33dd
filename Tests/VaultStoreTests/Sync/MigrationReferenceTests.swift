import CipherSQL
import Foundation
import SchemaModel
import StoreSupport
import SyncModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// Versions that are stored after a migration follow the foreign keys.
@Suite struct MigrationReferenceTests {
  private static func table(_ name: String, _ columns: String) -> String {
    """
    CREATE TABLE Offline\(name) (
      \(name.lowercased())Id INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, \(columns),
      createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
      updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), lastSyncedAt TEXT,
      syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
      isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('\(name)', 'Offline\(name)', 'shelves');

    """
  }

  private static let files = [
    MigrationFile(
      version: 1, name: "shelves",
      sql: table("Shelf", "code TEXT UNIQUE")
        + table("Box", "shelfCode TEXT REFERENCES OfflineShelf (code) ON UPDATE CASCADE")),
    MigrationFile(version: 2, name: "notes", sql: "ALTER TABLE OfflineBox ADD COLUMN note TEXT;"),
  ]

  private static func schema(_ version: Int) -> Schema {
    Schema(name: "shelves", migrations: Array(files.prefix(version)))
  }

  @Test("A value that a waiting version changes is followed by the references to it")
  func followedValue() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/v.vault"
    let vault = try Vault.create(
      at: path, schemas: [(SchemaSource(name: "shelves", folder: nil), Self.schema(1))], secret: keyFileSecret(1))
    try vault.database.write { db in
      try db.execute("INSERT INTO OfflineShelf (uuid, code) VALUES ('one', 'a')")
      try db.execute("INSERT INTO OfflineBox (uuid, shelfCode) VALUES ('box', 'a')")
      for type in ["Shelf", "Box"] { try markAsSynced(type, in: db, vault.entities) }
      try db.execute("INSERT INTO OfflineShelf (uuid, code) VALUES ('mine', 'b')")
    }
    var counts = ApplyCounts()
    try vault.syncNow { transaction in
      let remote = RemoteRecord(
        entityType: "Shelf", entityUuid: "one", serverId: 7, createdAt: 0,
        state: RecordState(fields: ["code": "b"], syncVersion: 2, updatedAt: 1000))
      try transaction.changes.apply(remote, counts: &counts)
    }
    #expect(counts.kept == 1)
    try vault.database.write { try $0.execute("UPDATE OfflineShelf SET code = 'c' WHERE uuid = 'mine'") }
    vault.close()

    let newer = try Vault.open(at: path, with: keyFileSecret(1), schemas: [Self.schema(2)])
    try newer.database.read { db throws in
      #expect(try db.fetchOne("SELECT code FROM OfflineShelf WHERE uuid = 'one'", as: String.self) == "b")
      #expect(try db.fetchOne("SELECT shelfCode FROM OfflineBox", as: String.self) == "b")
      #expect(try db.fetchOne("SELECT count(*) FROM pragma_foreign_key_check", as: Int.self) == 0)
    }
    #expect(try newer.database.read { try $0.fetchOne("SELECT count(*) FROM SyncInbox", as: Int.self) } == 0)
  }
}
