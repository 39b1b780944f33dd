import FileTransfers
import HTTPClient
import VaultStore
import SyncModel

/// The results of a sync round.
public struct SyncReport: Equatable, Sendable {
  /// Operations that the server stored, including merged operations.
  public var pushed = 0
  /// Operations of ``pushed`` that were merged.
  public var merged = 0
  /// Conflicts that were found.
  public var conflicts = 0
  /// Operations that are not sent again automatically.
  public var failed = 0
  /// Operations that are tried again later.
  public var delayed = 0
  /// Records of the server that were new or changed here.
  public var pulled = 0
  /// Records of the server that cannot be stored yet and are kept.
  public var kept = 0
  /// The records that a comparison added, removed or put into conflict.
  public var repaired = 0
  /// Attachments that the server stored, including thumbnails.
  public var filesSent = 0
  /// Photos and files that were downloaded, including thumbnails.
  public var filesFetched = 0
  /// Attachments whose transfer failed. They are retried automatically, with growing delays.
  public var filesFailed = 0
  /// Whether all records were compared with the server's.
  public var hasCompared = false
  /// Records that were removed because their project is no longer followed.
  public var left = 0
  /// Records of such projects that stay because of unsent changes.
  public var heldBack = 0
  /// The records of projects of which the user is no longer a member.
  public var lost = LostRecords()
  /// The records that the server has, after its operator revoked this device.
  public var revoked = LostRecords()
  /// Lists of a REST API that could not be fetched completely, each with its problem.
  public private(set) var lists: [FetchedList] = []
  /// The bytes of the request bodies.
  public var bytesSent = 0
  /// The bytes of the response bodies.
  public var bytesReceived = 0
  /// Deletions of a comparison that a user must accept first. In this case nothing was deleted.
  public var heldDeletions: HeldDeletions?
  /// The outcome of the round.
  public var outcome = RoundOutcome.done
  /// The reason why a round was incomplete, and the remedy.
  public var failure: RemoteFailure?

  /// Creates an empty report.
  public init() {}

  /// Whether any record changed, on this device or on the server.
  public var hasDone: Bool {
    pushed + pulled + repaired + left + lost.removed + revoked.removed + conflicts + failed + filesSent + filesFetched
      + filesFailed > 0
  }

  /// Adds the results of another round and adopts its outcome.
  public mutating func add(_ other: SyncReport) {
    pushed += other.pushed
    merged += other.merged
    conflicts += other.conflicts
    failed += other.failed
    delayed += other.delayed
    pulled += other.pulled
    kept += other.kept
    repaired += other.repaired
    filesSent += other.filesSent
    filesFetched += other.filesFetched
    filesFailed += other.filesFailed
    hasCompared = hasCompared || other.hasCompared
    left += other.left
    heldBack += other.heldBack
    lost.removed += other.lost.removed
    (lost.kept, lost.followed) = (other.lost.kept, other.lost.followed)
    revoked.removed += other.revoked.removed
    revoked.kept = other.revoked.kept
    lists.removeAll { list in other.lists.contains { $0.entityType == list.entityType } }
    lists += other.lists
    bytesSent += other.bytesSent
    bytesReceived += other.bytesReceived
    heldDeletions = other.heldDeletions
    (outcome, failure) = (other.outcome, other.failure)
  }

  /// Stores the result of fetching a list. A later fetch of the same list replaces it.
  mutating func note(_ list: FetchedList) {
    lists.removeAll { $0.entityType == list.entityType }
    if list.problem != nil { lists.append(list) }
  }

  mutating func add(_ counts: PushCounts) {
    pushed += counts.pushed
    merged += counts.merged
    conflicts += counts.conflicts
    failed += counts.failed
    delayed += counts.delayed
  }

  mutating func add(_ counts: ApplyCounts) {
    pulled += counts.applied
    conflicts += counts.conflicts
    kept += counts.kept
  }
}

/// The records of projects of which the user is no longer a member, or of a revoked device. The device removes them without a question.
public struct LostRecords: Equatable, Sendable {
  /// The number of removed records.
  public var removed = 0
  /// The records that stay, by entity and reason.
  public var kept: [KeptRecords] = []
  /// The UUIDs of the lost projects that the device follows. It keeps following them.
  public var followed: [String] = []

  /// Creates the result for a user who has lost no project.
  public init() {}
}

/// Events of sync for a user interface.
public enum SyncEvent: Equatable, Sendable {
  /// New operations wait.
  case queued
  /// A round has begun.
  case syncing
  /// Records were pulled. The second number is the rest, if the server names it.
  case pulled(count: Int, remaining: Int64?)
  /// The server responded to operations.
  case pushed(count: Int)
  /// Conflicts wait for the user.
  case conflict(count: Int)
  /// Operations failed and wait for the user.
  case failed(count: Int)
  /// The way to the server has changed.
  case network(NetworkState)
  /// A part of a photo or file was sent or has come.
  case file(FileProgress)
  /// A photo or file is where it was to go; thumbnails too.
  case fileMoved(FileProgress)
  /// Photos and files were transferred outside of a round; the counts of records are 0.
  case filesMoved(SyncReport)
  /// A round ended, with the numbers of its records and operations.
  case synced(SyncReport)
}
