import HTTPClient
import VaultStore
import SyncModel

/// A part of a step, with at most one request and one transaction.
enum RoundTask: Equatable, Sendable {
  case identifying(IdentifyTask)
  case leaving(LeaveTask)
  case pulling(PullTask)
  case pushing(PushTask)
  case holding(HoldTask)
  case comparing(CompareTask)
  case applying(ApplyTask)
  case fetching(FetchTask)
  case ending(EndTask)

  /// The effects of a task.
  enum Action: Equatable {
    case ask(RemoteRequest)
    case run(StoreCommand)
    /// Both at once. Each result finishes the task.
    case askAndRun(RemoteRequest, StoreCommand)
    /// The task has no effect.
    case decide
  }

  /// The result of a task.
  enum Result: Sendable {
    case responded(RemoteResponse, RequestFacts)
    case stored(StoreResult)
    case decided
  }

  /// Whether the task is performed after a cancellation as well, because operations would stay in flight otherwise.
  var survivesCancellation: Bool {
    switch self {
    case .pushing(.choose): false
    case .pushing, .ending: true
    case .identifying, .leaving, .pulling, .holding, .comparing, .applying, .fetching: false
    }
  }
}

/// Identifies the server, and follows its active projects.
enum IdentifyTask: Equatable, Sendable {
  case account
  case identify(AccountInfo, RequestFacts)
  /// Tries the versions of the inbox again.
  case admitAgain(from: InboxCursor)
  case readActiveProjects
  case projectDigests(known: String)
  case projectBuckets([String])
  case listProjects(mark: String)
  case projectRecords([String])
  case followProjects(mark: String)
  case end
}

/// Removes the records of projects that leave the device, in transactions of a limited length.
enum LeaveTask: Equatable, Sendable {
  /// Reads the records. Repeated until a pass removes none.
  case begin(LeavingCause)
  case forgetVersions([RecordIdentity])
  case remove([LocalIdentity], LeavingCause, since: Int64)
  case endPass(LeavingCause, LeavingPlan)
  case end(LeavingCause, isDone: Bool)
}

/// Fetches and applies one page, and the records that it references.
enum PullTask: Equatable, Sendable {
  case position(limit: Int)
  case page(cursor: String?, scopes: [String], limit: Int)
  case takePage(ChangesPage, cursor: String?, RequestFacts)
  case applyParents
  case applyPage(ChangesPage, RequestFacts)
  case endPull
  case endPage(count: Int, remaining: Int64?, hasMore: Bool)
  case inboxParents(after: String)
  case inboxRecords(entityType: String, [String])
}

/// Sends one batch.
enum PushTask: Equatable, Sendable {
  case choose
  /// Sends the batch and prefetches the next one.
  case send
  case settle
  case acknowledge
  case reject(PushOperation, ServerProblem)
  case release([String], wasSent: Bool)
  case drawDevice
  case end(StepResult)
}

/// Counts the deletions of a comparison before it changes anything.
enum HoldTask: Equatable, Sendable {
  case begin
  case entityDigests(scopes: [String], epoch: String?, cursor: String?, hasLost: Bool)
  /// Leaves the projects that the server does not show to the user any more.
  case noteMemberProjects
  case entity(String)
  case buckets(String, ours: [String: DigestSummary])
  /// `theirs` is `nil` if the server has no records.
  case records(String, ours: [String: DigestSummary], theirs: BucketDigests?)
  case bucketRecords(String, [String])
  case endEntity(String)
  case decide
  case candidates(String, [String])
  case countDeletable(String, [String])
  case holdOrCompare(accepted: Int)
  case hold(HeldDeletions)
}

/// Compares all records with the server's by digests, in three levels (entities, buckets, records), and transfers only the
/// differences.
enum CompareTask: Equatable, Sendable {
  case emptyInbox
  case entity(String)
  case buckets(String, ours: [String: DigestSummary])
  /// `theirs` is `nil` if the server has no records.
  case records(String, ours: [String: DigestSummary], theirs: BucketDigests?)
  case bucketRecords(String, [String])
  case differences(String)
  case forgetExtraFields(String, [String])
  case align(String, [RecordDigest])
  case findOldEpoch(String, [String])
  case fetch(String, [String])
  /// Reads the versions of the inbox that the digests of the server may lack.
  case inbox(String, after: String)
  case lookUp(String, [String])
  case repair(String, RecordsResponse, count: Int)
  case reopenSealed
  case end
}

/// Parts that several steps share.
enum ApplyTask: Equatable, Sendable {
  /// Checks that a response belongs to the epoch of this device's versions.
  case checkEpoch(String)
  /// Looks for records that changes reference and that the vault lacks.
  case findParents([RemoteRecord], withDeleted: Bool)
  case parentRecords(entityType: String, [String])
  case endWave(withDeleted: Bool)
  case apply([RemoteRecord])
  case admit([String])
}

/// Fetches records that the vault lacks, and the records that they reference.
enum FetchTask: Equatable, Sendable {
  case account(entityType: String, uuids: [String])
  case requireHistory(AccountInfo)
  case records(entityType: String, [String])
  case findParents
  case end
}

/// Begins and ends the round.
enum EndTask: Equatable, Sendable {
  case beginRun
  case endRun
  case tidy
  case close
}
