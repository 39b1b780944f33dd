import HTTPClient

/// The input of a ``Round``: the result of an effect, or a cancellation.
package enum RoundEvent: Sendable {
  /// The remote responded to the request.
  case responded(RemoteResponse, RequestFacts)
  /// The request failed.
  case requestFailed(RemoteFailure, RequestFacts)
  /// The transaction was committed.
  case stored(StoreResult)
  /// The vault could not be read or written, for example because the disk is full.
  case storeFailed(String)
  /// The transaction was rolled back because the round was cancelled.
  case storeCancelled
  /// The time of a wait has passed.
  case waited
  /// The user or the program cancelled the round.
  case cancelled
}

/// The output of a ``Round``. Requests, transactions and waits are answered by one event each; at most one of each kind
/// is outstanding.
package enum RoundEffect: Equatable, Sendable {
  /// Send a request to the remote.
  case send(RemoteRequest)
  /// Perform a transaction of the vault.
  case run(StoreCommand)
  /// Wait, then continue.
  case wait(seconds: Int)
  /// A step begins. Needs no event.
  case begin(RoundStep)
  /// Report progress. Needs no event.
  case tell(SyncEvent)
  /// The round has ended. No effect is outstanding.
  case end
}
