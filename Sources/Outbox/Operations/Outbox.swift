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

  // MARK: Transitions

  /// Performs the transition that an event causes.
  /// - Parameters:
  ///   - problem: the reason that a failed attempt is stored with.
  ///   - jitter: 0 to 1. Spreads the retries of devices that failed together.
  /// - Returns: the transition; `nil` if the event changed nothing.
  @discardableResult
  package func apply(
    _ event: OutboxEvent, to queued: QueuedOperation, _ problem: Problem? = nil, jitter: Double = 0
  ) throws -> OutboxTransition? {
    guard let transition = queued.operation.after(event) else { return nil }
    if transition.effects.contains(.absorbNext) { try removePending(besides: queued) }
    if transition.effects.contains(.remove) {
      try remove(queued)
    } else {
      try store(transition, of: queued, problem, jitter)
    }
    try setRecordStatus(transition, queued)
    return transition
  }

  /// Stores the payload with which an operation is sent now, and whenever it is sent again. An operation of an earlier
  /// version may have been sent with a payload that is unknown, so it does not count as one with a single payload.
  /// - Returns: `false` if the operation cannot be sent in its state.
  func send(_ queued: QueuedOperation, _ payload: String, _ operation: PushOperation) throws -> Bool {
    guard let transition = queued.operation.after(.sent) else { return false }
    try connection.withStatement(
      """
      UPDATE OfflineSyncQueue SET status = ?1, lastAttemptAt = ?2, errorMessage = NULL,
        sendCount = ?3, payload = ?4, baseVersion = ?5, schemaVersion = ?6, operationType = ?7, idempotencyKey = ?8,
        sentPayload = CASE WHEN payload IS NULL AND idempotencyKey IS NOT NULL THEN coalesce(sentPayload, ?4) ELSE sentPayload END
      WHERE queueNumber = ?9
      """
    ) { statement in
      try statement.bind(transition.operation.status, at: 1)
      try statement.bind(WireTime.text(now), at: 2)
      try statement.bind(Int64(transition.operation.sendCount), at: 3)
      try statement.bind(payload, at: 4)
      try statement.bind(operation.baseVersion, at: 5)
      try statement.bind(operation.schemaVersion, at: 6)
      try statement.bind(operation.kind.rawValue, at: 7)
      try statement.bind(operation.idempotencyKey, at: 8)
      try statement.bind(queued.number, at: 9)
      try statement.run()
    }
    try setRecordStatus(transition, queued)
    return true
  }

  private func store(
    _ transition: OutboxTransition, of queued: QueuedOperation, _ problem: Problem?, _ jitter: Double
  ) throws {
    let next = transition.operation
    var delay: Int64?
    // 0 keeps the stored problem, 1 removes it, 2 stores a new one.
    var change: Int64 = 0
    var forgetsAttempt = false
    for effect in transition.effects {
      switch effect {
      case .delay(.retry(let retries)): delay = RetryDelay.milliseconds(afterRetries: retries, jitter: jitter)
      case .delay(.throttled): delay = 1000
      case .storeProblem: change = 2
      case .clearProblem: change = 1
      case .forgetAttempt: forgetsAttempt = true
      case .absorbNext, .setRecordStatus, .remove: continue
      }
    }
    try connection.withStatement(Self.transition) { statement in
      try statement.bind(next.status, at: 1)
      try statement.bind(next.hasPayload ? 1 : 0, at: 2)
      try statement.bind(next.hasKey ? 1 : 0, at: 3)
      try statement.bind(Int64(next.retryCount), at: 4)
      try statement.bind(Int64(next.sendCount), at: 5)
      try statement.bind(next.isScheduled ? 1 : 0, at: 6)
      try statement.bind(delay.map { WireTime.text(now + $0) }, at: 7)
      try statement.bind(change, at: 8)
      try statement.bind(problem?.message, at: 9)
      try statement.bind(problem?.status.map(Int64.init), at: 10)
      try statement.bind(forgetsAttempt ? 1 : 0, at: 11)
      try statement.bind(next.state == .acknowledged ? WireTime.text(now) : nil, at: 12)
      try statement.bind(next.state == .acknowledged || next.state == .conflicted ? 1 : 0, at: 13)
      try statement.bind(queued.number, at: 14)
      try statement.run()
    }
  }

  private static let transition = """
    UPDATE OfflineSyncQueue SET status = ?1,
      payload = CASE ?2 WHEN 1 THEN payload END,
      sentPayload = CASE WHEN ?3 = 1 AND ?12 IS NULL THEN coalesce(sentPayload, CASE ?2 WHEN 0 THEN payload END) END,
      idempotencyKey = CASE ?3 WHEN 1 THEN idempotencyKey END,
      retryCount = ?4, sendCount = ?5,
      scheduledAt = CASE ?6 WHEN 1 THEN coalesce(?7, scheduledAt) END,
      errorMessage = CASE ?8 WHEN 0 THEN errorMessage WHEN 2 THEN ?9 END,
      errorStatus = CASE ?8 WHEN 0 THEN errorStatus WHEN 2 THEN ?10 END,
      lastAttemptAt = CASE ?11 WHEN 0 THEN lastAttemptAt END,
      completedAt = ?12,
      parkedBehind = CASE ?13 WHEN 0 THEN parkedBehind END
    WHERE queueNumber = ?14
    """

  private func setRecordStatus(_ transition: OutboxTransition, _ queued: QueuedOperation) throws {
    for case .setRecordStatus(let status) in transition.effects {
      try catalog.tables[queued.entityType]?.setStatus(status.rawValue, of: queued.entityId, in: connection)
    }
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

  /// Queues an operation of a record, or changes the kind of its pending operation.
  /// - Parameter pending: the pending operation of the record, if it has one.
  func queue(
    _ kind: OperationKind, _ record: StoredRecord, _ table: RecordTable, pending: [QueuedOperation]
  ) throws {
    if let first = pending.first {
      if first.kind == kind { return }
      try connection.execute(
        "UPDATE OfflineSyncQueue SET operationType = \(kind.rawValue) WHERE queueNumber = \(first.number)")
      return
    }
    try connection.execute(
      """
      INSERT INTO OfflineSyncQueue (entityType, entityId, entityUuid, operationType, priority)
      VALUES (\(table.entity.type), \(record.key), \(record.uuid), \(kind.rawValue), \(table.entity.sync?.defaultPriority ?? 2))
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

  package func remove(_ queued: QueuedOperation) throws {
    try connection.execute("DELETE FROM OfflineSyncQueue WHERE queueNumber = \(queued.number)")
  }

  /// Removes the operations of a record that are not acknowledged.
  func removeUnfinished(_ type: String, _ key: Int64) throws {
    for operation in try QueuedOperation.ofRecord(type, key, in: connection) { try remove(operation) }
  }

  private func removePending(besides queued: QueuedOperation) throws {
    try connection.execute(
      """
      DELETE FROM OfflineSyncQueue
      WHERE entityId = \(queued.entityId) AND entityType = \(queued.entityType) AND payload IS NULL AND completedAt IS NULL
        AND queueNumber <> \(queued.number)
      """)
  }

  /// Removes the operations whose `queueNumber` a query returns. For `doctor`.
  /// - Returns: the number of removed operations.
  @discardableResult
  package func remove(numbers query: SQL) throws -> Int {
    try connection.execute("DELETE FROM OfflineSyncQueue WHERE queueNumber IN (\(query))")
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

  /// Stores that an operation waits for another one.
  func block(_ operation: QueuedOperation, behind number: Int64) throws {
    try connection.execute(
      "UPDATE OfflineSyncQueue SET parkedBehind = \(number) WHERE queueNumber = \(operation.number)")
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

  /// Makes some operations ready again whose blocking operation was acknowledged, was removed or is sent again.
  /// - Returns: whether an operation was found.
  func unblock() throws -> Bool {
    var last: Int64 = .min
    while let number = try connection.fetchOne(
      "SELECT parkedBehind FROM OfflineSyncQueue WHERE parkedBehind > \(last) ORDER BY parkedBehind LIMIT 1",
      as: Int64.self)
    {
      last = number
      let blocking = try QueuedOperation.all(where: "queueNumber = ?", [.integer(number)], in: connection).first
      if let blocking, blocking.operation.blocksOthers || blocking.blockedBy != nil { continue }
      try connection.execute(
        """
        UPDATE OfflineSyncQueue SET parkedBehind = NULL WHERE queueNumber IN (
          SELECT queueNumber FROM OfflineSyncQueue WHERE parkedBehind = \(number) LIMIT \(Self.mostAtOnce))
        """)
      return true
    }
    return false
  }

  /// Returns the earliest scheduled time of an operation, in milliseconds since 1970; `nil` if no operation is scheduled.
  func nextDue() throws -> Int64? {
    let first = try connection.fetchOne(
      "SELECT min(scheduledAt) FROM OfflineSyncQueue WHERE status = 'pending' AND scheduledAt IS NOT NULL",
      as: Optional<String>.self)
    return first.flatMap { $0 }.flatMap(WireTime.milliseconds).map { min($0, now + Self.longestWait) }
  }
}
