import CipherSQL
import Foundation
import SyncModel
import Testing
import VaultKeys

@testable import OfflineStore

/// What waits follows a migration, and what came too early is let in by it.
@Suite struct CarriedOperationsTests {
  private let folder: TemporaryFolder
  private let vault: Vault

  private static func thing(_ columns: String) -> String {
    """
    CREATE TABLE OfflineThing (
      thingId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))),
      \(columns),
      createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
      updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
      lastSyncedAt TEXT CHECK (lastSyncedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastSyncedAt)),
      syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
      isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)), isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))
    ) STRICT;
    """
  }

  private static let first = MigrationFile(
    version: 1, name: "things",
    sql: thing("colour TEXT, weight REAL") + """

      INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Thing', 'OfflineThing', 'things');
      """)

  private static func schema(_ second: String?) -> Schema {
    Schema(
      name: "things",
      migrations: [first] + (second.map { [MigrationFile(version: 2, name: "second", sql: $0)] } ?? []))
  }

  init() throws {
    folder = try TemporaryFolder()
    vault = try Vault.create(
      at: folder.path + "/v.vault", schemas: [(SchemaSource(name: "things", folder: nil), Self.schema(nil))],
      secret: keyFileSecret(1))
    try vault.database.write { db in
      try db.execute("INSERT INTO OfflineThing (uuid, colour, weight) VALUES ('one', 'red', 1.5)")
      try markAsSynced("Thing", in: db, vault.entities)
      try db.execute("UPDATE OfflineThing SET colour = 'blue'")
    }
  }

  private func freeze() throws { _ = try vault.syncNow { try $0.nextBatch(limit: 25) } }

  private func migrate(_ sql: String) throws -> Vault {
    vault.close()
    return try Vault.open(at: folder.path + "/v.vault", with: keyFileSecret(1), schemas: [Self.schema(sql)])
  }

  private func payload(_ vault: Vault) throws -> PushOperation {
    let json = try vault.database.read { try $0.fetchOne("SELECT payload FROM OfflineSyncQueue", as: String.self) }
    return try PushOperation(json: Array(try #require(json).utf8))
  }

  @Test func aRenamedColumnIsRenamedInWhatMayHaveBeenSent() throws {
    try freeze()
    let newer = try migrate("ALTER TABLE \"OfflineThing\" RENAME COLUMN colour TO color; -- as they write it there")
    let operation = try payload(newer)
    #expect(operation.patch.fields == ["color": "blue"] && operation.base == ["color": "red"])
    #expect(operation.schemaVersion == 1)
    let base = try newer.database.read { try $0.fetchOne("SELECT fields FROM SyncBase", as: String.self) }
    #expect(base == #"{"color":"red","weight":1.5}"#)
    #expect(try newer.strandedOperations().isEmpty)
  }

  @Test func aTableThatIsBuiltAnewSaysWhatItRenames() throws {
    try freeze()
    let newer = try migrate(
      """
      ALTER TABLE OfflineThing RENAME TO OldThing;
      \(Self.thing("color TEXT, weight REAL"))
      INSERT INTO OfflineThing SELECT * FROM OldThing;
      DROP TABLE OldThing;
      INSERT INTO SyncedColumnRename (entityType, oldName, newName) VALUES ('Thing', 'colour', 'color');
      """)
    #expect(try payload(newer).patch.fields == ["color": "blue"])
    #expect(try newer.strandedOperations().isEmpty)
  }

  @Test func anOperationThatCouldNotFollowIsNamed() throws {
    try freeze()
    let newer = try migrate("ALTER TABLE OfflineThing DROP COLUMN colour;")
    let stranded = try newer.strandedOperations()
    #expect(stranded.map(\.field) == ["colour"] && stranded.map(\.entityType) == ["Thing"])
  }

  @Test func whatStillGrowsIsMadeFromTheNewColumns() throws {
    let newer = try migrate("ALTER TABLE OfflineThing RENAME COLUMN colour TO color;")
    _ = try newer.syncNow { try $0.nextBatch(limit: 25) }
    let operation = try payload(newer)
    #expect(operation.patch.fields == ["color": "blue"] && operation.schemaVersion == 2)
  }

  @Test func fieldsOfANewerServerAreKeptUntilThereIsAColumn() throws {
    var counts = ApplyCounts()
    let remote = RemoteRecord(
      entityType: "Thing", entityUuid: "two", serverId: 7, createdAt: 0,
      state: RecordState(fields: ["colour": "green", "weight": 2, "length": 12], syncVersion: 3, updatedAt: 1000))
    let other = RemoteRecord(
      entityType: "Box", entityUuid: "three", serverId: 8, createdAt: 0,
      state: RecordState(fields: ["title": "crate"], syncVersion: 1, updatedAt: 1000))
    try vault.syncNow { transaction in
      try transaction.apply(remote, counts: &counts)
      try transaction.apply(other, counts: &counts)
    }
    #expect(counts.applied == 1 && counts.kept == 1)
    // The digest is the server's all the same.
    let digest = try vault.database.read { connection in
      let catalog = vault.syncCatalog
      let table = try #require(catalog.tables["Thing"])
      return try StoreDigests(catalog: catalog, connection: connection).records(of: table, in: ["wo"]).map(\.digest)
    }
    #expect(digest == [RecordDigest("Thing", "two", version: 1, fields: remote.state.fields).digest])
    let newer = try migrate(
      """
      ALTER TABLE OfflineThing ADD COLUMN length INTEGER;
      \(Self.thing("title TEXT").replacing("OfflineThing", with: "OfflineBox").replacing("thingId", with: "boxId"))
      INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Box', 'OfflineBox', 'things');
      """)
    try newer.database.read { db throws in
      #expect(try db.fetchOne("SELECT length FROM OfflineThing WHERE uuid = 'two'", as: Int.self) == 12)
      #expect(try db.fetchOne("SELECT title FROM OfflineBox WHERE syncStatus = 'synced'", as: String.self) == "crate")
      #expect(try db.fetchOne("SELECT count(*) FROM SyncInbox", as: Int.self) == 0)
      #expect(try db.fetchOne("SELECT count(*) FROM SyncExtraFields", as: Int.self) == 0)
    }
  }

  @Test func renamesAreFoundInAnySpelling() {
    let sql = """
      -- ALTER TABLE a RENAME COLUMN no TO yes;
      alter table [a] rename column "b""c" to `d`;
      ALTER TABLE main_table RENAME e TO f; ALTER TABLE g RENAME TO h;
      CREATE TABLE x (y TEXT DEFAULT 'ALTER TABLE a RENAME COLUMN b TO c');
      """
    #expect(
      ColumnRename.all(in: sql) == [
        ColumnRename(table: "a", from: "b\"c", to: "d"), ColumnRename(table: "main_table", from: "e", to: "f"),
      ])
  }
}
