import HTTPClient
import SyncModel
import VaultStore

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

/// The output of a ``Round``. One event ends each request, transaction and wait. At most one of each kind is
/// outstanding.
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
  /// One digest for each record of some buckets.
  case recordDigests(entityType: String, buckets: [String], projects: [String])
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

/// A transaction of the vault that a round needs, with all its input. ``StoreExecutor`` performs it.
package enum StoreCommand: Equatable, Sendable {
  /// Reads without changes.
  case read(StoreQuery)

  // MARK: The round

  /// Stores the beginning of a round in the history.
  case beginRun(cause: Schedule.Cause)
  /// Stores the results of a round, and requests up to `absentFiles` files again that the server lacked.
  case endRun(Int64, SyncTransaction.RunResult, absentFiles: Int)
  /// Removes some old history and some deleted records.
  case tidy

  // MARK: Identifying

  /// Compares the identity of the server with the stored one.
  case identify(AccountInfo, RequestFacts)
  /// Checks that versions of the server can be stored without a sync round.
  case requireHistory(AccountInfo)
  /// Follows the active projects.
  case follow(active: [String], mark: String)
  /// Tries inbox versions again.
  case admitAgain(from: InboxCursor, limit: Int)
  /// Applies inbox versions that wait for records that arrived.
  case admit([String])

  // MARK: Leaving projects

  /// Removes some records whose project leaves the device.
  case leave([LocalIdentity], LeavingCause, since: Int64)
  /// Removes versions from the inbox whose project leaves the device.
  case forgetVersions([RecordIdentity])
  /// Stores that the records have left as far as they can.
  case endLeaving(LeavingCause, isDone: Bool)
  /// Stores which projects the user has lost; `nil` if the server shows all of them.
  case noteMemberProjects(Set<String>?, isNewEpoch: Bool)

  // MARK: Pulling

  /// Applies fetched records.
  case apply([RemoteRecord])
  /// Applies a page and stores its cursor.
  case applyPage(ChangesPage, RequestFacts)
  /// Ends a pull after its last page.
  case endPull

  // MARK: Pushing

  /// Chooses and seals the next batch.
  case chooseBatch(BatchSelection)
  /// Chooses and seals the batch after the batch in flight.
  case prefetchBatch(BatchSelection)
  /// Stores the results of a batch, and chooses the next one.
  case acknowledge(Acknowledgement)
  /// Stores that the server refused a request of one operation.
  case reject(PushOperation, ServerProblem, jitter: Double)
  /// Returns operations in flight to the outbox.
  case release([String], wasSent: Bool)
  /// Draws another device id.
  case drawDevice

  // MARK: Comparing

  /// Reads the followed projects, the epoch and the cursor.
  case beginComparison
  /// Stores that a comparison was held before it changed anything.
  case holdDeletions(Int)
  /// Reads the number of deletions that the user has accepted.
  case acceptedDeletions
  /// Counts the records without unsent changes.
  case countDeletable(String, [String])
  /// Reads the records whose versions belong to the old epoch.
  case recordsOfOldEpoch(String)
  /// Removes versions from the inbox that the comparison fetches again.
  case emptyInbox(limit: Int, isNewEpoch: Bool)
  /// Removes fields without a column that the server does not count.
  case forgetExtraFields(String, [String])
  /// Stores the server's versions of equal records.
  case align(String, [RecordDigest])
  /// Applies records that differ.
  case repair(String, RecordsResponse, isNewEpoch: Bool)
  /// Reopens some operations that were sealed in the old epoch.
  case reopenSealed(limit: Int)
  /// Stores the end of a comparison. `cursor` is `nil` if the device keeps its own.
  case endComparison(epoch: String, cursor: String?, skipsEntities: Bool = false)

  /// Whether the transaction is performed after a cancellation as well. Otherwise its effects would be lost: operations
  /// would stay in flight until the next round.
  package var survivesCancellation: Bool {
    switch self {
    case .endRun, .tidy, .acknowledge, .reject, .release, .drawDevice: true
    default: false
    }
  }
}

/// A read transaction of a round.
package enum StoreQuery: Equatable, Sendable {
  /// The state of the server's projects at the last choice of active projects.
  case activeProjects
  /// The cursor and the followed projects.
  case pullPosition
  /// The records of projects that leave the device.
  case leaving(LeavingCause)
  /// Whether the versions of the vault belong to an epoch.
  case isCurrent(epoch: String)
  /// The referenced records that the vault lacks.
  case missingParents([RemoteRecord], withDeleted: Bool)
  /// The records that versions of the inbox wait for.
  case parentsOfInbox(after: String, limit: Int)
  /// The records of an entity that only the inbox has.
  case recordsOfInbox(String, after: String, limit: Int)
  /// The digests of an entity.
  case digests(DigestQuery)
  /// The digests of the records in some buckets; also without fields that have no column.
  case recordDigests(DigestQuery, buckets: Set<String>, withPlain: Bool)
}

/// The result of a ``StoreCommand``.
package enum StoreResult: Sendable {
  case done
  case begun(run: Int64)
  case ended(nextDue: Int64?, isUntidy: Bool)
  case identity(ServerIdentity)
  case activeProjects(mark: String?)
  /// `hasLost`: whether records of projects are left that the user has lost.
  case position(cursor: String?, scopes: [String], hasLost: Bool = false)
  case leaving(LeavingPlan)
  /// The number of records that were removed.
  case left(Int)
  /// The projects that the user has lost.
  case lostProjects([String])
  /// Whether the epochs are equal.
  case epoch(isCurrent: Bool)
  case parents([RecordIdentity])
  /// Records that arrived let further inbox versions be applied.
  case applied(ApplyCounts, arrived: [String])
  case admittedAgain(ApplyCounts, arrived: [String], next: InboxCursor, hasMore: Bool)
  case choice(BatchChoice)
  case prefetched(PreparedBatch?)
  case acknowledged(PushCounts, sawOthers: Bool, next: BatchChoice)
  /// The response belongs to another epoch, so nothing was stored.
  case otherEpoch
  case rejected(PushCounts)
  case comparison(scopes: [String], epoch: String?, cursor: String?, hasLost: Bool = false)
  case digests(whole: DigestSummary, buckets: [String: DigestSummary])
  /// `plain` leaves out fields without a column.
  case recordDigests([RecordDigest], plain: [RecordDigest])
  case count(Int)
  case uuids([String])
  case repaired(ApplyCounts, RepairCounts, arrived: [String])
  case more(Bool)
}

/// Which operations the next batch may contain.
package struct BatchSelection: Equatable, Sendable {
  package var limit: Int
  package var order: BatchOrder

  package init(limit: Int, order: BatchOrder) { (self.limit, self.order) = (limit, order) }
}

/// The result of choosing a batch.
package struct BatchChoice: Equatable, Sendable {
  /// The next request; `nil` if no operation is ready.
  package var request: PushRequest?
  /// Operations that failed because one of their values cannot be sent.
  package var failed = 0
  /// Whether another choice may find operations.
  package var isUnfinished = false
  /// The batch after this one, if it was prefetched in the same transaction.
  package var prefetched: PreparedBatch?

  package init(request: PushRequest? = nil, failed: Int = 0, isUnfinished: Bool = false) {
    (self.request, self.failed, self.isUnfinished) = (request, failed, isUnfinished)
  }
}

/// The response to a batch, with everything that decides the next one.
package struct Acknowledgement: Equatable, Sendable {
  package var request: PushRequest
  package var response: PushResponse
  package var facts: RequestFacts
  /// One random number for each operation, from 0 to 1.
  package var jitters: [Double]
  /// Whether restoring a record restores its dependents at the server.
  package var restoresDependents: Bool
  /// Selects the next batch; `nil` if the round sends nothing.
  package var next: BatchSelection?
  /// Selects the batch after the next one, which is prefetched in the same transaction; `nil` if none is.
  package var following: BatchSelection?
  /// The batch that was chosen while the server worked.
  package var prefetched: PreparedBatch?
}

/// The records that a digest covers.
package struct DigestQuery: Equatable, Sendable {
  package var entityType: String
  /// The columns that digests may leave out, by entity, under the names of the server.
  package var columns: [String: DigestColumns]
  /// The followed projects; empty for all records.
  package var projects: [String]
  /// Projects that the server no longer shows to the user.
  package var excluded: [String] = []
}
