import CipherSQL
import SyncModel
import Testing
import VaultStore

@testable import Outbox

/// Versions of records with foreign keys that are checked at the commit only, to several columns, or in a cycle.
@Suite struct ForeignKeyTests {
  private static func table(_ name: String, _ columns: String, _ rules: String = "") -> String {
    """
    CREATE TABLE Offline\(name) (
      id INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, \(columns),
      createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z', updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
      lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
      isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0\(rules)
    ) STRICT;
    INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('\(name)', 'Offline\(name)', 'units');

    """
  }

  private static let schema = Schema(
    name: "units",
    migrations: [
      MigrationFile(
        version: 1, name: "units",
        sql: table("Unit", "site TEXT, number INTEGER, code TEXT UNIQUE", ", UNIQUE (site, number)")
          + table(
            "Reading", "site TEXT, number INTEGER, value INTEGER",
            """
            , FOREIGN KEY (site, number) REFERENCES OfflineUnit (site, number) DEFERRABLE INITIALLY DEFERRED
            """)
          + table(
            "Part",
            """
            code TEXT UNIQUE, title TEXT, wholeId INTEGER REFERENCES OfflinePart (id) ON DELETE RESTRICT,
            ownerId INTEGER REFERENCES OfflineOwner (id), unitId INTEGER REFERENCES OfflineUnit (id),
            unitCode TEXT REFERENCES OfflineUnit (code)
            """)
          + table(
            "Owner",
            """
            formerId INTEGER REFERENCES OfflineOwner (id),
            partId INTEGER NOT NULL REFERENCES OfflinePart (id) ON DELETE RESTRICT
            """)
          + table(
            "Note",
            """
            title TEXT, unitId INTEGER REFERENCES OfflineUnit (id), code TEXT UNIQUE,
            nextCode TEXT REFERENCES OfflineNote (code) ON UPDATE CASCADE
            """)
          + "UPDATE SyncedEntity SET conflictPolicy = 'manual' WHERE entityType = 'Note';")
    ])

  private let database: Database
  private let catalog: SyncCatalog

  init() throws {
    database = try Database.inMemory()
    try Vault.migrator(for: [Self.schema]).apply(to: database, isDraft: true)
    catalog = SyncCatalog(try database.read { try Entities.read(from: $0) })
  }

  @discardableResult
  private func sync<Result>(_ body: (SyncTransaction) throws -> Result) throws -> Result {
    try database.write { connection in
      try SyncTransaction.run(on: connection, catalog, now: Clock.system.now()) { try body($0) }
    }
  }

  private func apply(_ versions: RemoteRecord...) throws {
    try sync { transaction in
      var counts = ApplyCounts()
      try transaction.changes.apply(versions, counts: &counts)
      try transaction.changes.endPull(counts: &counts)
    }
  }

  private func values(_ query: SQL) throws -> [String] { try database.read { try $0.fetch(query, as: String.self) } }

  private static func version(
    _ version: Int64, of type: String, _ uuid: String, _ fields: SyncObject, isDeleted: Bool = false
  ) -> RemoteRecord {
    RemoteRecord(
      entityType: type, entityUuid: uuid, serverId: .integer(1), createdAt: 0,
      state: RecordState(fields: fields, isDeleted: isDeleted, syncVersion: version, updatedAt: version))
  }

  private static let unit: SyncObject = ["site": "a", "number": 1]

  // Found by the simulation, seeds 8, 15, 16, 40 and 42 with generated schemas: the commit failed, and the sync ended.
  @Test("A version that violates a deferred foreign key waits alone, and is applied when its parent arrives")
  func deferredKey() throws {
    try apply(
      Self.version(1, of: "Reading", "r1", Self.unit.overlaid(with: ["value": 1])),
      Self.version(1, of: "Reading", "r2", ["site": .null, "number": 1, "value": 2]))
    #expect(try values("SELECT uuid FROM OfflineReading") == ["r2"])
    #expect(try values("SELECT entityUuid || ' ' || reason FROM SyncInbox") == ["r1 refused"])
    try apply(Self.version(1, of: "Unit", "u1", Self.unit))
    try sync { transaction in
      var (counts, place) = (ApplyCounts(), InboxCursor())
      _ = try transaction.changes.admitAgain(from: &place, limit: 10, counts: &counts)
    }
    #expect(try values("SELECT uuid FROM OfflineReading ORDER BY uuid") == ["r1", "r2"])
    // An update as well.
    try apply(Self.version(2, of: "Reading", "r1", ["site": "b", "number": 9, "value": 1]))
    #expect(try values("SELECT site || number FROM OfflineReading WHERE uuid = 'r1'") == ["a1"])
    #expect(try values("SELECT entityUuid || ' ' || reason FROM SyncInbox") == ["r1 refused"])
  }

  // Found by the simulation, seed 36: the version waited for a parent that never comes.
  @Test("A deletion of a record that this device lacks does not wait for the record's parent")
  func deletionWithoutParent() throws {
    try apply(
      Self.version(2, of: "Part", "p1", ["unitId": "nowhere"], isDeleted: true),
      Self.version(2, of: "Reading", "r1", Self.unit, isDeleted: true))
    #expect(try values("SELECT entityUuid FROM SyncInbox") == [])
    // A restored record comes with a newer version.
    try apply(
      Self.version(1, of: "Unit", "nowhere", Self.unit), Self.version(3, of: "Part", "p1", ["unitId": "nowhere"]))
    #expect(try values("SELECT uuid FROM OfflinePart WHERE isDeleted = 0") == ["p1"])
  }

  // Found by the simulation, seed 1118: after a restoration, the row kept the older reference until the next comparison.
  @Test("A deletion that a user takes over an edit does not count as the version of the row if its parent is missing")
  func decidedDeletionWithoutParent() throws {
    try apply(Self.version(1, of: "Unit", "u1", Self.unit), Self.version(1, of: "Note", "n1", ["unitId": "u1"]))
    try database.write { try $0.execute("UPDATE OfflineNote SET title = 'mine'") }
    try apply(Self.version(2, of: "Note", "n1", ["unitId": "nowhere", "title": "theirs"], isDeleted: true))
    let conflict = try #require(try values("SELECT conflictId FROM OfflineConflictResolution").first)
    try sync { try $0.resolver.resolve(conflict, ConflictDecision(side: .remote, user: "ada")) }
    let rows = try values("SELECT isDeleted || isDirty || syncVersion || title FROM OfflineNote")
    #expect(rows == ["101theirs"])
    // A restoration is an edit of the version that the row has, so the server returns its own reference.
    try database.write { try $0.execute("UPDATE OfflineNote SET isDeleted = 0") }
    let sent = try sync { try $0.nextBatch(limit: 10).operations }
    #expect(sent.map(\.baseVersion) == [1] && sent.first?.patch.isDeleted == false)
  }

  // Found by reading: after a restoration, the row kept its reference, which the server does not have.
  @Test("A deletion on both sides does not count as the version of a row that keeps its reference")
  func deletionOnBothSidesWithoutParent() throws {
    try apply(
      Self.version(1, of: "Unit", "u1", Self.unit), Self.version(1, of: "Unit", "u2", ["site": "b", "number": 1]),
      Self.version(1, of: "Note", "n1", ["unitId": "u1"]))
    try database.write { db in
      try db.execute("UPDATE OfflineNote SET unitId = (SELECT id FROM OfflineUnit WHERE uuid = 'u2')")
      try db.execute("DELETE FROM OfflineNote")
    }
    let sent = try #require(try sync { try $0.nextBatch(limit: 10).operations.first })
    let remote = Self.version(2, of: "Note", "n1", ["unitId": "nowhere"], isDeleted: true)
    var counts = PushCounts()
    try sync {
      try $0.acknowledge(
        .conflict(.deletedRemotely, fields: ["unitId"], record: remote), of: sent, jitter: 0, counts: &counts)
    }
    #expect(try values("SELECT isDeleted || isDirty || syncVersion FROM OfflineNote") == ["101"])
    try database.write { try $0.execute("UPDATE OfflineNote SET isDeleted = 0") }
    #expect(try sync { try $0.nextBatch(limit: 10).operations }.map(\.baseVersion) == [1])
  }

  // Found by reading: the row kept its reference with the new version, and the server's reference never came.
  @Test(
    "Edits of a record that is deleted on both sides build on the version whose reference the row has",
    arguments: [true, false])
  func editsOfDeletionWithoutParent(isPulled: Bool) throws {
    try apply(Self.version(1, of: "Unit", "u1", Self.unit), Self.version(1, of: "Note", "n1", ["unitId": "u1"]))
    try database.write { try $0.execute("DELETE FROM OfflineNote") }
    let remote = Self.version(2, of: "Note", "n1", ["unitId": "nowhere"], isDeleted: true)
    if isPulled {
      try database.write { try $0.execute("UPDATE OfflineNote SET title = 'mine'") }
      try apply(remote)
    } else {
      let sent = try #require(try sync { try $0.nextBatch(limit: 10).operations.first })
      try database.write { try $0.execute("UPDATE OfflineNote SET title = 'mine'") }
      var counts = PushCounts()
      try sync {
        try $0.acknowledge(
          .conflict(.deletedRemotely, fields: ["unitId"], record: remote), of: sent, jitter: 0, counts: &counts)
      }
    }
    #expect(try values("SELECT isDeleted || isDirty || syncVersion || title FROM OfflineNote") == ["111mine"])
    let edit = try #require(try sync { try $0.nextBatch(limit: 10).operations.first })
    #expect(edit.baseVersion == 1 && edit.patch.fields == ["title": "mine"])
  }

  // Found by the simulation, seed 6220: the deletion waited for ever, and no decision ended the conflict of the dependent.
  @Test("A deletion whose version has a UNIQUE value of another record keeps the values by which rows reference it")
  func deletionWithReferencedValues() throws {
    try apply(Self.version(1, of: "Unit", "u1", Self.unit))
    try database.write { db in
      try db.execute("INSERT INTO OfflineUnit (uuid, site, number, code) VALUES ('u2', 'b', 2, 'x')")
      try db.execute("INSERT INTO OfflineReading (uuid, site, number, value) VALUES ('r1', 'a', 1, 5)")
    }
    let deleted = Self.unit.overlaid(with: ["code": "x"])
    try apply(Self.version(2, of: "Unit", "u1", deleted, isDeleted: true))
    #expect(try values("SELECT reason FROM SyncInbox") == [])
    #expect(try values("SELECT isDeleted || site || number FROM OfflineUnit WHERE uuid = 'u1'") == ["1a1"])
    #expect(try values("SELECT site || number FROM OfflineReading WHERE isDeleted = 0") == ["a1"])
  }

  // Found by the simulation, seed 140: the reference was left dangling, because SQLite forgets violations when
  // `defer_foreign_keys` is switched off.
  @Test(
    "Rows follow when a version changes the UNIQUE value by which they reference its record", arguments: [false, true])
  func referencedValue(isSwap: Bool) throws {
    func unit(_ version: Int64, _ uuid: String, _ code: SyncValue) -> RemoteRecord {
      Self.version(version, of: "Unit", uuid, ["site": "a", "number": .integer(uuid == "u1" ? 1 : 2), "code": code])
    }
    try apply(unit(1, "u1", "x"), unit(1, "u2", "y"), Self.version(1, of: "Part", "p1", ["unitCode": "u1"]))
    if isSwap { try apply(unit(2, "u1", "y"), unit(2, "u2", "x")) } else { try apply(unit(2, "u1", "z")) }
    #expect(try values("SELECT unitCode FROM OfflinePart") == [isSwap ? "y" : "z"])
    #expect(try values("SELECT reason FROM SyncInbox") == [])
    #expect(try database.read { try $0.fetch("SELECT rowid FROM pragma_foreign_key_check", as: Int64.self) } == [])
  }

  // Found by the simulation, seed 3717: the version waited for its own record for ever.
  @Test("A version changes a UNIQUE value together with the reference of its record to itself", arguments: [nil, "a"])
  func ownValue(former: String?) throws {
    try apply(Self.version(1, of: "Note", "n1", ["code": former.map(SyncValue.text) ?? .null, "nextCode": .null]))
    try apply(Self.version(2, of: "Note", "n1", ["code": "b", "nextCode": "n1"]))
    #expect(try values("SELECT reason FROM SyncInbox") == [])
    #expect(try values("SELECT code || nextCode || syncVersion FROM OfflineNote") == ["bb2"])
  }

  // Found by the simulation, seed 217: the version waited for its own record, so the arrival of the other one did not apply it.
  @Test("A version that references its own record waits for the other record that is missing")
  func selfReferenceAndMissingRecord() throws {
    try apply(Self.version(1, of: "Owner", "o1", ["formerId": "o1", "partId": "p1"]))
    #expect(try values("SELECT entityUuid || ' waits for ' || waitsFor FROM SyncInbox") == ["o1 waits for p1"])
    try apply(Self.version(1, of: "Part", "p1", [:]))
    #expect(try values("SELECT uuid || syncVersion FROM OfflineOwner WHERE formerId = id") == ["o11"])
    #expect(try values("SELECT entityUuid FROM SyncInbox") == [])
  }

  private func purge(limit: Int = 10) throws -> Int { try sync { try $0.purgeDeleted(limit: limit) } }

  // Found by the simulation, seeds 19 and 33: the row kept its UNIQUE value for ever.
  @Test("Deleted records that reference themselves or each other are purged")
  func purgedCycles() throws {
    try database.write { db in
      try db.execute("INSERT INTO OfflinePart (id, uuid, code, wholeId) VALUES (1, 'p1', 'c1', 1)")
      try db.execute(
        "INSERT INTO OfflinePart (id, uuid, code) VALUES (2, 'p2', 'c2'), (3, 'p3', 'c3'), (4, 'p4', 'c4')")
      try db.execute("UPDATE OfflinePart SET wholeId = 3 WHERE id = 2")
      try db.execute("UPDATE OfflinePart SET wholeId = 2 WHERE id = 3")
      try db.execute("INSERT INTO OfflineOwner (id, uuid, partId) VALUES (1, 'o1', 4)")
      try db.execute("UPDATE OfflinePart SET ownerId = 1 WHERE id = 4")
    }
    func delete(_ condition: SQL) throws {
      try sync { transaction in
        for table: SQL in ["OfflinePart", "OfflineOwner"] {
          try transaction.connection.execute(
            "UPDATE \(table) SET isDeleted = 1, isDirty = 0, syncStatus = 'synced', syncVersion = 2 WHERE \(condition)")
        }
        try transaction.connection.execute("DELETE FROM OfflineSyncQueue")
      }
    }
    // A live record keeps the whole group.
    try delete("uuid IN ('p1', 'p2', 'p4')")
    #expect(try purge() == 1)
    #expect(try values("SELECT uuid FROM OfflinePart ORDER BY uuid") == ["p2", "p3", "p4"])
    #expect(try values("SELECT CAST(wholeId AS TEXT) FROM OfflinePart WHERE uuid = 'p2'") == ["3"])
    try delete("1")
    #expect(try purge() == 4)
    #expect(try values("SELECT uuid FROM OfflinePart UNION SELECT uuid FROM OfflineOwner") == [])
  }

  @Test("A version takes the UNIQUE value of deleted records that reference each other")
  func valueOfCycle() throws {
    try database.write { db in
      try db.execute("INSERT INTO OfflinePart (id, uuid, code) VALUES (1, 'p1', 'c1'), (2, 'p2', 'c2')")
      try db.execute("UPDATE OfflinePart SET wholeId = 3 - id")
    }
    try sync { transaction in
      try transaction.connection.execute(
        "UPDATE OfflinePart SET isDeleted = 1, isDirty = 0, syncStatus = 'synced', syncVersion = 2")
      try transaction.connection.execute("DELETE FROM OfflineSyncQueue")
    }
    try apply(Self.version(1, of: "Part", "p3", ["code": "c2"]))
    #expect(try values("SELECT uuid FROM OfflinePart") == ["p3"])
    #expect(try values("SELECT reason FROM SyncInbox") == [])
  }

  // Found by the simulation, seed 44: the operation waited for itself and was never sent.
  @Test("An edit of a deleted record does not wait for itself")
  func selfReferenceOfDeletedRecord() throws {
    try apply(Self.version(1, of: "Part", "p1", ["code": "c1", "title": "a"]))
    try database.write { try $0.execute("UPDATE OfflinePart SET isDeleted = 1") }
    try sync { transaction in
      try transaction.connection.execute("UPDATE OfflinePart SET isDirty = 0, syncStatus = 'synced', syncVersion = 2")
      try transaction.connection.execute("DELETE FROM OfflineSyncQueue")
      try transaction.connection.execute("DELETE FROM SyncBase")
    }
    try database.write { try $0.execute("UPDATE OfflinePart SET wholeId = 1") }
    let batch = try sync { try $0.nextBatch(limit: 5).operations }
    #expect(batch.map { $0.patch.fields["wholeId"] } == [.text("p1")])
  }

  // Found by the simulation, seed 33: SQLite had given the local id of the record that was undone to another one.
  @Test("A reference does not lead to the record that has the local id of an undone one")
  func undoneVersion() throws {
    struct Undone: Error {}
    try sync { transaction in
      var counts = ApplyCounts()
      #expect(throws: Undone.self) {
        try transaction.connection.savepoint {
          try transaction.changes.apply(
            [Self.version(1, of: "Unit", "u1", [:]), Self.version(1, of: "Part", "p1", ["unitId": "u1"])],
            counts: &counts)
          throw Undone()
        }
      }
      try transaction.changes.apply(
        [Self.version(1, of: "Unit", "u2", [:]), Self.version(1, of: "Part", "p2", ["unitId": "u1"])], counts: &counts)
    }
    #expect(try values("SELECT uuid FROM OfflinePart").isEmpty)
    #expect(try values("SELECT entityUuid || ' waits for ' || waitsFor FROM SyncInbox") == ["p2 waits for u1"])
  }
}
