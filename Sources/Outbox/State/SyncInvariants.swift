import CipherSQL
import RecordStore
import SchemaModel

/// The invariants between records, outbox and conflicts.
package struct SyncInvariants {
  package let catalog: SyncCatalog
  package let connection: Connection

  package init(catalog: SyncCatalog, connection: Connection) {
    (self.catalog, self.connection) = (catalog, connection)
  }

  /// Returns a sentence with a count for each violated invariant.
  package func violations() throws -> [String] {
    var found: [String] = []
    func note(_ count: Int?, _ one: String, _ many: String) {
      guard let count, count > 0 else { return }
      found.append(count == 1 ? "1 \(one)" : "\(count) \(many)")
    }
    let waiting = Set(try connection.fetch(Self.unfinished("entityType", "1"), as: String.self))
    let based = Set(try connection.fetch("SELECT DISTINCT entityType FROM SyncBase", as: String.self))
    for table in catalog.parentsFirst {
      let entity = table.entity
      let (name, key): (SQL, SQL) = ("\(identifier: entity.table.name)", "\(identifier: entity.key)")
      note(
        try connection.fetchOne(
          "SELECT count(*) FROM \(name) AS record WHERE isDirty = 1 AND NOT \(entity.hasOperation)", as: Int.self),
        "\(entity.type) has changes but no operation", "records of \(entity.type) have changes but no operation")
      if waiting.contains(entity.type) {
        func count(_ column: SQL, _ condition: SQL) throws -> Int? {
          let operations = Self.unfinished(column, "entityType = \(entity.type) AND \(condition)")
          return try connection.fetchOne("SELECT count(*) FROM (\(operations))", as: Int.self)
        }
        note(
          try count("entityId", "EXISTS (SELECT 1 FROM \(name) WHERE \(key) = operation.entityId AND isDirty = 0)"),
          "\(entity.type) has an operation but is marked as unchanged",
          "records of \(entity.type) have an operation but are marked as unchanged")
        note(
          try count("entityId", "NOT EXISTS (SELECT 1 FROM \(name) WHERE \(key) = operation.entityId)"),
          "operation refers to a missing \(entity.type)",
          "operations refer to missing records of \(entity.type)")
        // Rows that OR REPLACE removed before it was refused may have left such operations.
        note(
          try count("queueNumber", Self.isOfAnother(entity)),
          "operation refers to another \(entity.type) than its row",
          "operations refer to other records of \(entity.type) than their rows")
      }
      guard based.contains(entity.type) else { continue }
      note(
        try connection.fetchOne(
          "SELECT count(*) FROM SyncBase WHERE \(Self.isOrphaned(entity))", as: Int.self),
        "base refers to a missing \(entity.type)",
        "bases refer to missing records of \(entity.type)")
    }
    note(
      try connection.fetchOne(
        "SELECT count(*) FROM OfflineConflictResolution AS conflict WHERE resolvedAt IS NULL AND NOT \(Self.isParked)",
        as: Int.self),
      "open conflict has no blocked operation", "open conflicts have no blocked operations")
    note(
      try connection.fetchOne(
        "SELECT count(*) FROM OfflineSyncQueue AS operation WHERE status = 'conflict' AND NOT \(Self.isOpen)",
        as: Int.self),
      "operation waits for a missing conflict", "operations wait for missing conflicts")
    note(
      try connection.fetchOne(
        "SELECT count(*) FROM SyncCascade WHERE isUnderWay = 1", as: Int.self),
      "record is marked as part of an unfinished deletion", "records are marked as part of an unfinished deletion")
    return found
  }

  /// Returns the operations that failed because one of their values cannot be sent, each with record, field and
  /// reason.
  package func unsendable() throws -> [String] {
    try connection.fetchRows(
      """
      SELECT entityType, entityUuid, errorMessage FROM OfflineSyncQueue
      WHERE status = 'failed' AND errorStatus IS NULL AND errorMessage IS NOT NULL ORDER BY queueNumber
      """, as: String.self, String.self, String.self
    ).map { "\($0) \($1): \($2)" }
  }

  /// A reason for which a version stays in the inbox until the schemas or the records change: its entity is unknown,
  /// or a rule of its table refuses it.
  package enum WaitingReason: String, CaseIterable {
    case unknownEntity = "unknown_entity"
    case refused
  }

  /// Returns a text with a count for each entity with inbox versions of a reason.
  package static func waitingVersions(_ reason: WaitingReason, in connection: Connection) throws -> [String] {
    guard try connection.fetchOne("SELECT 1 FROM sqlite_schema WHERE name = 'SyncInbox'", as: Int.self) != nil else {
      return []
    }
    return try connection.fetchRows(
      """
      SELECT entityType, count(*), CASE reason WHEN 'refused' THEN coalesce(min(detail), 'refused')
        ELSE 'unknown to this vault' END
      FROM SyncInbox WHERE reason = \(reason.rawValue) GROUP BY entityType ORDER BY entityType
      """, as: String.self, Int.self, String.self
    ).map { type, count, reason in "\(count) of \(type) (\(reason))" }
  }

  private static func isOrphaned(_ entity: Entity) -> SQL {
    """
    entityType = \(entity.type)
    AND entityId NOT IN (SELECT \(identifier: entity.key) FROM \(identifier: entity.table.name))
    """
  }

  private static func isOfAnother(_ entity: Entity) -> SQL {
    """
    EXISTS (SELECT 1 FROM \(identifier: entity.table.name) AS record
      WHERE record.\(identifier: entity.key) = operation.entityId AND record.uuid <> operation.entityUuid)
    """
  }

  /// Returns a query for a column of the unfinished operations that meet a condition over `operation`. It reads the
  /// two indexes of unfinished operations and no acknowledged operation.
  private static func unfinished(_ column: SQL, _ condition: SQL) -> SQL {
    """
    SELECT \(column) FROM OfflineSyncQueue AS operation INDEXED BY OfflineSyncQueue_growing
    WHERE payload IS NULL AND completedAt IS NULL AND \(condition)
    UNION
    SELECT \(column) FROM OfflineSyncQueue AS operation INDEXED BY OfflineSyncQueue_frozen
    WHERE payload IS NOT NULL AND completedAt IS NULL AND \(condition)
    """
  }

  /// A conflicted operation has no payload.
  private static let isParked: SQL = """
    EXISTS (SELECT 1 FROM OfflineSyncQueue AS operation
      WHERE operation.entityId = conflict.entityId AND operation.entityType = conflict.entityType
        AND payload IS NULL AND completedAt IS NULL AND status = 'conflict')
    """
  private static let isOpen: SQL = """
    EXISTS (SELECT 1 FROM OfflineConflictResolution AS conflict WHERE resolvedAt IS NULL
      AND operation.entityId = conflict.entityId AND operation.entityType = conflict.entityType)
    """

  /// Repairs violated invariants without discarding a change: the difference to the server is queued.
  package static func restore(_ catalog: SyncCatalog, on connection: WriteConnection) throws {
    try connection.execute("UPDATE SyncCascade SET isUnderWay = 0 WHERE isUnderWay = 1")
    try WriteMode.sync(on: connection) { try restoreQueue(catalog, on: connection) }
  }

  private static func restoreQueue(_ catalog: SyncCatalog, on connection: WriteConnection) throws {
    let outbox = Outbox(catalog: catalog, connection: connection, now: connection.environment.now)
    for table in catalog.parentsFirst {
      let entity = table.entity
      let (name, key): (SQL, SQL) = ("\(identifier: entity.table.name)", "\(identifier: entity.key)")
      func operations(_ column: SQL, _ condition: SQL) -> SQL {
        Self.unfinished(column, "entityType = \(entity.type) AND \(condition)")
      }
      let missing = operations("queueNumber", "entityId NOT IN (SELECT \(key) FROM \(name))")
      try outbox.remove(numbers: "(\(missing))")
      var replaced = try connection.execute("DELETE FROM SyncBase WHERE \(isOrphaned(entity))")
      let others = operations("queueNumber", isOfAnother(entity))
      replaced += try outbox.remove(numbers: "(\(others))")
      // The server may have records whose rows are missing here. A comparison fetches them.
      if replaced > 0 { try SyncSettings.compareNext("repair", in: connection) }
      let queued = operations("entityId", "1")
      try connection.execute("UPDATE \(name) SET isDirty = 1 WHERE isDirty = 0 AND \(key) IN (\(queued))")
      // A deleted record that was never sent needs no operation.
      try connection.execute(
        """
        UPDATE \(name) SET isDirty = 0
        WHERE isDirty = 1 AND isDeleted = 1 AND syncVersion = 0 AND \(key) NOT IN (\(queued))
        """)
      if let outbox = OutboxTriggers(entity, in: catalog.entities) { try outbox.queueMissing(on: connection) }
    }
    let orphaned = try QueuedOperation.all(
      where: """
        status = 'conflict' AND NOT EXISTS (SELECT 1 FROM OfflineConflictResolution AS conflict WHERE resolvedAt IS NULL
          AND OfflineSyncQueue.entityId = conflict.entityId AND OfflineSyncQueue.entityType = conflict.entityType)
        """, [], in: connection)
    for operation in orphaned { try outbox.apply(.conflictResolved, to: operation) }
    try connection.execute(
      """
      UPDATE OfflineConflictResolution AS conflict SET resolvedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
        resolution = 'manual', resolvedBy = 'doctor', notes = 'nothing waited for this conflict any more'
      WHERE resolvedAt IS NULL AND NOT \(isParked)
      """)
  }
}

extension Entity {
  /// The condition that the row `record` has an unfinished operation, in the form of the two indexes of such
  /// operations.
  package var hasOperation: SQL {
    let operation: SQL = """
      SELECT 1 FROM OfflineSyncQueue
      WHERE entityId = record.\(identifier: key) AND entityType = \(type) AND completedAt IS NULL
      """
    return "(EXISTS (\(operation) AND payload IS NULL) OR EXISTS (\(operation) AND payload IS NOT NULL))"
  }
}
