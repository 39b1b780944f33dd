import CipherSQL
import SyncModel

/// A round of sync, as the history keeps it.
public struct SyncRunEntry: Sendable, Hashable {
  /// Counts up with each round.
  public let runId: Int64
  /// When it began, as text.
  public let startedAt: String
  /// When it ended; nil while it runs, and for one whose process died.
  public let endedAt: String?
  /// manual, local_write, remote_change, network, timer, resume or nudge.
  public let cause: String
  /// Operations that the server has stored.
  public let pushed: Int
  /// Those of them that it merged.
  public let merged: Int
  /// Conflicts that were found.
  public let conflicts: Int
  /// Operations that are not tried again by themselves.
  public let failed: Int
  /// Records of the server that were new or changed here.
  public let pulled: Int
  /// Records that a comparison brought, took away or contested.
  public let repaired: Int
  /// Bodies of requests.
  public let bytesSent: Int
  /// Bodies of answers.
  public let bytesReceived: Int
  /// running, done, offline, paused, failed, cancelled or interrupted.
  public let outcome: String
  /// What stood in the way.
  public let errorMessage: String?

  init(_ row: borrowing Row) throws {
    runId = try row.decode(at: 0)
    startedAt = try row.decode(at: 1)
    endedAt = try row.decode(at: 2)
    cause = try row.decode(at: 3)
    pushed = try row.decode(at: 4)
    merged = try row.decode(at: 5)
    conflicts = try row.decode(at: 6)
    failed = try row.decode(at: 7)
    pulled = try row.decode(at: 8)
    repaired = try row.decode(at: 9)
    bytesSent = try row.decode(at: 10)
    bytesReceived = try row.decode(at: 11)
    outcome = try row.decode(at: 12)
    errorMessage = try row.decode(at: 13)
  }

  static func newest(_ limit: Int, after run: Int64 = 0, in connection: Connection) throws -> [SyncRunEntry] {
    var entries: [SyncRunEntry] = []
    try connection.forEach(
      """
      SELECT runId, startedAt, endedAt, cause, pushed, merged, conflicts, failed, pulled, repaired, bytesSent,
        bytesReceived, outcome, errorMessage
      FROM SyncRun WHERE runId > \(run) ORDER BY runId DESC LIMIT \(limit)
      """
    ) { row in entries.append(try SyncRunEntry(row)) }
    return entries
  }
}

extension Vault {
  /// The rounds of sync, the newest first. They are kept for 30 days.
  public func history(limit: Int) throws -> [SyncRunEntry] {
    try database.read { try SyncRunEntry.newest(limit, in: $0) }
  }

  /// Asks the worker that runs in another process for a round.
  /// - Parameter comparingAll: whether that round compares all records.
  /// - Returns: the newest round so far: the one that was asked for comes after it.
  package func requestRound(comparingAll: Bool) async throws -> Int64 {
    try await database.write { connection in
      if comparingAll { try SyncSettings.compareNext("wanted", in: connection) }
      try SyncSettings.requestRound(in: connection)
      return try connection.fetchOne("SELECT coalesce(max(runId), 0) FROM SyncRun", as: Int64.self) ?? 0
    }
  }

  /// The first round after another one, once it has ended.
  package func endedRun(after run: Int64) async throws -> SyncRunEntry? {
    try await database.read { connection in
      try SyncRunEntry.newest(100, after: run, in: connection).last { $0.endedAt != nil }
    }
  }
}
