/// An operation of the outbox, reduced to the facts that its transitions depend on.
///
/// ``after(_:)`` is the only place that decides how an operation changes its state. It reads no clock and no table. The module
/// `Outbox` stores the results in the table `OfflineSyncQueue`.
package struct OutboxOperation: Hashable, Sendable {
  /// The states of an operation.
  package enum State: String, CaseIterable, Sendable {
    /// The operation has no payload yet. Further edits of its record become part of it.
    case pending
    /// The operation has its final payload, and no request with it is under way. Further edits form the next operation.
    case sealed
    /// A request with the payload may be under way. Its result is unknown.
    case inFlight
    /// The server has stored the effect, or there was nothing to send. The row is history.
    case acknowledged
    /// The operation is not sent again until the user retries, edits or discards it.
    case failed
    /// The operation waits until the conflict of its record is resolved.
    case conflicted
  }

  package var state: State
  package var kind: OperationKind
  /// Whether the operation has a payload. Fixed by the state, except that a failed operation may keep the payload that the
  /// server did not accept.
  package var hasPayload: Bool
  /// Whether the operation keeps its idempotency key.
  package var hasKey: Bool
  /// Whether this operation has a payload and a pending operation of the same record follows it.
  package var isFollowed: Bool
  /// Whether the operation waits for its scheduled time.
  package var isScheduled: Bool
  /// The failed attempts since the operation was queued or retried.
  package var retryCount: Int
  /// The failed attempts after which the operation fails.
  package var maxRetries: Int
  /// The number of requests with the current payload.
  package var sendCount: Int

  package init(
    state: State, kind: OperationKind = .update, hasPayload: Bool, hasKey: Bool? = nil, isFollowed: Bool = false,
    isScheduled: Bool = false, retryCount: Int = 0, maxRetries: Int = RetryDelay.retries, sendCount: Int = 0
  ) {
    self.state = state
    self.kind = kind
    self.hasPayload = hasPayload
    self.hasKey = hasKey ?? hasPayload
    self.isFollowed = isFollowed
    self.isScheduled = isScheduled
    self.retryCount = retryCount
    self.maxRetries = maxRetries
    self.sendCount = sendCount
  }

  /// Returns the state of a row.
  /// - Parameters:
  ///   - status: the column `status`. `pending` means pending or sealed.
  ///   - hasPayload: whether the column `payload` has a value.
  package static func state(status: String, hasPayload: Bool) -> State {
    switch status {
    case "processing": .inFlight
    case "completed": .acknowledged
    case "failed": .failed
    case "conflict": .conflicted
    default: hasPayload ? .sealed : .pending
    }
  }

  /// The value of the column `status`, as the requirements name it.
  package var status: String {
    switch state {
    case .pending, .sealed: "pending"
    case .inFlight: "processing"
    case .acknowledged: "completed"
    case .failed: "failed"
    case .conflicted: "conflict"
    }
  }

  /// Whether operations that depend on this one are blocked: it is not sent before an event from outside.
  package var blocksOthers: Bool {
    switch state {
    case .failed, .conflicted: true
    case .pending, .sealed: isScheduled
    case .inFlight, .acknowledged: false
    }
  }
}
