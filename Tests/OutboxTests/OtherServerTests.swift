import CipherSQL
import StoreSupport
import SyncModel
import Testing
import VaultStore

@testable import Outbox

/// A vault that is pointed at another server.
@Suite struct OtherServerTests {
  private static let schema = Schema(
    name: "things",
    migrations: [
      MigrationFile(
        version: 1, name: "things",
        sql: ["Box", "Thing"].map { name in
          """
          CREATE TABLE Offline\(name) (
            id INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, title TEXT,
            createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z', updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
            lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
            isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
          ) STRICT;
          INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('\(name)', 'Offline\(name)', 'things');
          """
        }.joined(separator: "\n") + "\nUPDATE SyncedEntity SET conflictPolicy = 'manual';")
    ])

  private let database: Database

  init() throws {
    database = try Database.inMemory()
    try Vault.migrator(for: [Self.schema]).apply(to: database, isDraft: true)
  }

  private func sync<Result>(_ body: (SyncTransaction) throws -> Result) throws -> Result {
    let catalog = SyncCatalog(try database.read { try Entities.read(from: $0) })
    return try database.write { connection in
      try SyncTransaction.run(on: connection, catalog, now: Clock.system.now()) { try body($0) }
    }
  }

  private func identify(_ server: String) throws -> ServerIdentity {
    let info = AccountInfo(
      serverUuid: server, epoch: server, account: "water", user: "ada", serverTime: 0,
      schemas: [.init(name: "things", version: 1)])
    return try sync { try $0.identify(info) }
  }

  private func count(_ table: SQL, _ condition: SQL = "1") throws -> Int? {
    try database.read { try $0.fetchOne("SELECT count(*) FROM \(table) WHERE \(condition)", as: Int.self) }
  }

  // Found by the simulation, seeds 1960 and 2643.
  @Test("Records are queued for another server in transactions of at most 500 records", arguments: ["new", "old"])
  func parts(next: String) throws {
    #expect(try !identify("old").isForgetting)
    try database.write { db in
      for table: SQL in ["OfflineBox", "OfflineThing"] {
        try db.execute(
          """
          WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700)
          INSERT INTO \(table) (uuid, title) SELECT i, 'old' FROM n
          """)
      }
      let entities = try Entities.read(from: db)
      for type in ["Box", "Thing"] { try markAsSynced(type, in: db, entities) }
      try db.execute("UPDATE OfflineThing SET title = 'edited' WHERE id IN (5, 600)")
      try db.execute("DELETE FROM OfflineThing WHERE id = 7")
    }
    let first = try identify("new")
    #expect(first.isForgetting && first.isOtherServer)
    #expect(try count("OfflineBox", "syncVersion = 0") == 500 && count("OfflineThing", "syncVersion = 0") == 0)
    // A program that crashed goes on, also if the vault is pointed at the first server again.
    try database.write { try $0.execute("UPDATE OfflineThing SET title = 'meanwhile' WHERE id IN (600, 601)") }
    var parts = 1
    while try identify(next).isForgetting { parts += 1 }
    #expect(parts == 2)
    for table: SQL in ["OfflineBox", "OfflineThing"] {
      #expect(try count(table, "syncVersion = 0 AND serverId IS NULL AND isDirty = 1 - isDeleted") == 700)
    }
    #expect(try count("OfflineSyncQueue", "operationType = 'create' AND completedAt IS NULL") == 1_399)
    #expect(try count("OfflineSyncQueue", "completedAt IS NULL") == 1_399 && count("SyncBase") == 0)
  }

  // Found by the simulation, seed 3911: the value of this device was lost.
  @Test(
    "After a restore, a create without a response is the base only of values that were edited later",
    arguments: [-1, 0, 1])
  func recordOfAnotherDevice(delay: Int64) throws {
    try database.write { try $0.execute("INSERT INTO OfflineBox (uuid, title) VALUES ('one', 'mine')") }
    let sent = try #require(try sync { try $0.nextBatch(limit: 10).operations.first })
    var (repaired, counts) = (RepairCounts(), ApplyCounts())
    let remote = RemoteRecord(
      entityType: "Box", entityUuid: "one", serverId: 1, createdAt: 0,
      state: RecordState(fields: ["title": "theirs"], syncVersion: 1, updatedAt: sent.patch.updatedAt + delay),
      sharedVersion: 0)
    try sync { try $0.changes.takeAfterNewEpoch(remote, repaired: &repaired, counts: &counts) }
    let title = try database.read { try $0.fetchOne("SELECT title FROM OfflineBox", as: String.self) }
    #expect(title == (delay > 0 ? "theirs" : "mine"))
    #expect(try count("OfflineConflictResolution", "resolvedAt IS NULL") == (delay > 0 ? 0 : 1))
  }
}
