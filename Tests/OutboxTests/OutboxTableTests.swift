import CipherSQL
import RestorationModel
import StoreSupport
import SyncModel
import Testing
import VaultStore

@testable import Outbox

/// The tables of the outbox and of the conflicts: states, times and indexes.
@Suite struct OutboxTableTests {
  /// A database with the tables of the core alone, and one operation.
  private func coreDatabase() throws -> Database {
    let database = try Database.inMemory()
    try Migrator(schemas: [CoreSchema.schema]).apply(to: database)
    try database.write { db in
      try db.execute(
        """
        INSERT INTO OfflineSyncQueue (entityType, entityId, entityUuid, operationType, priority)
        VALUES ('Room', 1, '01900000-0000-7000-8000-000000000001', 'create', 1)
        """)
    }
    return database
  }

  @Test("An operation has one of five states, and a conflicted one does not count as failed")
  func states() throws {
    let database = try coreDatabase()
    let time = "2026-01-01T00:00:00.000Z"
    for state in ["pending", "processing", "completed", "failed", "conflict"] {
      try database.write { db in
        let completedAt = state == "completed" ? time : nil
        try db.execute("UPDATE OfflineSyncQueue SET status = \(state), completedAt = \(completedAt.sqlArgument)")
      }
      let status = try database.read { try StoreStatus.read(nil, from: $0) }
      #expect(
        [status.pending, status.processing, status.failed]
          == ["pending", "processing", "failed"].map { $0 == state ? 1 : 0 }, "\(state)")
    }
    for state in ["", "waiting", "Pending"] {
      #expect(throws: SQLError.self) {
        try database.write { _ = try $0.execute("UPDATE OfflineSyncQueue SET status = \(state), completedAt = NULL") }
      }
    }
  }

  @Test("The times of a record are sent as the server's clock reads them")
  func correctedTimes() throws {
    let (database, entities) = try restorationDatabase()
    let (made, offset): (Int64, Int64) = (1_767_225_600_000, -7_200_000)
    try database.write { db in
      let time = WireTime.text(made)
      try db.execute(
        "INSERT INTO OfflineProject (title, createdAt, updatedAt) VALUES ('House', \(time), \(time))")
      try SyncSettings.set(.clockOffset, String(offset), in: db)
    }
    let sent = try database.write { db in
      try SyncTransaction.run(on: db, SyncCatalog(entities), now: Clock.system.now()) {
        try $0.nextBatch(limit: 25).operations
      }
    }
    #expect(sent.map(\.createdAt) == [made + offset] && sent.map(\.patch.updatedAt) == [made + offset])
  }

  private static let questions = [
    ("OfflineSyncQueue WHERE operationId = 'x'", "sqlite_autoindex_OfflineSyncQueue_1"),
    ("OfflineSyncQueue WHERE \(record) AND payload IS NULL AND completedAt IS NULL", "OfflineSyncQueue_growing"),
    ("OfflineSyncQueue WHERE \(record) AND payload IS NOT NULL AND completedAt IS NULL", "OfflineSyncQueue_frozen"),
    ("OfflineSyncQueue WHERE \(ready) AND priority = 2 ORDER BY queueNumber", "OfflineSyncQueue_ready"),
    ("OfflineSyncQueue WHERE status = 'pending' AND scheduledAt <= '2026'", "OfflineSyncQueue_scheduled"),
    ("OfflineSyncQueue WHERE status = 'processing'", "OfflineSyncQueue_special"),
    ("OfflineSyncQueue WHERE status = 'failed'", "OfflineSyncQueue_special"),
    ("OfflineSyncQueue WHERE status = 'conflict'", "OfflineSyncQueue_special"),
    ("OfflineSyncQueue WHERE completedAt < '2026' ORDER BY completedAt", "OfflineSyncQueue_completed"),
    ("OfflineConflictResolution WHERE conflictId = 'x'", "sqlite_autoindex_OfflineConflictResolution_1"),
    ("OfflineConflictResolution WHERE \(record)", "OfflineConflictResolution_record"),
    ("OfflineConflictResolution WHERE \(record) AND resolvedAt IS NULL", "OfflineConflictResolution_open"),
    ("OfflineConflictResolution WHERE detectedAt > '2026'", "OfflineConflictResolution_detected"),
    ("OfflineConflictResolution ORDER BY detectedAt", "OfflineConflictResolution_detected"),
  ]
  private static let record = "entityType = 'Room' AND entityId = 1"
  private static let ready = "status = 'pending' AND scheduledAt IS NULL AND parkedBehind IS NULL"

  @Test("What sync and its users ask of the outbox and of the conflicts is found by an index")
  func indexes() throws {
    let database = try coreDatabase()
    for (question, index) in Self.questions {
      let steps = try database.read { db in
        var steps: [String] = []
        try db.forEach(SQL(raw: "EXPLAIN QUERY PLAN SELECT * FROM \(question)")) { row in
          steps.append(try row.decode(String.self, at: 3))
        }
        return steps
      }
      // A search of the index, or for a list in an order the index from its beginning to its end.
      let kind = question.contains("WHERE") ? "SEARCH" : "SCAN"
      #expect(
        steps.count == 1 && steps[0].hasPrefix(kind) && steps[0].contains("INDEX \(index)"), "\(question): \(steps)")
    }
  }
}
