import HTTPClient
import SyncModel

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

/// A request of a round to the remote.
package enum RemoteRequest: Equatable, Sendable {
  /// The account of the token, and the schemas of the server.
  case account
  /// A page of changes after a cursor; see ``Remote/changes(cursor:limit:projects:)``.
  case changes(cursor: String?, limit: Int, projects: [String])
  /// A batch of operations.
  case push(PushRequest)
  /// One digest for each entity.
  case entityDigests(projects: [String])
  /// One digest for each bucket of an entity.
  case bucketDigests(entityType: String, projects: [String])
  /// One digest for each record of a bucket.
  case recordDigests(entityType: String, bucket: String, projects: [String])
  /// Single records.
  case records(entityType: String, uuids: [String], epoch: String?)
}

/// The response to a ``RemoteRequest``.
package enum RemoteResponse: Equatable, Sendable {
  case account(AccountInfo)
  case changes(ChangesPage)
  case pushed(PushResponse)
  case entityDigests(EntityDigests)
  case bucketDigests(BucketDigests)
  case recordDigests(RecordDigests)
  case records(RecordsResponse)
}

/// The facts about a request that a response does not contain.
package struct RequestFacts: Equatable, Sendable {
  /// The time before the request by this device's clock, in milliseconds since 1970.
  package var sentAt: Int64
  /// The time after the response by this device's clock.
  package var receivedAt: Int64
  /// The bytes of all bodies since the round began.
  package var traffic: TransferCounts

  package init(sentAt: Int64, receivedAt: Int64, traffic: TransferCounts = TransferCounts()) {
    (self.sentAt, self.receivedAt, self.traffic) = (sentAt, receivedAt, traffic)
  }
}
