import CipherSQL
import RecordStore
import SyncModel

/// Transitions of operations, stored as sets: the number of statements does not depend on the number of operations.
extension Outbox {
  /// An event of an operation.
  struct Change {
    let event: OutboxEvent
    let operation: QueuedOperation
    /// The reason that a failed attempt is stored with.
    var problem: Problem?
    /// 0 to 1. Spreads the retries of devices that failed together.
    var jitter = 0.0
  }

  /// Performs the transition that an event causes.
  /// - Returns: the transition; `nil` if the event changed nothing.
  @discardableResult
  package func apply(
    _ event: OutboxEvent, to queued: QueuedOperation, _ problem: Problem? = nil, jitter: Double = 0
  ) throws -> OutboxTransition? {
    try apply([Change(event: event, operation: queued, problem: problem, jitter: jitter)])
    return queued.operation.after(event)
  }

  /// Performs the transitions that events of different operations cause.
  func apply(_ changes: [Change]) throws {
    let performed = changes.compactMap { change in
      change.operation.operation.after(change.event).map { (change, $0) }
    }
    if performed.isEmpty { return }
    func operations(with effect: OutboxTransition.Effect) -> [QueuedOperation] {
      performed.filter { $0.1.effects.contains(effect) }.map { $0.0.operation }
    }
    try removePending(besides: operations(with: .absorbNext))
    try remove(operations(with: .remove))
    try store(performed.filter { !$0.1.effects.contains(.remove) })
    try setRecordStatus(performed.map { ($0.0.operation, $0.1) })
  }

  private func store(_ transitions: [(change: Change, result: OutboxTransition)]) throws {
    if transitions.isEmpty { return }
    var rows = ParameterRows(width: 14)
    for (change, result) in transitions { rows.append(values(of: result, change)) }
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET status = row.column2,
        payload = CASE row.column3 WHEN 1 THEN payload END,
        sentPayload = CASE WHEN row.column4 = 1 AND row.column13 IS NULL
          THEN coalesce(sentPayload, CASE row.column3 WHEN 0 THEN payload END) END,
        idempotencyKey = CASE row.column4 WHEN 1 THEN idempotencyKey END,
        retryCount = row.column5, sendCount = row.column6,
        scheduledAt = CASE row.column7 WHEN 1 THEN coalesce(row.column8, scheduledAt) END,
        errorMessage = CASE row.column9 WHEN 0 THEN errorMessage WHEN 2 THEN row.column10 END,
        errorStatus = CASE row.column9 WHEN 0 THEN errorStatus WHEN 2 THEN row.column11 END,
        lastAttemptAt = CASE row.column12 WHEN 0 THEN lastAttemptAt END,
        completedAt = row.column13,
        parkedBehind = CASE row.column14 WHEN 0 THEN parkedBehind END
      FROM \(rows.table) AS row WHERE queueNumber = row.column1
      """)
  }

  private func values(of transition: OutboxTransition, _ change: Change) -> [SQLArgument] {
    let next = transition.operation
    var delay: Int64?
    // 0 keeps the stored problem, 1 removes it, 2 stores a new one.
    var problem: Int64 = 0
    var forgetsAttempt = false
    for effect in transition.effects {
      switch effect {
      case .delay(.retry(let retries)): delay = RetryDelay.milliseconds(afterRetries: retries, jitter: change.jitter)
      case .delay(.throttled): delay = 1000
      case .storeProblem: problem = 2
      case .clearProblem: problem = 1
      case .forgetAttempt: forgetsAttempt = true
      case .absorbNext, .setRecordStatus, .remove: continue
      }
    }
    let isAcknowledged = next.state == .acknowledged
    func flag(_ value: Bool) -> SQLArgument { .integer(value ? 1 : 0) }
    return [
      .integer(change.operation.number), .text(next.status), flag(next.hasPayload), flag(next.hasKey),
      .integer(Int64(next.retryCount)), .integer(Int64(next.sendCount)), flag(next.isScheduled),
      delay.map { WireTime.text(now + $0) }.sqlArgument, .integer(problem), (change.problem?.message).sqlArgument,
      (change.problem?.status).map { .integer(Int64($0)) } ?? .null, flag(forgetsAttempt),
      isAcknowledged ? .text(WireTime.text(now)) : .null, flag(isAcknowledged || next.state == .conflicted),
    ]
  }

  /// An operation with the payload that it is sent with.
  struct Sealed {
    let queued: QueuedOperation
    let payload: String
    /// The operation of the payload, with its idempotency key.
    var operation: PushOperation
  }

  /// Stores the payloads with which operations are sent now, and whenever they are sent again. An operation of an earlier
  /// version may have been sent with a payload that is unknown, so it does not count as one with a single payload.
  func send(_ operations: [Sealed]) throws {
    var rows = ParameterRows(width: 8)
    var transitions: [(QueuedOperation, OutboxTransition)] = []
    for sealed in operations {
      guard let transition = sealed.queued.operation.after(.sent) else { continue }
      let operation = sealed.operation
      transitions.append((sealed.queued, transition))
      rows.append([
        .integer(sealed.queued.number), .text(transition.operation.status),
        .integer(Int64(transition.operation.sendCount)), .text(sealed.payload), .integer(operation.baseVersion),
        .integer(operation.schemaVersion), .text(operation.kind.rawValue), operation.idempotencyKey.sqlArgument,
      ])
    }
    if rows.isEmpty { return }
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET status = row.column2, lastAttemptAt = \(WireTime.text(now)), errorMessage = NULL,
        sendCount = row.column3, payload = row.column4, baseVersion = row.column5, schemaVersion = row.column6,
        operationType = row.column7, idempotencyKey = row.column8,
        sentPayload = CASE WHEN payload IS NULL AND idempotencyKey IS NOT NULL THEN coalesce(sentPayload, row.column4)
          ELSE sentPayload END
      FROM \(rows.table) AS row WHERE queueNumber = row.column1
      """)
    try setRecordStatus(transitions)
  }

  private func setRecordStatus(_ transitions: [(QueuedOperation, OutboxTransition)]) throws {
    var keys: [String: [OutboxTransition.RecordStatus: [Int64]]] = [:]
    for (queued, transition) in transitions {
      for case .setRecordStatus(let status) in transition.effects {
        keys[queued.entityType, default: [:]][status, default: []].append(queued.entityId)
      }
    }
    for (type, keys) in keys.sorted(by: { $0.key < $1.key }) {
      for status in OutboxTransition.RecordStatus.allCases {
        try catalog.tables[type]?.setStatus(status.rawValue, of: keys[status] ?? [], in: connection)
      }
    }
  }

  /// Removes the pending operations of the records of other operations.
  private func removePending(besides operations: [QueuedOperation]) throws {
    if operations.isEmpty { return }
    var rows = ParameterRows(width: 3)
    for operation in operations {
      rows.append([.integer(operation.entityId), .text(operation.entityType), .integer(operation.number)])
    }
    try remove(
      numbers: """
        (SELECT pending.queueNumber FROM \(rows.table) AS row
          CROSS JOIN OfflineSyncQueue AS pending ON \(ParameterRows.isRecord("pending"))
            AND pending.payload IS NULL AND pending.completedAt IS NULL AND pending.queueNumber <> row.column3)
        """)
  }
}

extension SyncTransaction {
  /// Returns the operations in flight to the outbox after a crash. They are sent again with the same payload under the same key, and
  /// the server recognises an operation that it has stored.
  package func recover() throws {
    let operations = try QueuedOperation.all(where: "status = 'processing'", [], in: connection)
    try outbox.apply(operations.map { Outbox.Change(event: .lostResponse, operation: $0) })
    try connection.execute("UPDATE SyncRun SET outcome = 'interrupted' WHERE outcome = 'running'")
  }

  /// Returns operations without a response to the outbox. No attempt is counted.
  /// - Parameter wasSent: `false` if the operations certainly did not leave this device.
  package func release(_ operationIds: [String], wasSent: Bool = true) throws {
    let operations = try QueuedOperation.sealed(ids: operationIds, in: connection).filter { $0.state == .inFlight }
    if wasSent { return try outbox.apply(operations.map { Outbox.Change(event: .lostResponse, operation: $0) }) }
    var live: Set<LocalIdentity> = []
    for (type, operations) in Dictionary(grouping: operations, by: \.entityType) {
      let records = try catalog.tables[type]?.find(keys: operations.map(\.entityId), in: connection) ?? [:]
      for record in records.values where !record.state.isDeleted { live.insert(LocalIdentity(type, record.key)) }
    }
    try outbox.apply(
      operations.map { operation in
        Outbox.Change(event: .notSent(isRecordDeleted: !live.contains(operation.record)), operation: operation)
      })
  }
}
