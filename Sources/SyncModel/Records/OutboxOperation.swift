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
    /// The server has stored the effect, or nothing was left to send. The row is history.
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

/// An event that may change the state of an operation in the outbox.
package enum OutboxEvent: Hashable, Sendable {
  // MARK: Sending

  /// The operation is handed to the remote. A pending operation receives its payload.
  case sent
  /// The payload cannot be built or read: a value of the record cannot be sent.
  case unsendable
  /// The request ended without a response, or the program was killed. The server may have stored the effect.
  case lostResponse
  /// The request was never sent.
  /// - Parameter isRecordDeleted: whether the record is deleted, or its row is missing.
  case notSent(isRecordDeleted: Bool)

  // MARK: Responses

  /// The server has stored the effect, or nothing is left to send.
  case acknowledged
  /// The server refused the operation for its content. It will not accept the same payload later.
  /// - Parameters:
  ///   - mayBeStored: whether the server may have stored the effect all the same.
  ///   - isRecordDeleted: whether the record was deleted since the operation was sealed.
  case rejected(mayBeStored: Bool, isRecordDeleted: Bool)
  /// The server failed while it executed the operation (status 500 to 599).
  case attemptFailed
  /// The server accepts no more requests for now (status 429). No attempt is counted.
  case throttled
  /// The server has another payload under the idempotency key, or the response is about an older version than the device
  /// knows. The same payload has no effect any more.
  case outdated
  /// The server did not execute the operation, because an earlier one of the request was not stored.
  case notExecuted
  /// The record conflicts with the server's version.
  case conflicted

  // MARK: Changes on the device

  /// The payload does not fit any more: a reference was removed, the record is new to the server, or the epoch has changed.
  case reopened
  /// The user edited or deleted the record. The derived triggers perform this transition.
  case edited
  /// The user requested a retry, or a migration changed the tables.
  case retried
  /// The server lost the record, so that it is sent again.
  case requeued
  /// A merge resolved the record's conflict.
  case conflictResolved
  /// The scheduled time has come.
  case due
}

/// The result of an event: the operation afterwards, and its external effects.
package struct OutboxTransition: Hashable, Sendable {
  /// A change outside the operation's state, in the order in which it is performed.
  package enum Effect: Hashable, Sendable {
    /// The pending operation that follows is removed. Its edits become part of this operation.
    case absorbNext
    /// The operation is not sent before this many milliseconds have passed.
    case delay(Delay)
    /// The reason of the failure is stored with the operation.
    case storeProblem
    /// A stored reason is removed.
    case clearProblem
    /// The time of the last attempt is removed.
    case forgetAttempt
    /// The record's `syncStatus` becomes this value.
    case setRecordStatus(RecordStatus)
    /// The operation is removed, and its record has no local changes any more.
    case remove
  }

  /// The delay of a scheduled operation.
  package enum Delay: Hashable, Sendable {
    /// ``RetryDelay`` after this many earlier retries.
    case retry(after: Int)
    /// One second: the server limits the rate of requests.
    case throttled
  }

  /// The values that a transition gives the column `syncStatus` of a record.
  package enum RecordStatus: String, CaseIterable, Sendable {
    case pending, syncing, failed, conflict
  }

  package var operation: OutboxOperation
  package var effects: [Effect]

  package init(_ operation: OutboxOperation, _ effects: [Effect] = []) {
    (self.operation, self.effects) = (operation, effects)
  }
}

extension OutboxOperation {
  /// Returns the transition that an event causes, or `nil` if the event does not change an operation in this state.
  ///
  /// `nil` is not an error. A response may arrive twice, after its operation was acknowledged, and a user may edit a record
  /// whose operation is already pending.
  package func after(_ event: OutboxEvent) -> OutboxTransition? {
    switch event {
    case .sent: sending()
    case .unsendable: isWaiting ? failing(retryCount: retryCount) : nil
    case .lostResponse: state == .inFlight ? released() : nil
    case .notSent(let isRecordDeleted): state == .inFlight ? takenBack(isRecordDeleted) : nil
    case .acknowledged: awaitsResponse || state == .pending ? acknowledging() : nil
    case .rejected(let mayBeStored, let isRecordDeleted):
      awaitsResponse ? rejecting(mayBeStored: mayBeStored, isRecordDeleted: isRecordDeleted) : nil
    case .attemptFailed: awaitsResponse ? failingAttempt() : nil
    case .throttled: awaitsResponse ? throttling() : nil
    case .outdated: awaitsResponse ? resealing() : nil
    case .notExecuted: awaitsResponse ? returning() : nil
    case .conflicted: state == .acknowledged ? nil : conflicting()
    case .reopened: awaitsResponse ? reopening() : nil
    case .edited: state == .failed ? retrying() : nil
    case .retried: state == .failed || isWaiting && isScheduled ? retrying() : nil
    case .requeued: isWaiting || isStopped ? retrying() : nil
    case .conflictResolved: state == .conflicted ? OutboxTransition(with { $0.state = .pending }) : nil
    case .due: isWaiting && isScheduled ? OutboxTransition(with { $0.isScheduled = false }) : nil
    }
  }

  /// Whether the operation can be sent now or later without an event from outside.
  private var isWaiting: Bool { state == .pending || state == .sealed }

  private var isStopped: Bool { state == .failed || state == .conflicted }

  /// Whether a response about the payload still matters. A response may arrive after the operation was released or failed.
  private var awaitsResponse: Bool {
    switch state {
    case .sealed, .inFlight: true
    case .failed: hasPayload
    case .pending, .acknowledged, .conflicted: false
    }
  }

  // MARK: Sending

  private func sending() -> OutboxTransition? {
    guard isWaiting, !isScheduled else { return nil }
    let next = with {
      $0.state = .inFlight
      // A key that an earlier payload may have been stored under is kept, so that the server can tell.
      ($0.hasPayload, $0.hasKey) = (true, true)
      $0.sendCount += 1
    }
    return OutboxTransition(next, [.clearProblem, .setRecordStatus(.syncing)])
  }

  /// Sends the same payload again under the same key.
  private func released() -> OutboxTransition {
    OutboxTransition(with { $0.state = .sealed }, [.setRecordStatus(.pending)])
  }

  /// A payload that never left the device becomes pending again. Sealed, it could be sent before an operation that
  /// only the next payload needs. A deletion stays sealed, because its dependents were stored when it was queued.
  private func takenBack(_ isRecordDeleted: Bool) -> OutboxTransition {
    guard sendCount <= 1, kind != .delete, !isRecordDeleted else {
      let next = with {
        $0.state = .sealed
        $0.sendCount = max(sendCount - 1, 0)
      }
      return OutboxTransition(next, [.setRecordStatus(.pending)])
    }
    var transition = reopening()
    transition.effects.append(.forgetAttempt)
    return transition
  }

  // MARK: Responses

  private func acknowledging() -> OutboxTransition {
    let next = with {
      $0.state = .acknowledged
      ($0.hasPayload, $0.isFollowed, $0.isScheduled) = (false, false, false)
    }
    return OutboxTransition(next, [.clearProblem])
  }

  /// The rejected payload is dropped, so that the operation includes the edits that followed.
  private func rejecting(mayBeStored: Bool, isRecordDeleted: Bool) -> OutboxTransition {
    var next = with {
      $0.state = .failed
      ($0.hasPayload, $0.isFollowed, $0.isScheduled) = (false, false, false)
      $0.retryCount = max(retryCount, 1)
    }
    if !mayBeStored { (next.hasKey, next.sendCount) = (false, 0) }
    // The server never had the record, and the user deleted it.
    if isRecordDeleted, kind == .create, !mayBeStored { return OutboxTransition(next, [.absorbNext, .remove]) }
    return OutboxTransition(next, [.absorbNext, .storeProblem, .setRecordStatus(.failed)])
  }

  private func failingAttempt() -> OutboxTransition {
    guard retryCount < maxRetries else { return failing(retryCount: max(retryCount, 1)) }
    let next = with {
      $0.state = .sealed
      $0.retryCount += 1
      $0.isScheduled = true
    }
    return OutboxTransition(next, [.storeProblem, .delay(.retry(after: retryCount)), .setRecordStatus(.pending)])
  }

  private func throttling() -> OutboxTransition {
    let next = with {
      $0.state = .sealed
      $0.isScheduled = true
    }
    return OutboxTransition(next, [.delay(.throttled), .setRecordStatus(.pending)])
  }

  /// The next payload is built from the version that the device knows by then. A server that never accepts it makes the
  /// operation fail.
  private func resealing() -> OutboxTransition {
    guard retryCount < maxRetries else { return failing(retryCount: max(retryCount, 1)) }
    var transition = reopening()
    transition.operation.retryCount = retryCount + 1
    return transition
  }

  /// An operation that edits follow keeps its payload, because the following operation builds on it.
  private func returning() -> OutboxTransition {
    if isFollowed { return released() }
    let next = with {
      $0.state = .pending
      ($0.hasPayload, $0.hasKey) = (false, false)
    }
    return OutboxTransition(next, [.setRecordStatus(.pending)])
  }

  private func conflicting() -> OutboxTransition {
    let next = with {
      $0.state = .conflicted
      ($0.hasPayload, $0.hasKey, $0.isFollowed, $0.isScheduled) = (false, false, false, false)
      $0.sendCount = 0
    }
    return OutboxTransition(next, [.absorbNext, .setRecordStatus(.conflict)])
  }

  private func failing(retryCount: Int) -> OutboxTransition {
    let next = with {
      $0.state = .failed
      $0.isScheduled = false
      $0.retryCount = retryCount
    }
    return OutboxTransition(next, [.storeProblem, .setRecordStatus(.failed)])
  }

  // MARK: Changes on the device

  private func reopening() -> OutboxTransition {
    let next = with {
      $0.state = .pending
      ($0.hasPayload, $0.hasKey, $0.isFollowed) = (false, false, false)
      $0.sendCount = 0
      if state == .failed { $0.retryCount = 0 }
    }
    let effects: [OutboxTransition.Effect] = [.absorbNext, .setRecordStatus(.pending)]
    return OutboxTransition(next, state == .failed ? [.clearProblem] + effects : effects)
  }

  /// A failed operation that kept its payload sends it again under the same key.
  private func retrying() -> OutboxTransition {
    let next = with {
      $0.state = hasPayload ? .sealed : .pending
      $0.isScheduled = false
      $0.retryCount = 0
    }
    return OutboxTransition(next, [.clearProblem, .setRecordStatus(.pending)])
  }

  private func with(_ change: (inout OutboxOperation) -> Void) -> OutboxOperation {
    var copy = self
    change(&copy)
    return copy
  }
}
