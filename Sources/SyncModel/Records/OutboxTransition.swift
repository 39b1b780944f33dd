/// The result of an event: the operation afterwards, and the effects outside of it.
package struct OutboxTransition: Hashable, Sendable {
  /// A change outside of the operation's state, in the order in which it is performed.
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

  /// How long a scheduled operation waits.
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
