import CipherSQL
import RecordStore
import SyncModel

/// The outbox: the table `OfflineSyncQueue`. No other type writes it, except ``OutboxTriggers`` in SQL.
///
/// ``OutboxOperation`` decides how an operation changes its state. This type stores the result.
package struct Outbox {
  package let catalog: SyncCatalog
  package let connection: WriteConnection
  /// Milliseconds since 1970 by the clock of the device.
  package let now: Int64

  /// Why an operation was not stored, in words for the user.
  package struct Problem {
    let message: String
    /// The HTTP status of the operation; `nil` if it failed on the device.
    var status: Int?

    package init(_ problem: ServerProblem) { (message, status) = (problem.message, problem.status) }
    init(_ unsendable: UnsendableField) { message = unsendable.message }
  }

  /// Returns when the server acknowledged the deletion of a record, as SQL text, or `nil` if the outbox no longer has
  /// the operation.
  func acknowledgedDeletion(_ type: String, _ uuid: String) throws -> String? {
    try connection.fetchOne(
      """
      SELECT max(completedAt) FROM OfflineSyncQueue
      WHERE entityUuid = \(uuid) AND entityType = \(type) AND operationType = 'delete' AND completedAt IS NOT NULL
      """, as: Optional<String>.self) ?? nil
  }

  // MARK: Queueing

  /// An operation to queue.
  struct Queueing {
    let kind: OperationKind
    let record: StoredRecord
    let table: RecordTable
    /// The pending operation of the record, if it has one.
    let pending: QueuedOperation?
  }

  /// Queues an operation of a record, or changes the kind of its pending operation.
  /// - Parameter pending: the pending operation of the record, if it has one.
  func queue(
    _ kind: OperationKind, _ record: StoredRecord, _ table: RecordTable, pending: [QueuedOperation]
  ) throws {
    try queue([Queueing(kind: kind, record: record, table: table, pending: pending.first)])
  }

  /// Queues operations of different records, or changes the kinds of their pending operations.
  func queue(_ operations: [Queueing]) throws {
    var (changed, new) = (ParameterRows(width: 2), ParameterRows(width: 5))
    for operation in operations {
      let kind = operation.kind.rawValue
      guard let pending = operation.pending else {
        let (entity, record) = (operation.table.entity, operation.record)
        new.append([
          .text(entity.type), .integer(record.key), .text(record.uuid), .text(kind),
          .integer(Int64(entity.sync?.defaultPriority ?? 2)),
        ])
        continue
      }
      if pending.kind != operation.kind { changed.append([.integer(pending.number), .text(kind)]) }
    }
    if !changed.isEmpty {
      try connection.execute(
        """
        UPDATE OfflineSyncQueue SET operationType = row.column2 FROM \(changed.table) AS row
        WHERE queueNumber = row.column1
        """)
    }
    if new.isEmpty { return }
    try connection.execute(
      """
      INSERT INTO OfflineSyncQueue (entityType, entityId, entityUuid, operationType, priority)
      SELECT * FROM \(new.table) WHERE column1 IS NOT NULL
      """)
  }

  /// Stops the operations of a record until its conflict is resolved. One operation remains.
  package func stop(_ kind: OperationKind, _ record: StoredRecord, _ table: RecordTable) throws {
    let type = table.entity.type
    var operations = try QueuedOperation.ofRecord(type, record.key, in: connection)
    if operations.isEmpty {
      try queue(kind, record, table, pending: [])
      operations = try QueuedOperation.ofRecord(type, record.key, in: connection)
    } else {
      try queue(kind, record, table, pending: Array(operations.prefix(1)))
    }
    if let first = operations.first { try apply(.conflicted, to: first) }
  }

  // MARK: Removing

  package func remove(_ queued: QueuedOperation) throws { try remove([queued]) }

  func remove(_ operations: [QueuedOperation]) throws {
    if operations.isEmpty { return }
    try remove(numbers: ParameterRows(operations.map(\.number)).table)
  }

  /// Removes the operations of a record that are not acknowledged.
  func removeUnfinished(_ type: String, _ key: Int64) throws {
    try remove(try QueuedOperation.ofRecord(type, key, in: connection))
  }

  /// Removes the operations whose `queueNumber` a query in parentheses returns.
  /// - Returns: the number of removed operations.
  @discardableResult
  package func remove(numbers: SQL) throws -> Int {
    try connection.execute("DELETE FROM OfflineSyncQueue WHERE queueNumber IN \(numbers)")
  }

  /// Removes the operations of records in a range of local ids that are not acknowledged.
  func removeUnfinished(ofEntity type: String, after first: Int64, through last: Int64) throws {
    // One statement for each partial index.
    for hasPayload: SQL in ["payload IS NULL", "payload IS NOT NULL"] {
      try connection.execute(
        """
        DELETE FROM OfflineSyncQueue
        WHERE entityId > \(first) AND entityId <= \(last) AND entityType = \(type) AND \(hasPayload) AND completedAt IS NULL
        """)
    }
  }

  /// Removes acknowledged operations that are older than a time.
  /// - Parameters:
  ///   - time: milliseconds since 1970.
  ///   - limit: the most operations to remove, so that the transaction stays short.
  /// - Returns: the number of removed operations.
  func removeAcknowledged(before time: Int64, limit: Int) throws -> Int {
    try connection.execute(
      """
      DELETE FROM OfflineSyncQueue WHERE queueNumber IN (
        SELECT queueNumber FROM OfflineSyncQueue WHERE completedAt IS NOT NULL AND completedAt < \(WireTime.text(time))
        ORDER BY completedAt LIMIT \(limit))
      """)
  }
}

/// Operations that wait: for a time, or for another operation.
///
/// Blocking is a condition and not a state. A batch builder stores it once (`parkedBehind`), so that the next batch does not look at the
/// operation again.
extension Outbox {
  /// The condition of operations that can be sent now.
  static let isReady = "status = 'pending' AND scheduledAt IS NULL AND parkedBehind IS NULL"

  /// Returns whether an operation can be sent now.
  package static func hasReady(in connection: Connection) throws -> Bool {
    try connection.fetchOne("SELECT 1 FROM OfflineSyncQueue WHERE \(raw: isReady) LIMIT 1", as: Int.self) != nil
  }

  /// The longest time in milliseconds that an operation waits for a retry (``RetryDelay/longest`` is shorter). A later time was
  /// written before the clock was set back.
  private static let longestWait: Int64 = 60_000
  /// The most operations that one statement changes, so that a transaction stays short.
  private static let mostAtOnce = 500

  /// Stores that operations wait for other ones, each for the operation with a number.
  func block(_ operations: [(operation: QueuedOperation, behind: Int64)]) throws {
    if operations.isEmpty { return }
    var rows = ParameterRows(width: 2)
    for (operation, number) in operations { rows.append([.integer(operation.number), .integer(number)]) }
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET parkedBehind = row.column2 FROM \(rows.table) AS row
      WHERE queueNumber = row.column1
      """)
  }

  /// Makes operations ready whose scheduled time has come.
  func wakeDue() throws {
    for isDue: SQL in [
      "scheduledAt <= \(WireTime.text(now))", "scheduledAt > \(WireTime.text(now + Self.longestWait))",
    ] {
      let due = try connection.fetchOne(
        "SELECT 1 FROM OfflineSyncQueue WHERE status = 'pending' AND \(isDue) LIMIT 1", as: Int.self)
      if due == nil { continue }
      try connection.execute(
        """
        UPDATE OfflineSyncQueue SET scheduledAt = NULL WHERE queueNumber IN (
          SELECT queueNumber FROM OfflineSyncQueue
          WHERE status = 'pending' AND scheduledAt IS NOT NULL AND \(isDue) LIMIT \(Self.mostAtOnce))
        """)
    }
  }

  /// The condition of `OutboxOperation.blocksOthers`, or of an operation that is blocked itself.
  private static let blocksOthers = """
    (status = 'failed' OR status = 'conflict' OR status = 'pending' AND scheduledAt IS NOT NULL OR parkedBehind IS NOT NULL)
    """

  /// Makes some operations ready again whose blocking operation was acknowledged, was removed or is sent again.
  /// - Returns: whether an operation was found.
  func unblock() throws -> Bool {
    // One search of the index for each blocking operation, however many operations wait for it.
    let number = try connection.fetchOne(
      """
      WITH RECURSIVE blocking (number) AS (
        SELECT min(parkedBehind) FROM OfflineSyncQueue WHERE parkedBehind IS NOT NULL
        UNION ALL
        SELECT (SELECT min(parkedBehind) FROM OfflineSyncQueue WHERE parkedBehind > number) FROM blocking
        WHERE number IS NOT NULL)
      SELECT number FROM blocking WHERE number IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM OfflineSyncQueue WHERE queueNumber = number AND \(raw: Self.blocksOthers))
      LIMIT 1
      """, as: Int64.self)
    guard let number else { return false }
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET parkedBehind = NULL WHERE queueNumber IN (
        SELECT queueNumber FROM OfflineSyncQueue WHERE parkedBehind = \(number) LIMIT \(Self.mostAtOnce))
      """)
    return true
  }

  /// Returns the earliest scheduled time of an operation, in milliseconds since 1970; `nil` if no operation is scheduled.
  func nextDue() throws -> Int64? {
    let first = try connection.fetchOne(
      "SELECT min(scheduledAt) FROM OfflineSyncQueue WHERE status = 'pending' AND scheduledAt IS NOT NULL",
      as: Optional<String>.self)
    return first.flatMap { $0 }.flatMap(WireTime.milliseconds).map { min($0, now + Self.longestWait) }
  }
}
