import CipherSQL
import Foundation
import SyncModel
import TestSupport
import Testing
import VaultStore

@testable import Outbox

/// Versions whose UNIQUE values move between records come in any order, and again.
@Suite struct UniqueClashTests {
  private static let schema = Schema(
    name: "things",
    migrations: [
      MigrationFile(
        version: 1, name: "things",
        sql: """
          CREATE TABLE OfflineThing (
            thingId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE,
            code TEXT UNIQUE, number INTEGER NOT NULL UNIQUE, place TEXT, shelf INTEGER, label TEXT,
            createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
            updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
            lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
            isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0, UNIQUE (place, shelf)
          ) STRICT;
          CREATE UNIQUE INDEX liveLabel ON OfflineThing (label) WHERE isDeleted = 0;
          INSERT INTO SyncedEntity (entityType, tableName, schemaName, conflictPolicy)
            VALUES ('Thing', 'OfflineThing', 'things', 'manual');
          """)
    ])

  private let database: Database
  private let catalog: SyncCatalog

  init() throws { try self.init(Self.schema) }

  private init(_ schema: Schema) throws {
    database = try Database.inMemory()
    try Vault.migrator(for: [schema]).apply(to: database, isDraft: true)
    catalog = SyncCatalog(try database.read { try Entities.read(from: $0) })
  }

  private func sync(_ body: (SyncTransaction, inout ApplyCounts) throws -> Void) throws {
    try database.write { connection in
      try SyncTransaction.run(on: connection, catalog, now: Clock.system.now()) { transaction in
        var counts = ApplyCounts()
        try body(transaction, &counts)
      }
    }
  }

  private func rows() throws -> [String] {
    try database.read { db in
      try db.fetch(
        "SELECT uuid || ' ' || syncVersion || ' ' || code || number || place || shelf FROM OfflineThing ORDER BY uuid",
        as: String.self)
    }
  }

  /// A version of a record with the values of a place.
  private static func thing(_ record: Int, _ version: Int64, _ place: Int) -> RemoteRecord {
    RemoteRecord(
      entityType: "Thing", entityUuid: "thing-\(record)", serverId: .integer(Int64(record)), createdAt: 0,
      state: RecordState(
        fields: [
          "code": .text("c\(place)"), "number": .integer(Int64(place)), "place": "p", "shelf": .integer(Int64(place)),
          "label": .null,
        ], syncVersion: version, updatedAt: version))
  }

  @Test("A version that waited and has come once more keeps its UNIQUE values")
  func waitingVersionComesAgain() throws {
    try sync { try $0.changes.apply([Self.thing(1, 1, 1), Self.thing(2, 1, 2)], counts: &$1) }
    // It waits for the value that the other record has.
    try sync { try $0.changes.apply([Self.thing(1, 2, 2)], counts: &$1) }
    try sync { transaction, counts in
      try transaction.changes.apply(Self.thing(2, 2, 3), counts: &counts)
      try transaction.changes.apply(Self.thing(1, 2, 2), counts: &counts)
    }
    try sync { try $0.changes.endPull(counts: &$1) }
    #expect(try rows() == ["thing-1 2 c22p2", "thing-2 2 c33p3"])
  }

  @Test("Versions in any order, alone or in sets, once or again, end with the newest ones")
  func anyOrder() throws {
    let seed = UInt64.random(in: 0...999_999)
    var random = Seeded(seed)
    for _ in 0..<40 {
      try sync { transaction, _ in
        try transaction.connection.execute("DELETE FROM SyncInbox")
        _ = try WriteMode.purge(on: transaction.connection) {
          try transaction.connection.execute("DELETE FROM OfflineThing")
        }
      }
      let places = (1...4).map { _ in Array(1...4).shuffled(using: &random) }
      var history = places.enumerated().flatMap { step, order in
        order.enumerated().map { Self.thing($0 + 1, Int64(step + 1), $1) }
      }
      let newest = Array(history.suffix(4))
      history.shuffle(using: &random)
      while !history.isEmpty {
        let count = min(history.count, Int.random(in: 1...4, using: &random))
        let set = Array(history.prefix(count))
        history.removeFirst(count)
        if Bool.random(using: &random), let again = set.first { history.append(again) }
        switch Int.random(in: 0...2, using: &random) {
        case 0:
          try sync { transaction, counts in for one in set { try transaction.changes.apply(one, counts: &counts) } }
        case 1: try sync { try $0.changes.apply(set, counts: &$1) }
        default:
          try sync { transaction, counts in
            try transaction.changes.apply(set, counts: &counts)
            try transaction.changes.endPull(counts: &counts)
          }
        }
      }
      try sync { transaction, counts in
        try transaction.changes.apply(newest, counts: &counts)
        try transaction.changes.endPull(counts: &counts)
      }
      let expected = newest.map { thing in
        let place = thing.state.fields["number"].map { $0.json } ?? ""
        return "\(thing.entityUuid) 4 c\(place)\(place)p\(place)"
      }
      #expect(try rows() == expected, "seed \(seed)")
      #expect(try database.read { try $0.fetch("SELECT reason FROM SyncInbox", as: String.self) } == [], "seed \(seed)")
    }
  }

  // Found by the simulation, seed 1012: the user could only keep the deletion, which the server refused each time.
  @Test(
    "The server's side of a conflict exchanges UNIQUE values with records whose versions wait", arguments: [2, 3],
    ["DELETE FROM OfflineThing", "UPDATE OfflineThing SET code = 'mine'"])
  func exchangeWithWaitingVersions(records: Int, edit: String) throws {
    try sync { transaction, counts in
      try transaction.changes.apply((1...records).map { Self.thing($0, 1, $0) }, counts: &counts)
    }
    try database.write { try $0.execute(SQL(raw: "\(edit) WHERE uuid = 'thing-1'")) }
    let versions = (1...records).map { Self.thing($0, 2, $0 % records + 1) }
    try sync { transaction, counts in
      for operation in try transaction.nextBatch(limit: 1).operations {
        let kind = operation.kind == .delete ? ConflictKind.deletedLocally : .concurrentEdit
        var pushed = PushCounts()
        try transaction.acknowledge(
          .conflict(kind, fields: kind == .concurrentEdit ? ["code"] : [], record: versions[0], other: nil),
          of: operation, jitter: 0, counts: &pushed)
      }
      try transaction.changes.apply(versions, counts: &counts)
      try transaction.changes.endPull(counts: &counts)
    }
    let conflict = try #require(
      try database.read { try $0.fetchOne("SELECT conflictId FROM OfflineConflictResolution", as: String.self) })
    try sync { transaction, _ in
      try transaction.resolver.resolve(conflict, ConflictDecision(side: .remote, user: "ada"))
    }
    try sync { try $0.changes.endPull(counts: &$1) }
    #expect(
      try rows()
        == (1...records).map { "thing-\($0) 2 c\($0 % records + 1)\($0 % records + 1)p\($0 % records + 1)" })
    let left = try database.read { db in
      try db.fetch(
        "SELECT entityUuid FROM SyncInbox UNION ALL SELECT entityUuid FROM OfflineSyncQueue", as: String.self)
    }
    #expect(left == [])
  }

  // MARK: Deletions that are undone

  /// Deletes the first record after an edit of its label, and gives the label to another record.
  private func moveLabelOfDeletedRecord() throws {
    try sync { try $0.changes.apply([Self.thing(1, 1, 1)], counts: &$1) }
    try database.write { db in
      try db.execute("UPDATE OfflineThing SET label = 'a'")
      try db.execute("DELETE FROM OfflineThing")
      try db.execute("INSERT INTO OfflineThing (uuid, number, label) VALUES ('mine', 9, 'a')")
    }
  }

  private func labels() throws -> [String] {
    try database.read { db in
      try db.fetch(
        "SELECT uuid || ' ' || isDeleted || isDirty || coalesce(label, '') FROM OfflineThing ORDER BY uuid",
        as: String.self)
    }
  }

  // Found by the simulation, seed 50815: the user could only keep the deletion, which the server refused each time.
  @Test("The server's side of a refused deletion does not need a UNIQUE value of the deleted row")
  func restoredByDecision() throws {
    try moveLabelOfDeletedRecord()
    try sync { transaction, _ in
      for operation in try transaction.nextBatch(limit: 5).operations where operation.kind == .delete {
        var pushed = PushCounts()
        try transaction.acknowledge(
          .conflict(.deletedLocally, fields: [], record: Self.thing(1, 1, 1), other: nil), of: operation, jitter: 0,
          counts: &pushed)
      }
    }
    let conflict = try #require(
      try database.read { try $0.fetchOne("SELECT conflictId FROM OfflineConflictResolution", as: String.self) })
    try sync { transaction, _ in
      try transaction.resolver.resolve(conflict, ConflictDecision(side: .remote, user: "ada"))
    }
    #expect(try labels() == ["mine 01a", "thing-1 00"])
  }

  @Test("A discarded deletion does not need a UNIQUE value of the deleted row")
  func restoredByDiscard() throws {
    try moveLabelOfDeletedRecord()
    let operations = try database.read { db in
      try db.fetch("SELECT operationId FROM OfflineSyncQueue WHERE entityUuid = 'thing-1'", as: String.self)
    }
    try sync { transaction, _ in _ = try transaction.discard(operations) }
    #expect(try labels() == ["mine 01a", "thing-1 00"])
  }

  @Test("A version that wins against a deletion does not need a UNIQUE value of the deleted row")
  func restoredByPolicy() throws {
    let policy = MigrationFile(
      version: 2, name: "policy",
      sql: "UPDATE SyncedEntity SET conflictPolicy = 'server_wins' WHERE entityType = 'Thing';")
    let device = try UniqueClashTests(Schema(name: "things", migrations: Self.schema.migrations + [policy]))
    try device.moveLabelOfDeletedRecord()
    var version = Self.thing(1, 2, 2)
    version.state.fields["label"] = "b"
    try device.sync { try $0.changes.apply([version], counts: &$1) }
    #expect(try device.labels() == ["mine 01a", "thing-1 00b"])
  }
}
