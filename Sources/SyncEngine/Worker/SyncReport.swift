import OfflineStore

/// What a round did.
public struct SyncReport: Equatable, Sendable {
  /// Operations that the server has stored, and those of them that it merged with changes of others.
  public var pushed = 0
  /// Operations of ``pushed`` that were merged.
  public var merged = 0
  /// Conflicts that were found.
  public var conflicts = 0
  /// Operations that are not tried again by themselves.
  public var failed = 0
  /// Operations that are tried again later.
  public var delayed = 0
  /// Records of the server that were new or changed here.
  public var pulled = 0
  /// Records of the server that cannot be stored yet and are kept.
  public var kept = 0
  /// Records that a comparison brought, took away or contested.
  public var repaired = 0
  /// Whether all records were compared with the server's.
  public var hasCompared = false
  /// Records that went because their project is not followed any more, and those that stay with unsent changes.
  public var left = 0
  /// Records of projects that are not followed any more and that stay because of unsent changes.
  public var heldBack = 0
  /// Bodies of requests and answers as they were sent and received.
  public var bytesSent = 0
  /// See ``bytesSent``.
  public var bytesReceived = 0
  /// How it ended.
  public var outcome = RoundOutcome.done
  /// What stood in the way, and what to do next.
  public var failure: RemoteFailure?

  /// A round that has done nothing yet.
  public init() {}

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

/// What happens while sync works, for a screen that shows it.
public enum SyncEvent: Equatable, Sendable {
  /// Operations wait that were not there before.
  case queued
  /// A round has begun.
  case syncing
  /// Records have come; how many are left, where the server says so.
  case pulled(count: Int, remaining: Int64?)
  /// Operations were answered.
  case pushed(count: Int)
  /// Conflicts wait for a person.
  case conflict(count: Int)
  /// Operations failed and wait for a person.
  case failed(count: Int)
  /// The way to the server has changed.
  case network(NetworkState)
  /// A round has ended; with how many records and operations it dealt.
  case synced(SyncReport)
}
