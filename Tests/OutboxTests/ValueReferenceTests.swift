import CipherSQL
import RecordStore
import StoreSupport
import SyncModel
import Testing
import VaultStore

@testable import Outbox

/// References by UNIQUE values: of one column, which travel as UUIDs, and of several columns, which travel as the values.
@Suite struct ValueReferenceTests {
  private static func table(_ name: String, _ columns: String, priority: Int = 2) -> String {
    """
    CREATE TABLE Offline\(name) (
      id INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE,
      createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z', updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
      lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
      isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0, \(columns)
    ) STRICT;
    INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority)
      VALUES ('\(name)', 'Offline\(name)', 'units', \(priority));

    """
  }

  private static let schema = Schema(
    name: "units",
    migrations: [
      MigrationFile(
        version: 1, name: "units",
        sql: table(
          "Unit",
          """
          site TEXT, number INTEGER, code TEXT UNIQUE, parentId INTEGER REFERENCES OfflineUnit (id),
          twinCode TEXT REFERENCES OfflineUnit (code), headSite TEXT, headNumber INTEGER, UNIQUE (site, number),
          FOREIGN KEY (headSite, headNumber) REFERENCES OfflineHead (site, number)
          """)
          + table(
            "Head",
            """
            site TEXT, number INTEGER, unitId INTEGER NOT NULL REFERENCES OfflineUnit (id), UNIQUE (site, number)
            """)
          + table(
            "Reading",
            """
            site TEXT, number INTEGER,
            FOREIGN KEY (site, number) REFERENCES OfflineUnit (site, number) DEFERRABLE INITIALLY DEFERRED
            """, priority: 0)
          + table(
            "Tag",
            "site TEXT, number INTEGER, FOREIGN KEY (site, number) REFERENCES OfflineUnit (site, number) ON DELETE CASCADE",
            priority: 0)
          + table(
            "Seal",
            "site TEXT, number INTEGER, FOREIGN KEY (site, number) REFERENCES OfflineUnit (site, number) ON UPDATE CASCADE"
          )
          + table("Part", "unitCode TEXT REFERENCES OfflineUnit (code) ON UPDATE CASCADE", priority: 0)
          + table("Cover", "unitCode TEXT REFERENCES OfflineUnit (code) ON UPDATE SET NULL")
          + table("Rack", "label TEXT UNIQUE")
          + table("Slot", "code TEXT UNIQUE, rackId INTEGER REFERENCES OfflineRack (id) ON DELETE CASCADE")
          + table("Crate", "label TEXT UNIQUE, lidId INTEGER REFERENCES OfflineLid (id)")
          + table("Lid", "label TEXT NOT NULL REFERENCES OfflineCrate (label) ON UPDATE CASCADE"))
    ])

  let database: Database
  private let catalog: SyncCatalog

  init() throws {
    database = try Database.inMemory()
    try Vault.migrator(for: [Self.schema]).apply(to: database, isDraft: true)
    catalog = SyncCatalog(try database.read { try Entities.read(from: $0) })
  }

  @discardableResult
  func sync<Result>(_ body: (SyncTransaction) throws -> Result) throws -> Result {
    try database.write { connection in
      try SyncTransaction.run(on: connection, catalog, now: Clock.system.now()) { try body($0) }
    }
  }

  /// Applies versions as a page, and then tries the versions that wait, as each round does.
  func apply(_ versions: [RemoteRecord]) throws {
    try sync { transaction in
      var (counts, place) = (ApplyCounts(), InboxCursor())
      try transaction.changes.apply(versions, counts: &counts)
      try transaction.changes.endPull(counts: &counts)
      _ = try transaction.changes.admitAgain(from: &place, limit: 10, counts: &counts)
    }
  }

  func values(_ query: SQL) throws -> [String] { try database.read { try $0.fetch(query, as: String.self) } }

  func isConsistent() throws -> Bool {
    try values("SELECT entityUuid || reason || detail FROM SyncInbox") == []
      && database.read { try $0.fetch("SELECT rowid FROM pragma_foreign_key_check", as: Int64.self) } == []
  }

  static func version(
    _ version: Int64, of type: String, _ uuid: String, _ fields: SyncObject, isDeleted: Bool = false
  ) -> RemoteRecord {
    RemoteRecord(
      entityType: type, entityUuid: uuid, serverId: .integer(1), createdAt: 0,
      state: RecordState(fields: fields, isDeleted: isDeleted, syncVersion: version, updatedAt: version))
  }

  private static let one: SyncObject = ["site": "a", "number": 1]

  /// The operations that the outbox sends if the server stores each of them.
  func sent() throws -> [PushOperation] {
    var sent: [PushOperation] = []
    while true {
      let batch = try sync { transaction in
        let batch = try transaction.nextBatch(limit: 1).operations
        var counts = PushCounts()
        for operation in batch {
          try transaction.acknowledge(
            .accepted(version: operation.baseVersion + 1, serverId: .integer(1)), of: operation, jitter: 0,
            counts: &counts)
        }
        return batch
      }
      if batch.isEmpty { return sent }
      sent += batch
    }
  }

  // MARK: Pushing

  @Test("A record is sent after the record whose values it references, and after the change of these values")
  func order() throws {
    try database.write { db in
      try db.execute("INSERT INTO OfflineReading (uuid, site, number) VALUES ('r1', 'a', 1)")
      try db.execute("INSERT INTO OfflineUnit (uuid, site, number) VALUES ('u1', 'a', 1)")
    }
    #expect(try sent().map(\.entityUuid) == ["u1", "r1"])
    try database.write { db in
      try db.execute("UPDATE OfflineReading SET number = NULL")
      try db.execute("UPDATE OfflineUnit SET number = 2")
    }
    _ = try sent()
    try database.write { db in
      try db.execute("UPDATE OfflineUnit SET number = 3")
      try db.execute("UPDATE OfflineReading SET number = 3")
    }
    #expect(try sent().map(\.entityUuid) == ["u1", "r1"])
  }

  // Found by the simulation, seed 239: the server answered that the record does not exist.
  @Test("A record waits until the server has the value by which it references another one", arguments: [false, true])
  func missingValue(isSealed: Bool) throws {
    if isSealed {
      try database.write { try $0.execute("INSERT INTO OfflineUnit (uuid) VALUES ('u1')") }
      try sync { transaction in
        for operation in try transaction.nextBatch(limit: 1).operations {
          var counts = PushCounts()
          try transaction.acknowledge(
            .rejected(ServerProblem(title: "Failed", status: 500, detail: "try again")), of: operation, jitter: 0,
            counts: &counts)
        }
      }
    } else {
      try apply([Self.version(1, of: "Unit", "u1", ["code": .null])])
    }
    try database.write { db in
      try db.execute("UPDATE OfflineUnit SET code = 'x'")
      try db.execute("INSERT INTO OfflinePart (uuid, unitCode) VALUES ('p1', 'x')")
      try db.execute("UPDATE OfflineSyncQueue SET scheduledAt = NULL")
    }
    #expect(try sent().map(\.entityUuid) == (isSealed ? ["u1", "u1", "p1"] : ["u1", "p1"]))
  }

  @Test("A record waits for a referenced record whose values at a restored server are unknown")
  func unknownValue() throws {
    try apply([Self.version(1, of: "Unit", "u1", ["code": "x"])])
    try database.write { db in
      try db.execute("INSERT INTO OfflinePart (uuid, unitCode) VALUES ('p1', 'x')")
      try db.execute("UPDATE OfflineUnit SET site = 'a'")
    }
    // The version of the restored server waits in the inbox.
    try sync { transaction in
      try transaction.connection.execute("UPDATE OfflineUnit SET syncVersion = 0")
      try transaction.connection.execute("DELETE FROM SyncBase")
    }
    #expect(try sent().map(\.entityUuid) == ["u1", "p1"])
  }

  @Test("In a cycle, a reference of several columns is left out at first")
  func cycle() throws {
    try database.write { db in
      try db.execute("INSERT INTO OfflineUnit (id, uuid) VALUES (1, 'u1')")
      try db.execute("INSERT INTO OfflineHead (uuid, site, number, unitId) VALUES ('h1', 'a', 1, 1)")
      try db.execute("UPDATE OfflineUnit SET headSite = 'a', headNumber = 1")
    }
    let operations = try sent()
    #expect(operations.map { "\($0.kind) \($0.entityUuid)" } == ["create u1", "create h1", "update u1"])
    #expect(operations.first?.patch.fields["headSite"] == .null && operations.last?.patch.fields["headSite"] == "a")
  }

  // MARK: Cycles of versions

  private static let unitOfHead = version(
    2, of: "Unit", "u1",
    ["site": .null, "number": .null, "code": "c", "twinCode": .null, "headSite": "a", "headNumber": 1])
  private static let head = version(1, of: "Head", "h1", one.overlaid(with: ["unitId": "u1"]))

  private static func unit(_ uuid: String, headOf number: Int64, parent: SyncValue = .null) -> RemoteRecord {
    version(1, of: "Unit", uuid, ["headSite": "a", "headNumber": .integer(number), "parentId": parent])
  }

  private static func head(_ number: Int64, of unit: String) -> RemoteRecord {
    version(1, of: "Head", "h\(number)", ["site": "a", "number": .integer(number), "unitId": .text(unit)])
  }

  // Found by the simulation, seed 40 after the server had accepted such records: they waited for each other for ever.
  @Test("Versions that reference each other, some by several columns, are stored in any order")
  func cycleOfVersions() throws {
    let versions = [
      Self.unit("u1", headOf: 1), Self.unit("u2", headOf: 2), Self.head(1, of: "u2"), Self.head(2, of: "u1"),
    ]
    for first in versions.indices {
      for version in versions[first...] + versions[..<first] { try apply([version]) }
      #expect(try isConsistent(), "from \(first)")
      #expect(
        try values("SELECT uuid || headNumber || syncVersion FROM OfflineUnit ORDER BY uuid") == ["u111", "u221"])
      try sync { transaction in
        _ = try WriteMode.purge(on: transaction.connection) {
          try transaction.connection.execute("UPDATE OfflineUnit SET headSite = NULL")
          try transaction.connection.execute("DELETE FROM OfflineHead")
          try transaction.connection.execute("DELETE FROM OfflineUnit")
        }
      }
    }
  }

  // Found by the simulation, seed 398.
  @Test("A version that lacks several records of its cycles is stored", arguments: [false, true])
  func severalMissing(isReversed: Bool) throws {
    let (unit, head) = (Self.unit("u1", headOf: 1, parent: "u1"), Self.head(1, of: "u1"))
    try apply([isReversed ? head : unit])
    try apply([isReversed ? unit : head])
    #expect(try isConsistent())
    #expect(try values("SELECT (parentId = id) || headSite || headNumber FROM OfflineUnit") == ["1a1"])
  }

  @Test("A newer version that a cycle needs is stored without the reference that is missing")
  func cycleOfNewerVersion() throws {
    try apply([Self.version(1, of: "Crate", "c1", ["label": .null, "lidId": .null])])
    try apply([
      Self.version(2, of: "Crate", "c1", ["label": "x", "lidId": "l1"]),
      Self.version(1, of: "Lid", "l1", ["label": "c1"]),
    ])
    #expect(try isConsistent())
    #expect(try values("SELECT label || syncVersion || (lidId IS NOT NULL) FROM OfflineCrate") == ["x21"])
  }

  // MARK: UNIQUE values that change hands

  // Found by the simulation, seed 263: each of the three waited for another one.
  @Test("A version takes the UNIQUE value of a record whose newer version waits for a third one")
  func valueBehindParent() throws {
    try apply([Self.version(1, of: "Unit", "b", ["code": "x", "parentId": .null])])
    try apply([
      Self.version(2, of: "Unit", "b", ["code": .null, "parentId": "c"]),
      Self.version(1, of: "Unit", "c", ["code": "y", "parentId": "a"]),
      Self.version(1, of: "Unit", "a", ["code": "x", "parentId": .null]),
    ])
    #expect(try isConsistent())
    #expect(
      try values("SELECT uuid || coalesce(code, '') || syncVersion FROM OfflineUnit ORDER BY uuid") == [
        "ax1", "b2", "cy1",
      ])
  }

  // Found by the simulation, seed 924.
  @Test("A version that references others by their values takes the UNIQUE value of a record with a newer version")
  func valueBehindValues() throws {
    func unit(_ version: Int64, _ uuid: String, _ fields: SyncObject) -> RemoteRecord {
      Self.version(version, of: "Unit", uuid, fields)
    }
    try apply([unit(1, "b", ["code": "x"]), unit(1, "d", ["code": "y"])])
    // Each of two records needs the value of another one, which needs the first. One of the two needs the other as well.
    try apply([
      unit(2, "b", ["code": .null, "parentId": "a"]), unit(2, "d", ["code": .null, "parentId": "a"]),
      unit(1, "a", ["code": "x", "headSite": "a", "headNumber": 1]), Self.head(1, of: "c"), unit(1, "c", ["code": "y"]),
    ])
    #expect(try isConsistent())
    #expect(
      try values(
        "SELECT uuid || coalesce(code, '') || coalesce(headNumber, '') || syncVersion FROM OfflineUnit ORDER BY uuid")
        == ["ax11", "b2", "cy1", "d2"])
  }

  // Found by the simulation, seeds 185 and 40: the row could neither be removed nor give its values to the other one.
  @Test("The row of a discarded record goes to the record that has its values at the server")
  func reusedRow() throws {
    try database.write { try $0.execute("INSERT INTO OfflineUnit (uuid, site, number) VALUES ('mine', 'a', 1)") }
    try database.write { try $0.execute("DELETE FROM OfflineUnit") }
    try apply([Self.version(1, of: "Reading", "r1", Self.one)])
    try apply([Self.version(1, of: "Unit", "theirs", Self.one.overlaid(with: ["code": "c"]))])
    #expect(try isConsistent())
    #expect(try values("SELECT uuid || code || isDeleted || isDirty FROM OfflineUnit") == ["theirsc00"])
    #expect(try values("SELECT uuid FROM OfflineReading") == ["r1"])
  }

  // Found by the simulation, seed 56.
  @Test("A version takes the UNIQUE value of a deleted record that another deleted record references")
  func valueBehindDeleted() throws {
    try database.write { db in
      try db.execute("INSERT INTO OfflineUnit (id, uuid, code) VALUES (1, 'mine', 'x')")
      try db.execute("INSERT INTO OfflineUnit (id, uuid, site, number, parentId) VALUES (2, 'other', 'a', 1, 1)")
      try db.execute("DELETE FROM OfflineUnit WHERE id = 2")
      try db.execute("DELETE FROM OfflineUnit WHERE id = 1")
    }
    try apply([Self.version(1, of: "Reading", "r1", Self.one)])
    try apply([Self.version(1, of: "Unit", "theirs", ["code": "x"])])
    #expect(try isConsistent())
    #expect(try values("SELECT uuid FROM OfflineUnit ORDER BY uuid") == ["other", "theirs"])
    // The record that is referenced by its values at the server.
    try apply([Self.version(1, of: "Unit", "one", Self.one)])
    #expect(try values("SELECT uuid FROM OfflineUnit ORDER BY uuid") == ["one", "theirs"])
  }

  /// Lets the server refuse the first operations, because the unit `theirs` has their values.
  /// - Parameter record: the version of the refused record at the server.
  /// - Returns: the id of the conflict.
  func conflictWithTheirs(limit: Int = 5, record: RemoteRecord? = nil) throws -> String {
    try sync { transaction in
      var counts = PushCounts()
      for operation in try transaction.nextBatch(limit: limit).operations {
        try transaction.acknowledge(
          .conflict(
            .notUnique, fields: ["site", "number"], record: record,
            other: RecordReference(entityType: "Unit", entityUuid: "theirs")), of: operation, jitter: 0, counts: &counts
        )
      }
    }
    return try #require(try values("SELECT conflictId FROM OfflineConflictResolution").first)
  }

  // Found by the simulation, seed 355: every decision was refused.
  @Test("A user takes the server's record, although others reference the values of the own one")
  func givenRow() throws {
    try database.write { try $0.execute("INSERT INTO OfflineUnit (uuid, site, number) VALUES ('mine', 'a', 1)") }
    try apply([Self.version(1, of: "Reading", "r1", Self.one)])
    try apply([Self.version(1, of: "Unit", "theirs", Self.one)])
    let conflict = try conflictWithTheirs()
    try sync { try $0.resolver.resolve(conflict, ConflictDecision(side: .remote, user: "ada")) }
    #expect(try isConsistent())
    #expect(try values("SELECT uuid || isDeleted || isDirty || syncStatus FROM OfflineUnit") == ["theirs00synced"])
    #expect(try values("SELECT entityUuid || resolution FROM OfflineConflictResolution") == ["mineremote_wins"])
    #expect(try sent().isEmpty)
  }

  // Found by the simulation, seed 5082: the dependent was deleted on this device only, and kept its UNIQUE values.
  @Test("The server's side waits for the server's record if its dependents are here")
  func givenRowBeforeArrival() throws {
    try database.write { try $0.execute("INSERT INTO OfflineUnit (uuid, site, number) VALUES ('mine', 'a', 1)") }
    try apply([Self.version(1, of: "Tag", "t1", Self.one)])
    let conflict = try conflictWithTheirs()
    let decision = ConflictDecision(side: .remote, user: "ada")
    let error = #expect(throws: VaultError.self) { try sync { try $0.resolver.resolve(conflict, decision) } }
    #expect(error?.code == .refused)
    #expect(
      error?.message == "Tag t1 of the server refers to the same values, and the server's Unit has not arrived")
    #expect(try values("SELECT uuid || isDeleted FROM OfflineUnit") == ["mine0"])
    try apply([Self.version(1, of: "Unit", "theirs", Self.one)])
    try sync { try $0.resolver.resolve(conflict, decision) }
    #expect(try isConsistent())
    #expect(try values("SELECT uuid || isDeleted || syncStatus FROM OfflineUnit") == ["theirs0synced"])
    #expect(try values("SELECT uuid || isDeleted FROM OfflineTag") == ["t10"])
  }

  // Found by the simulation, seed 433: the round ended with "NOT NULL constraint failed".
  @Test("Values that other records follow are swapped, and the references stay")
  func swappedValues() throws {
    func crate(_ version: Int64, _ uuid: String, _ label: SyncValue) -> RemoteRecord {
      Self.version(version, of: "Crate", uuid, ["label": label])
    }
    try apply([
      crate(1, "c1", "x"), crate(1, "c2", "y"), Self.version(1, of: "Lid", "l1", ["label": "c1"]),
      Self.version(1, of: "Lid", "l2", ["label": "c2"]),
    ])
    try apply([crate(2, "c1", "y"), crate(2, "c2", "x")])
    #expect(try isConsistent())
    #expect(try values("SELECT label FROM OfflineLid ORDER BY uuid") == ["y", "x"])
  }

  // Found by the simulation, seed 376: no decision ended the conflict.
  @Test("A deletion is applied although its version references a record that this device lacks")
  func deletionWithoutParent() throws {
    try apply([Self.version(1, of: "Unit", "u1", Self.one), Self.version(1, of: "Reading", "r1", Self.one)])
    try apply([Self.version(2, of: "Reading", "r1", ["site": "b", "number": 8], isDeleted: true)])
    #expect(try isConsistent())
    #expect(try values("SELECT site || number || isDeleted FROM OfflineReading") == ["a11"])
  }
}
