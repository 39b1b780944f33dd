import CipherSQL
import Foundation
import SchemaModel
import StoreSupport
import SyncModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// Unsent work follows a migration, and inbox versions of a newer server are applied after it.
@Suite struct OutboxMigrationTests {
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
      try db.execute(
        "INSERT INTO OfflineThing (uuid, colour, weight, updatedAt) VALUES ('one', 'red', 1.5, '2026-01-01T00:00:00.000Z')"
      )
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

  @Test("A renamed column is renamed in sealed operations and in their base")
  func aRenamedColumnIsRenamedInWhatMayHaveBeenSent() throws {
    try freeze()
    let newer = try migrate("ALTER TABLE \"OfflineThing\" RENAME COLUMN colour TO color; -- as they write it there")
    let operation = try payload(newer)
    #expect(operation.patch.fields == ["color": "blue"] && operation.base == ["color": "red"])
    #expect(operation.schemaVersion == 1)
    let base = try newer.database.read { try $0.fetchOne("SELECT fields FROM SyncBase", as: String.self) }
    #expect(base == #"{"color":"red","weight":1.5}"#)
    #expect(try newer.strandedOperations().isEmpty)
  }

  @Test("A sealed operation with renamed fields keeps the digest of its first content")
  func renamedOperationKeepsItsDigest() throws {
    func content(_ vault: Vault) throws -> SyncObject {
      let json = try vault.database.read { try $0.fetchOne("SELECT payload FROM OfflineSyncQueue", as: String.self) }
      return try SyncObject(parsing: try #require(json))
    }
    try freeze()
    let digest = OperationContent(key: "", operation: try content(vault)).digest
    let renames = [("colour", "color"), ("color", "hue")].enumerated().map { index, names in
      MigrationFile(
        version: 2 + index, name: "rename", sql: "ALTER TABLE OfflineThing RENAME COLUMN \(names.0) TO \(names.1);")
    }
    var vault = vault
    for count in 1...2 {
      vault.close()
      vault = try Vault.open(
        at: folder.path + "/v.vault", with: keyFileSecret(1),
        schemas: [Schema(name: "things", migrations: [Self.first] + renames.prefix(count))])
      #expect(try content(vault)["sealedDigest"] == .text(digest))
    }
    #expect(try payload(vault).patch.fields == ["hue": "blue"])
  }

  @Test("A rebuilt table renames columns of sealed operations by its registry rows")
  func aTableThatIsBuiltAnewSaysWhatItRenames() throws {
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

  @Test("A sealed operation with a dropped column is reported") func anOperationThatCouldNotFollowIsNamed() throws {
    try freeze()
    let newer = try migrate("ALTER TABLE OfflineThing DROP COLUMN colour;")
    let stranded = try newer.strandedOperations()
    #expect(stranded.map(\.field) == ["colour"] && stranded.map(\.entityType) == ["Thing"])
  }

  @Test("An operation that failed under the old tables is sent again")
  func failedOperationIsSentAgain() throws {
    try freeze()
    try vault.syncNow { transaction in
      var counts = PushCounts()
      let sent = try PushOperation(
        json: Array(try transaction.connection.fetchOne("SELECT payload FROM OfflineSyncQueue", as: String.self)!.utf8))
      try transaction.acknowledge(
        .rejected(ServerProblem(title: "unknown field", status: 422, detail: "no field colour")), of: sent, jitter: 0,
        counts: &counts)
      #expect(counts.failed == 1)
    }
    let newer = try migrate("ALTER TABLE OfflineThing RENAME COLUMN colour TO color;")
    let batch = try newer.syncNow { try $0.nextBatch(limit: 25) }
    #expect(batch.operations.map { $0.patch.fields } == [["color": "blue"]])
  }

  @Test("A pending operation is sealed with the columns of the new schema") func whatStillGrowsIsMadeFromTheNewColumns()
    throws
  {
    let newer = try migrate("ALTER TABLE OfflineThing RENAME COLUMN colour TO color;")
    _ = try newer.syncNow { try $0.nextBatch(limit: 25) }
    let operation = try payload(newer)
    #expect(operation.patch.fields == ["color": "blue"] && operation.schemaVersion == 2)
  }

  @Test("Fields of a newer server are kept until a migration adds their column")
  func fieldsOfANewerServerAreKeptUntilThereIsAColumn() throws {
    var counts = ApplyCounts()
    let remote = RemoteRecord(
      entityType: "Thing", entityUuid: "two", serverId: 7, createdAt: 0,
      state: RecordState(fields: ["colour": "green", "weight": 2, "length": 12], syncVersion: 3, updatedAt: 1000))
    let other = RemoteRecord(
      entityType: "Box", entityUuid: "three", serverId: 8, createdAt: 0,
      state: RecordState(fields: ["title": "crate"], syncVersion: 1, updatedAt: 1000))
    try vault.syncNow { transaction in
      try transaction.changes.apply(remote, counts: &counts)
      try transaction.changes.apply(other, counts: &counts)
    }
    #expect(counts.applied == 1 && counts.kept == 1)
    // The digest is the server's all the same.
    let digest = try vault.database.read { connection in
      let catalog = vault.syncCatalog
      let table = try #require(catalog.tables["Thing"])
      return try StoreDigests(catalog: catalog, connection: connection).records(of: table, in: ["wo"]).map(\.digest)
    }
    #expect(
      digest == [
        RecordDigest(
          "Thing", "two", version: 1, createdAt: remote.createdAt, updatedAt: remote.state.updatedAt,
          fields: remote.state.fields, columns: DigestColumns()
        ).digest
      ])
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

  /// How far the edit of the record has come when the vault is migrated.
  enum Stage: String, CaseIterable { case pending, sealed, failed, conflicted }

  /// A migration, and the fields that the server has sent for the columns that it makes.
  enum Change: String, CaseIterable {
    case rename, add, drop, rebuild, undeclaredRebuild

    var kept: SyncObject {
      switch self {
      case .rename: ["color": "green"]
      case .add: ["length": 12]
      case .drop: [:]
      case .rebuild, .undeclaredRebuild: ["color": "green", "length": 12]
      }
    }

    var sql: String {
      let rebuilt = """
        ALTER TABLE OfflineThing RENAME TO OldThing;
        \(OutboxMigrationTests.thing("color TEXT, weight REAL, length INTEGER DEFAULT 3"))
        INSERT INTO OfflineThing (thingId, serverId, uuid, color, weight, createdAt, updatedAt, lastSyncedAt, syncStatus,
          syncVersion, isDirty, isDeleted)
        SELECT thingId, serverId, uuid, colour, weight, createdAt, updatedAt, lastSyncedAt, syncStatus, syncVersion, isDirty,
          isDeleted FROM OldThing;
        DROP TABLE OldThing;
        """
      return switch self {
      case .rename: "ALTER TABLE OfflineThing RENAME COLUMN colour TO color;"
      case .add: "ALTER TABLE OfflineThing ADD COLUMN length INTEGER DEFAULT 3;"
      case .drop: "ALTER TABLE OfflineThing DROP COLUMN weight;"
      case .rebuild:
        rebuilt + "INSERT INTO SyncedColumnRename (entityType, oldName, newName) VALUES ('Thing', 'colour', 'color');"
      case .undeclaredRebuild: rebuilt
      }
    }

    var colour: String { self == .add || self == .drop ? "colour" : "color" }
    var addsLength: Bool { self == .add || self == .rebuild || self == .undeclaredRebuild }
  }

  private func bring(to stage: Stage) throws {
    guard stage != .pending else { return }
    try vault.syncNow { transaction in
      let sent = try #require(try transaction.nextBatch(limit: 25).operations.first)
      var counts = PushCounts()
      switch stage {
      case .pending: break
      case .sealed: try transaction.recover()
      case .failed:
        try transaction.acknowledge(
          .rejected(ServerProblem(title: "no", status: 422, detail: "")), of: sent, jitter: 0, counts: &counts)
      case .conflicted:
        let remote = RemoteRecord(
          entityType: "Thing", entityUuid: "one", serverId: 1, createdAt: 0,
          state: RecordState(
            fields: ["colour": "white", "weight": SyncValue(real: 1.5) ?? .null], syncVersion: 2, updatedAt: 2000))
        try transaction.acknowledge(
          .conflict(.concurrentEdit, fields: ["colour"], record: remote), of: sent, jitter: 0, counts: &counts)
      }
    }
  }

  @Test(
    "A migration keeps an unsent edit, takes fields kept from the server, and sends no added column",
    arguments: Stage.allCases, Change.allCases)
  func aMigrationKeepsUnsentWork(_ stage: Stage, _ change: Change) throws {
    try bring(to: stage)
    if !change.kept.isEmpty {
      let json = SyncValue.object(change.kept).json
      try vault.database.write { db in
        _ = try db.execute(
          "INSERT INTO SyncExtraFields (entityType, entityUuid, fields) VALUES ('Thing', 'one', \(json))")
      }
    }
    let newer = try migrate(change.sql)
    func row<Value: SQLValue>(_ column: String, as type: Value.Type) throws -> Value? {
      try newer.database.read { try $0.fetchOne("SELECT \(identifier: column) FROM OfflineThing", as: type) }
    }
    #expect(try row(change.colour, as: String.self) == "blue")
    if stage == .conflicted {
      let id = try #require(try newer.conflicts().first?.conflictId)
      try newer.resolveConflict(id, takesLocal: true, user: "ada")
    }
    var counts = PushCounts()
    if stage == .sealed, change == .undeclaredRebuild {
      // A sealed payload names a column that exists nowhere any more: the server refuses it, and it is built again.
      try newer.syncNow { transaction in
        let sent = try #require(try transaction.nextBatch(limit: 25).operations.first)
        try transaction.acknowledge(
          .rejected(ServerProblem(title: "no", status: 422, detail: "")), of: sent, jitter: 0, counts: &counts)
      }
    }
    if stage == .sealed, change == .undeclaredRebuild { #expect(try newer.retryAll() == 1) }
    try newer.syncNow { transaction in
      let sent = try transaction.nextBatch(limit: 25).operations
      let operation = try #require(sent.first)
      #expect(sent.count == 1 && operation.patch.fields == [change.colour: "blue"], "\(operation.patch.fields)")
      try transaction.acknowledge(.accepted(version: 3, serverId: 1), of: operation, jitter: 0, counts: &counts)
      try transaction.changes.applyKeptFields()
    }
    #expect(try row(change.colour, as: String.self) == "blue")
    if change.addsLength { #expect(try row("length", as: Int.self) == 12) }
    try newer.database.read { db throws in
      #expect(try db.fetchOne("SELECT count(*) FROM OfflineSyncQueue WHERE completedAt IS NULL", as: Int.self) == 0)
      #expect(try db.fetchOne("SELECT count(*) FROM OfflineThing WHERE isDirty = 1", as: Int.self) == 0)
      #expect(try db.fetchOne("SELECT count(*) FROM SyncBase", as: Int.self) == 0)
      #expect(try db.fetchOne("SELECT count(*) FROM SyncExtraFields", as: Int.self) == 0)
    }
  }

  @Test("A new record that was sent before a migration added a column sends no update for the column's default")
  func aSentCreateHasTheDefaultOfAnAddedColumn() throws {
    try vault.database.write { db in
      try db.execute("DELETE FROM OfflineSyncQueue")
      _ = try db.execute("INSERT INTO OfflineThing (uuid, colour) VALUES ('two', 'grey')")
    }
    try freeze()
    let newer = try migrate("ALTER TABLE OfflineThing ADD COLUMN length INTEGER DEFAULT 3;")
    let sent = try payload(newer)
    #expect(sent.kind == .create)
    try newer.syncNow { transaction in
      var counts = PushCounts()
      try transaction.acknowledge(.accepted(version: 1, serverId: 2), of: sent, jitter: 0, counts: &counts)
    }
    #expect(
      try newer.database.read {
        try $0.fetchOne("SELECT isDirty FROM OfflineThing WHERE uuid = 'two'", as: Bool.self)
      } == false)
  }

  @Test("Renames of columns are found in any spelling") func renamesAreFoundInAnySpelling() {
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

  @Test("Numbers in bases of an earlier version get the types of the values in a table that is not STRICT")
  func looseBases() throws {
    let table = Self.thing("weight NUMERIC, size NUMERIC, note NUMERIC, moved NUMERIC").replacing(
      ") STRICT;", with: ");")
    let registry =
      "INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Thing', 'OfflineThing', 'things');"
    let schema = Schema(
      name: "things", migrations: [MigrationFile(version: 1, name: "things", sql: table + registry)])
    let database = try Database.inMemory()
    let core = Schema(name: CoreSchema.schema.name, migrations: Array(CoreSchema.schema.migrations.prefix(10)))
    try Migrator(schemas: [core, schema]).apply(to: database)
    try database.write { db in
      try db.execute(
        """
        INSERT INTO OfflineThing (uuid, weight, size, note, moved, syncVersion)
        VALUES ('one', 5, 0.30000000000000004, 'many', 7, 1)
        """)
      try db.execute(
        """
        INSERT INTO SyncBase (entityType, entityId, fields, isDeleted, syncVersion, updatedAt)
        VALUES ('Thing', 1, '{"moved":"6","note":"many","size":0.3,"weight":"5"}', 0, 1, '2026-01-01T00:00:00.000Z')
        """)
    }
    try Vault.migrator(for: [schema]).apply(to: database)
    let base = try database.read { try $0.fetchOne("SELECT fields FROM SyncBase", as: String.self) }
    #expect(base == #"{"moved":"6","note":"many","size":0.30000000000000004,"weight":5}"#)
  }
}
