import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// Operations that are sent in one request.
package struct PreparedBatch: Equatable, Sendable {
  package let operations: [PushOperation]
  /// The number of operations that failed because one of their values cannot be sent.
  package let failed: Int
  /// Whether the batch has reached a limit, so that further operations would not have joined it.
  let isFull: Bool
  /// Whether the search ended early to keep the transaction short. Another call may find operations then.
  package let isUnfinished: Bool
  let order: BatchOrder
}

/// The order in which operations are chosen.
package enum BatchOrder: Sendable {
  /// Orders operations by priority, then by age.
  case priority
  /// Orders operations by age alone, so that low priorities are sent as well while urgent operations keep coming.
  case age
}

/// Chooses the next operations and seals them.
struct BatchBuilder: SyncComponent {
  let sync: SyncTransaction
  let order: BatchOrder

  /// The maximum number of operations that one plan examines.
  private static let mostOperations = 500
  /// The maximum number of plans in one transaction.
  private static let mostPlans = 4

  func build(limit: Int, bytes: Int, isPrefetch: Bool) throws -> PreparedBatch {
    try outbox.wakeDue()
    _ = try outbox.unblock()
    var batch: [PushOperation] = []
    var plans = 0
    var isUnfinished = false
    var size = 0
    var isCut = false
    var failed = 0
    let payloads = PayloadBuilder(sync: sync)
    // Operations of which only references would be left out, so that nothing remains. Others have to be sent first.
    var waiting: Set<Int64> = []
    while batch.isEmpty {
      var plan = BatchPlan(sync: sync, limit: limit, isPrefetch: isPrefetch, leavingOut: waiting)
      try fill(&plan)
      for operation in plan.batch {
        if try payloads.waits(operation, leavingOut: plan.circular[operation.number] ?? []) {
          waiting.insert(operation.number)
          continue
        }
        let sealed: (operation: PushOperation, length: Int)?
        do {
          sealed = try payloads.send(
            operation, leavingOut: plan.circular[operation.number] ?? [], clearing: plan.cleared[operation.number] ?? []
          )
        } catch let unsendable as UnsendableField {
          try outbox.apply(.unsendable, to: operation, Outbox.Problem(unsendable))
          failed += 1
          isCut = !batch.isEmpty
          // Later operations of the plan may depend on this one, so they are chosen again.
          break
        }
        guard let sent = sealed else { continue }
        size += sent.length
        if !batch.isEmpty, size > bytes {
          isCut = true
          try sync.release([operation.operationId], wasSent: false)
        } else {
          batch.append(sent.operation)
        }
      }
      if !batch.isEmpty { break }
      // Another plan finds other operations only if this one acknowledged, failed or blocked some.
      isUnfinished = try plan.hasProgress || outbox.unblock()
      plans += 1
      guard isUnfinished, plans < Self.mostPlans else { break }
    }
    return PreparedBatch(
      operations: batch, failed: failed, isFull: isCut || batch.count == limit,
      isUnfinished: batch.isEmpty && isUnfinished, order: order)
  }

  private func fill(_ plan: inout BatchPlan) throws {
    switch order {
    case .priority:
      for priority in 0...3 {
        var last: Int64 = .min
        while !plan.isFull, plan.looked < Self.mostOperations {
          let next = try QueuedOperation.all(
            where: "\(Outbox.isReady) AND priority = ? AND queueNumber > ? ORDER BY queueNumber LIMIT \(plan.limit)",
            [.integer(Int64(priority)), .integer(last)], in: connection)
          guard let end = next.last else { break }
          last = end.number
          for operation in next where !plan.isFull { try plan.consider(operation) }
        }
      }
    case .age:
      var oldest: [QueuedOperation] = []
      for priority in 0...3 {
        oldest += try QueuedOperation.all(
          where: "\(Outbox.isReady) AND priority = ? ORDER BY queueNumber LIMIT \(plan.limit)",
          [.integer(Int64(priority))],
          in: connection)
      }
      for operation in oldest.sorted(by: { $0.number < $1.number }) where !plan.isFull { try plan.consider(operation) }
    }
  }

  /// Returns whether a batch that was prefetched would be chosen now as well. No other operation may be in flight.
  static func isStillNext(_ batch: PreparedBatch, _ sync: SyncTransaction) throws -> Bool {
    let connection = sync.connection
    // The user may have discarded some of its operations.
    let count = try connection.fetchOne(
      "SELECT count(*) FROM OfflineSyncQueue WHERE status = 'processing'", as: Int.self)
    guard count == batch.operations.count else { return false }
    try sync.outbox.wakeDue()
    _ = try sync.outbox.unblock()
    let last = try connection.fetchRows(
      """
      SELECT priority, queueNumber, max(queueNumber) OVER () FROM OfflineSyncQueue WHERE status = 'processing'
      ORDER BY priority DESC, queueNumber DESC LIMIT 1
      """, as: Int.self, Int64.self, Int64.self
    ).first
    guard let (lastPriority, lastNumber, newest) = last else { return true }
    for priority in 0...3 {
      let end: Int64 =
        switch batch.order {
        case _ where !batch.isFull: .max
        case .priority: priority < lastPriority ? .max : priority == lastPriority ? lastNumber : .min
        case .age: newest
        }
      // One search of the index of ready operations for each priority.
      let earlier = try connection.fetchOne(
        """
        SELECT 1 FROM OfflineSyncQueue
        WHERE \(raw: Outbox.isReady) AND priority = \(priority) AND queueNumber < \(end) LIMIT 1
        """, as: Int.self)
      if earlier != nil { return false }
    }
    return true
  }
}

extension SyncTransaction {
  /// Chooses the next operations and seals them. They count as in flight from now on, and further edits form new operations.
  /// - Parameters:
  ///   - limit: the most operations.
  ///   - bytes: the approximate limit of the JSON in bytes. At least one operation is chosen, even if it is larger.
  ///   - isPrefetch: whether the batch is sent only after the server has stored all operations in flight.
  package func nextBatch(
    limit: Int, order: BatchOrder = .priority, bytes: Int = 4 << 20, isPrefetch: Bool = false
  ) throws -> PreparedBatch {
    try BatchBuilder(sync: self, order: order).build(limit: limit, bytes: bytes, isPrefetch: isPrefetch)
  }

  /// Returns whether a prefetched batch would be chosen now as well. No other operation may be in flight.
  package func isStillNext(_ batch: PreparedBatch) throws -> Bool { try BatchBuilder.isStillNext(batch, self) }

  /// Returns the earliest scheduled time of an operation, in milliseconds since 1970; `nil` if no operation is scheduled.
  package func nextDue() throws -> Int64? { try outbox.nextDue() }
}
