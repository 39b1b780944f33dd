import CSQLCipher
import Foundation
import StoreSupport
import SyncModel
import Testing
import VaultStore

@testable import CipherSQL
@testable import Outbox

/// The number of statements that seal a batch and that store its responses, for batches of two entities that reference a third
/// one. It must not depend on the number of operations.
@Suite struct StatementCountTests {
  private static let schema = Schema(
    name: "sites",
    migrations: [
      MigrationFile(
        version: 1, name: "sites",
        sql: """
          CREATE TABLE OfflineSite (
            siteId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, code TEXT UNIQUE, \(ReferenceCycleTests.shared)) STRICT;
          CREATE TABLE OfflineVisit (
            visitId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE,
            siteId INTEGER NOT NULL REFERENCES OfflineSite (siteId), number INTEGER UNIQUE, note TEXT, \(ReferenceCycleTests.shared)) STRICT;
          CREATE TABLE OfflineSample (
            sampleId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE,
            siteId INTEGER REFERENCES OfflineSite (siteId) ON DELETE SET NULL, weight REAL UNIQUE, note TEXT,
            \(ReferenceCycleTests.shared)) STRICT;
          INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES
            ('Site', 'OfflineSite', 'sites'), ('Visit', 'OfflineVisit', 'sites'), ('Sample', 'OfflineSample', 'sites');
          """)
    ])

  /// A vault whose outbox is pushed, with the statements counted.
  private struct Device {
    let database: Database
    let catalog: SyncCatalog

    init() throws {
      database = try Database.inMemory()
      try Vault.migrator(for: [schema]).apply(to: database, isDraft: true)
      catalog = SyncCatalog(try database.read { try Entities.read(from: $0) })
    }

    func write(_ statements: String...) throws {
      try database.write { db in for sql in statements { try db.execute(SQL(raw: sql)) } }
    }

    /// Writes records with the numbers 1 to `count` of both entities, each of them with a site of its own.
    func add(_ count: Int) throws {
      try write(
        "INSERT INTO OfflineSite (siteId, uuid, code) \(numbers(count)) SELECT n, \(uuid("0")), 'code ' || n FROM numbers",
        "INSERT INTO OfflineVisit (visitId, uuid, siteId, number) \(numbers(count)) SELECT n, \(uuid("1")), n, n FROM numbers",
        "INSERT INTO OfflineSample (sampleId, uuid, siteId, weight) \(numbers(count)) SELECT n, \(uuid("2")), n, n / 8.0 FROM numbers"
      )
    }

    private func numbers(_ count: Int) -> String {
      "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < \(count))"
    }

    private func uuid(_ entity: String) -> String { "printf('0190000\(entity)-0000-7000-8000-%012x', n)" }

    func run<Result>(_ body: (SyncTransaction) throws -> Result) throws -> Result {
      try database.write { db in try SyncTransaction.run(on: db, catalog, now: 1_767_225_600_000, body) }
    }

    /// Seals the next batch.
    func seal(_ limit: Int) throws -> (operations: [PushOperation], statements: Int) {
      try run { transaction in
        var operations: [PushOperation] = []
        let statements = try countStatements(transaction.connection) {
          operations = try transaction.nextBatch(limit: limit).operations
        }
        return (operations, statements)
      }
    }

    /// Stores the same response to all operations.
    func respond(
      to operations: [PushOperation], _ outcome: (PushOperation) -> PushResult.Outcome = { accepted($0) }
    ) throws -> Int {
      try run { transaction in
        var counts = PushCounts()
        return try countStatements(transaction.connection) {
          try transaction.acknowledge(
            operations.map { OperationResponse(to: $0, outcome($0), jitter: 0.5) }, counts: &counts)
        }
      }
    }

    /// Sends everything.
    func push() throws {
      while true {
        let batch = try seal(100).operations
        if batch.isEmpty { return }
        _ = try respond(to: batch)
      }
    }

    func count(_ condition: String) throws -> Int {
      try database.read { db in
        try db.fetchOne(SQL(raw: "SELECT count(*) FROM OfflineSyncQueue WHERE \(condition)"), as: Int.self) ?? 0
      }
    }
  }

  private static func accepted(_ operation: PushOperation) -> PushResult.Outcome {
    .accepted(version: operation.baseVersion + 1, serverId: .integer(7))
  }

  private static func problem(_ status: Int, _ type: String = "about:blank") -> PushResult.Outcome {
    .rejected(ServerProblem(type: type, title: "", status: status, detail: "a \"quoted\" reason"))
  }

  /// Runs a closure with batches of different sizes. All of them must return the same numbers of statements.
  private func expectEqualCounts(_ body: (_ count: Int) throws -> [Int]) throws {
    let sizes = [1, 5, 25, 200]
    let counts = try sizes.map(body)
    for (size, count) in zip(sizes, counts) {
      #expect(count == counts[0], "with \(size) operations of each entity")
    }
    // Each number covers several entities, so a statement for each operation would exceed it.
    #expect(counts[0].allSatisfy { $0 < 50 }, "\(counts[0])")
  }

  @Test("New records with new parents are sealed and acknowledged in a constant number of statements")
  func creations() throws {
    try expectEqualCounts { count in
      let device = try Device()
      try device.add(count)
      let batch = try device.seal(3 * count)
      #expect(batch.operations.count == 3 * count)
      let acknowledged = try device.respond(to: batch.operations)
      #expect(try device.count("completedAt IS NULL") == 0)
      return [batch.statements, acknowledged]
    }
  }

  @Test("Edits of references and UNIQUE values are sealed and acknowledged in a constant number of statements")
  func edits() throws {
    try expectEqualCounts { count in
      let device = try Device()
      try device.add(count + 1)
      try device.push()
      try device.write(
        "UPDATE OfflineVisit SET siteId = siteId + 1, number = -number WHERE visitId <= \(count)",
        "UPDATE OfflineSample SET siteId = siteId + 1, weight = -weight, note = 'moved' WHERE sampleId <= \(count)")
      let batch = try device.seal(2 * count)
      #expect(batch.operations.count == 2 * count)
      let acknowledged = try device.respond(to: batch.operations)
      #expect(try device.count("completedAt IS NULL") == 0)
      return [batch.statements, acknowledged]
    }
  }

  @Test("UNIQUE values that move between records are sealed in a constant number of statements")
  func movedValues() throws {
    try expectEqualCounts { count in
      let device = try Device()
      try device.add(2 * count)
      try device.push()
      // The second half releases its values, and the first half takes them.
      try device.write(
        "UPDATE OfflineVisit SET number = number + 1000 WHERE visitId > \(count)",
        "UPDATE OfflineVisit SET number = number + \(count) WHERE visitId <= \(count)",
        "UPDATE OfflineSample SET weight = weight + 1000 WHERE sampleId > \(count)",
        "UPDATE OfflineSample SET weight = weight + \(count) / 8.0 WHERE sampleId <= \(count)")
      let batch = try device.seal(4 * count)
      #expect(batch.operations.count == 4 * count)
      return [batch.statements, try device.respond(to: batch.operations)]
    }
  }

  @Test("Deletions of parents after their dependents moved are sealed in a constant number of statements")
  func deletions() throws {
    try expectEqualCounts { count in
      let device = try Device()
      try device.add(2 * count)
      try device.push()
      try device.write(
        "UPDATE OfflineVisit SET siteId = siteId + \(count) WHERE visitId <= \(count)",
        "DELETE FROM OfflineSample WHERE sampleId <= \(count)", "DELETE FROM OfflineSite WHERE siteId <= \(count)")
      let batch = try device.seal(3 * count)
      #expect(batch.operations.count == 3 * count)
      let acknowledged = try device.respond(to: batch.operations)
      #expect(try device.count("completedAt IS NULL") == 0)
      return [batch.statements, acknowledged]
    }
  }

  @Test("Sealed operations are sent again in a constant number of statements")
  func repetition() throws {
    try expectEqualCounts { count in
      let device = try Device()
      try device.add(count)
      let sealed = try device.seal(3 * count).operations
      let released = try device.run { transaction in
        try countStatements(transaction.connection) { try transaction.release(sealed.map(\.operationId)) }
      }
      let again = try device.seal(3 * count)
      #expect(again.operations.map(\.idempotencyKey) == sealed.map(\.idempotencyKey))
      let unsent = try device.run { transaction in
        try countStatements(transaction.connection) {
          try transaction.release(again.operations.map(\.operationId), wasSent: false)
        }
      }
      return [released, again.statements, unsent]
    }
  }

  @Test("Edits behind sealed operations and kept fields cost a constant number of statements")
  func laterEdits() throws {
    try expectEqualCounts { count in
      let device = try Device()
      try device.add(count)
      let batch = try device.seal(3 * count).operations
      try device.write(
        "UPDATE OfflineVisit SET note = 'later'", "UPDATE OfflineSample SET note = 'later'",
        """
        INSERT INTO SyncExtraFields (entityType, entityUuid, fields)
        SELECT 'Visit', uuid, '{"color":"red","note":"kept"}' FROM OfflineVisit
        """)
      let acknowledged = try device.respond(to: batch)
      #expect(try device.count("completedAt IS NULL AND operationType = 'update'") == 2 * count)
      let kept = try device.database.read { db in
        try db.fetchOne("SELECT group_concat(DISTINCT fields) FROM SyncExtraFields", as: String.self)
      }
      #expect(kept == #"{"color":"red"}"#)
      return [acknowledged]
    }
  }

  @Test(
    "Refused, deferred and waiting operations cost a constant number of statements",
    arguments: [
      ("failed", problem(403)), ("pending", problem(500)), ("pending", problem(429)),
      ("pending", problem(409, ServerProblem.keyReused)), ("pending", PushResult.Outcome.waiting(for: "another")),
    ])
  func refusals(status: String, outcome: PushResult.Outcome) throws {
    try expectEqualCounts { count in
      let device = try Device()
      try device.add(count)
      let batch = try device.seal(3 * count).operations
      let statements = try device.respond(to: batch) { _ in outcome }
      #expect(try device.count("status = '\(status)' AND completedAt IS NULL") == 3 * count)
      return [statements]
    }
  }

  @Test("Operations that wait for failed ones are blocked and ready again in a constant number of statements")
  func blocking() throws {
    try expectEqualCounts { count in
      let device = try Device()
      try device.add(count)
      let sites = try device.seal(count).operations
      _ = try device.respond(to: sites) { _ in Self.problem(403) }
      let blocked = try device.seal(2 * count)
      #expect(blocked.operations.isEmpty)
      #expect(try device.count("parkedBehind IS NOT NULL") == 2 * count)
      return [blocked.statements, try device.seal(2 * count).statements]
    }
  }

  @Test(
    "Each response of a mixed request has the effect that it has alone, also with a trigger that changes other records",
    arguments: ["", "TEMP", "persistent"])
  func mixedRequest(_ trigger: String) throws {
    func state(_ respond: (Device, [(PushOperation, PushResult.Outcome)]) throws -> Void) throws -> [String] {
      let device = try Device()
      if !trigger.isEmpty {
        try device.write(
          """
          CREATE \(trigger == "TEMP" ? "TEMP" : "") TRIGGER telling AFTER UPDATE OF syncStatus ON OfflineSite
          WHEN NEW.syncStatus = 'synced'
          BEGIN UPDATE OfflineVisit SET note = 'told' WHERE siteId = NEW.siteId; END
          """)
      }
      try device.add(4)
      let batch = try device.seal(12).operations
      try device.write("UPDATE OfflineVisit SET note = 'later' WHERE visitId % 2 = 0")
      let stored = PushResult.Outcome.accepted(version: 1, serverId: .integer(3))
      let outcomes: [PushResult.Outcome] =
        trigger.isEmpty
        ? [
          stored, Self.problem(403), .waiting(for: "another"), Self.problem(500),
          .conflict(.notUnique, fields: ["code"], record: nil), .accepted(version: 2, serverId: nil),
        ] : [stored]
      try respond(device, batch.enumerated().map { ($1, outcomes[$0 % outcomes.count]) })
      return try device.database.read { db in
        try db.fetch(
          """
          SELECT json_array(queueNumber, entityType, entityId, operationType, status, payload IS NULL, idempotencyKey IS NULL,
            retryCount, sendCount, scheduledAt, errorMessage, errorStatus, completedAt)
          FROM OfflineSyncQueue
          UNION ALL SELECT json_array(siteId, serverId, syncVersion, isDirty, syncStatus, lastSyncedAt) FROM OfflineSite
          UNION ALL SELECT json_array(visitId, serverId, syncVersion, isDirty, syncStatus, lastSyncedAt, note) FROM OfflineVisit
          UNION ALL SELECT json_array(sampleId, serverId, syncVersion, isDirty, syncStatus, lastSyncedAt) FROM OfflineSample
          UNION ALL SELECT json_array(entityType, entityId, fields, syncVersion) FROM SyncBase
          UNION ALL SELECT json_array(entityType, entityId, conflictType, fields) FROM OfflineConflictResolution
          """, as: String.self
        ).sorted()
      }
    }
    let together = try state { device, responses in
      try device.run { transaction in
        var counts = PushCounts()
        try transaction.acknowledge(responses.map { OperationResponse(to: $0, $1, jitter: 0.5) }, counts: &counts)
      }
    }
    let alone = try state { device, responses in
      for (operation, outcome) in responses {
        try device.run { transaction in
          var counts = PushCounts()
          try transaction.acknowledge(outcome, of: operation, jitter: 0.5, counts: &counts)
        }
      }
    }
    #expect(together == alone)
    #expect(!together.isEmpty)
  }
}

/// Returns the number of statements that a connection runs during a closure, without those of triggers.
private func countStatements(_ db: Connection, _ body: () throws -> Void) rethrows -> Int {
  final class Counter { var count = 0 }
  let counter = Counter()
  sqlite3_trace_v2(
    db.handle, UInt32(SQLITE_TRACE_STMT),
    { _, context, _, text in
      // SQLite reports the beginning of a trigger as a comment.
      let isTrigger = text.map { strncmp($0.assumingMemoryBound(to: CChar.self), "--", 2) == 0 } ?? false
      if let context, !isTrigger { Unmanaged<Counter>.fromOpaque(context).takeUnretainedValue().count += 1 }
      return 0
    }, Unmanaged.passUnretained(counter).toOpaque())
  defer { sqlite3_trace_v2(db.handle, 0, nil, nil) }
  try body()
  return counter.count
}
