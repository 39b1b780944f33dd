import HTTPClient
import SyncModel

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
