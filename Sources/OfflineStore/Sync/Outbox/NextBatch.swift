import CipherSQL
import SyncModel

/// Operations that are sent together.
package struct PreparedBatch: Sendable {
  package let operations: [PushOperation]
  /// How many have failed because a value of theirs cannot be sent.
  package let failed: Int
  /// Whether nothing more would go along, whatever waits.
  let isFull: Bool
  /// Whether another call may find operations although this one found none: it looked at many, and ended to stay short.
  package let isUnfinished: Bool
  let order: SyncTransaction.Order
}

extension SyncTransaction {
  /// In which order operations are taken.
  package enum Order: Sendable {
    /// By priority, then by age.
    case priority
    /// By age alone, so that nothing waits for ever behind what is more urgent.
    case age
  }

  /// The next operations to send, frozen: from now on they may have been sent, and what a person changes queues behind.
  /// - Parameters:
  ///   - limit: at most this many.
  ///   - bytes: about how much JSON; one operation is returned whatever its size.
  ///   - isPrefetch: whether it is sent only if the server has stored all that is under way now.
  package func nextBatch(
    limit: Int, order: Order = .priority, bytes: Int = 4 << 20, isPrefetch: Bool = false
  ) throws -> PreparedBatch {
    try wakeScheduled()
    _ = try wakeParked()
    var batch: [PushOperation] = []
    var looks = 0
    var isUnfinished = false
    var size = 0
    var isCut = false
    var failed = 0
    while batch.isEmpty {
      var plan = BatchPlan(catalog: catalog, connection: connection, limit: limit, isPrefetch: isPrefetch)
      try fill(&plan, order)
      for operation in plan.batch {
        let sealed: (operation: PushOperation, length: Int)?
        do {
          sealed = try sealedOperation(
            operation, leavingOut: plan.circular[operation.number] ?? [], clearing: plan.cleared[operation.number] ?? []
          )
        } catch let unsendable as UnsendableField {
          try fail(operation, unsendable)
          failed += 1
          isCut = !batch.isEmpty
          // What comes behind it may depend on it, and is chosen anew.
          break
        }
        guard let sent = sealed else { continue }
        size += sent.length
        if !batch.isEmpty, size > bytes {
          isCut = true
          try release([operation.operationId], wasSent: false)
        } else {
          batch.append(sent.operation)
        }
      }
      if !batch.isEmpty { break }
      // Operations that changed nothing, or were set aside, make room for others; nothing else does. What waited for other
      // operations that go on may be ready as well.
      isUnfinished = try plan.hasProgress || wakeParked()
      looks += 1
      guard isUnfinished, looks < Self.mostLooks else { break }
    }
    return PreparedBatch(
      operations: batch, failed: failed, isFull: isCut || batch.count == limit,
      isUnfinished: batch.isEmpty && isUnfinished, order: order)
  }

  private static let lookAtMost = 500
  /// How often one transaction looks for operations that can be sent.
  private static let mostLooks = 4

  private func fill(_ plan: inout BatchPlan, _ order: Order) throws {
    switch order {
    case .priority:
      for priority in 0...3 {
        var last: Int64 = .min
        while !plan.isFull, plan.looked < Self.lookAtMost {
          let next = try QueuedOperation.all(
            where: "\(Self.isReady) AND priority = ? AND queueNumber > ? ORDER BY queueNumber LIMIT \(plan.limit)",
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
          where: "\(Self.isReady) AND priority = ? ORDER BY queueNumber LIMIT \(plan.limit)",
          [.integer(Int64(priority))],
          in: connection)
      }
      for operation in oldest.sorted(by: { $0.number < $1.number }) where !plan.isFull { try plan.consider(operation) }
    }
  }

  /// Whether a batch that was chosen a while ago is what would be chosen now. To be asked when nothing else is under way.
  package func isStillNext(_ batch: PreparedBatch) throws -> Bool {
    // A person may have given up some of it.
    let count = try connection.fetchOne(
      "SELECT count(*) FROM OfflineSyncQueue WHERE status = 'processing'", as: Int.self)
    guard count == batch.operations.count else { return false }
    try wakeScheduled()
    _ = try wakeParked()
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
        WHERE \(raw: Self.isReady) AND priority = \(priority) AND queueNumber < \(end) LIMIT 1
        """, as: Int.self)
      if earlier != nil { return false }
    }
    return true
  }

  private static let isReady = "status = 'pending' AND scheduledAt IS NULL AND parkedBehind IS NULL"

  /// More than an operation ever waits for its time (``RetryDelay/longest``): a time further ahead was written before the clock was set back.
  private static let longestWait: Int64 = 60_000

  /// Operations whose time has come.
  private func wakeScheduled() throws {
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
          WHERE status = 'pending' AND scheduledAt IS NOT NULL AND \(isDue) LIMIT 500)
        """)
    }
  }

  /// Wakes what waited behind an operation that goes on again, or is gone; some at a time.
  /// - Returns: whether any was woken.
  private func wakeParked() throws -> Bool {
    var last: Int64 = .min
    while let number = try connection.fetchOne(
      "SELECT parkedBehind FROM OfflineSyncQueue WHERE parkedBehind > \(last) ORDER BY parkedBehind LIMIT 1",
      as: Int64.self)
    {
      last = number
      let blocker = try QueuedOperation.all(where: "queueNumber = ?", [.integer(number)], in: connection).first
      if let blocker, blocker.isStopped || blocker.parkedBehind != nil { continue }
      try connection.execute(
        """
        UPDATE OfflineSyncQueue SET parkedBehind = NULL WHERE queueNumber IN (
          SELECT queueNumber FROM OfflineSyncQueue WHERE parkedBehind = \(number) LIMIT 500)
        """)
      return true
    }
    return false
  }

  /// When the next operation becomes due that waits for its time; nil when none does. Milliseconds since 1970.
  package func nextDue() throws -> Int64? {
    let first = try connection.fetchOne(
      "SELECT min(scheduledAt) FROM OfflineSyncQueue WHERE status = 'pending' AND scheduledAt IS NOT NULL",
      as: Optional<String>.self)
    return first.flatMap { $0 }.flatMap(WireTime.milliseconds).map { min($0, now + Self.longestWait) }
  }
}
