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

  /// The server has stored the effect, or there is nothing left to send.
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
  /// The user asked for a retry, or a migration changed the tables.
  case retried
  /// The server lost the record, so that it is sent again.
  case requeued
  /// A merge resolved the record's conflict.
  case conflictResolved
  /// The scheduled time has come.
  case due
}
