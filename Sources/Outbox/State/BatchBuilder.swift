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
    // Operations of which only references would be left out, so that nothing remains. Others have to be sent first.
    var waiting: Set<Int64> = []
    while batch.isEmpty {
      var plan = BatchPlan(sync: sync, limit: limit, isPrefetch: isPrefetch, leavingOut: waiting)
      try fill(&plan)
      let payloads = PayloadBuilder(sync: sync, plan.rows)
      var sealed: [Outbox.Sealed] = []
      var obsolete: [QueuedOperation] = []
      for operation in plan.batch {
        if try payloads.waits(operation, leavingOut: plan.circular[operation.number] ?? []) {
          waiting.insert(operation.number)
          continue
        }
        do {
          let next = try payloads.seal(
            operation, leavingOut: plan.circular[operation.number] ?? [], clearing: plan.cleared[operation.number] ?? []
          )
          guard let next else {
            obsolete.append(operation)
            continue
          }
          size += next.payload.utf8.count
          isCut = !sealed.isEmpty && size > bytes
          if isCut { break }
          sealed.append(next)
        } catch let unsendable as UnsendableField {
          try outbox.apply(.unsendable, to: operation, Outbox.Problem(unsendable))
          failed += 1
          isCut = !sealed.isEmpty
          // Later operations of the plan may depend on this one, so they are chosen again.
          break
        }
      }
      try outbox.send(sealed)
      try acknowledge(obsolete, plan.rows)
      batch = sealed.map(\.operation)
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

  /// Ends operations of which nothing is left to send.
  private func acknowledge(_ operations: [QueuedOperation], _ rows: PlannedRows) throws {
    try outbox.apply(operations.map { Outbox.Change(event: .acknowledged, operation: $0) })
    let existing = try operations.filter { try rows.record($0.record) != nil }
    for (type, operations) in Dictionary(grouping: existing, by: \.entityType).sorted(by: { $0.key < $1.key }) {
      if let table = catalog.tables[type] { try sync.markClean(operations.map(\.entityId), table) }
    }
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
          try plan.consider(next)
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
      try plan.consider(oldest.sorted { $0.number < $1.number })
    }
  }

  /// Returns whether a batch that was prefetched would be chosen now as well. No other operation may be in flight.
  static func isStillNext(_ batch: PreparedBatch, _ sync: SyncTransaction) throws -> Bool {
    let connection = sync.connection
    let inFlight = try connection.fetchRows(
      """
      SELECT priority, count(*), max(queueNumber) FROM OfflineSyncQueue WHERE status = 'processing'
      GROUP BY priority ORDER BY priority
      """, as: Int.self, Int.self, Int64.self)
    // The user may have discarded some of its operations.
    guard inFlight.reduce(0, { $0 + $1.1 }) == batch.operations.count else { return false }
    try sync.outbox.wakeDue()
    _ = try sync.outbox.unblock()
    guard let (lastPriority, _, lastNumber) = inFlight.last, let newest = inFlight.map(\.2).max() else { return true }
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
