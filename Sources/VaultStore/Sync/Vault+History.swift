import CipherSQL
import SyncModel

/// A sync round in the history.
public struct SyncRunEntry: Sendable, Hashable {
  /// The number of the round.
  public let runId: Int64
  /// The begin of the round, in ISO 8601.
  public let startedAt: String
  /// The end of the round; `nil` while it runs, and after its process died.
  public let endedAt: String?
  /// `manual`, `local_write`, `remote_change`, `network`, `timer`, `resume` or `nudge`.
  public let cause: String
  /// The number of operations that the server stored.
  public let pushed: Int
  /// The number of these operations that the server merged.
  public let merged: Int
  /// The number of new conflicts.
  public let conflicts: Int
  /// The number of operations that are not sent again automatically.
  public let failed: Int
  /// The number of versions from the server that were inserted or changed records.
  public let pulled: Int
  /// The number of records that a comparison fetched, removed or marked as conflicted.
  public let repaired: Int
  /// The bytes of the request bodies.
  public let bytesSent: Int
  /// The bytes of the response bodies.
  public let bytesReceived: Int
  /// `running`, `done`, `offline`, `paused`, `failed`, `cancelled` or `interrupted`.
  public let outcome: String
  /// The reason of a round that did not end well.
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
  /// Returns the newest sync rounds, the newest first. The history keeps 30 days.
  public func history(limit: Int) throws -> [SyncRunEntry] {
    try database.read { try SyncRunEntry.newest(limit, in: $0) }
  }

  /// Requests a round from the worker of another process.
  /// - Parameter comparingAll: whether that round compares all records.
  /// - Returns: the newest round so far. The requested round has a higher number.
  package func requestRound(comparingAll: Bool) async throws -> Int64 {
    try await database.write { connection in
      if comparingAll { try SyncSettings.compareNext("wanted", in: connection) }
      try SyncSettings.requestRound(in: connection)
      return try connection.fetchOne("SELECT coalesce(max(runId), 0) FROM SyncRun", as: Int64.self) ?? 0
    }
  }

  /// Returns the first round after another one, after it has ended.
  package func endedRun(after run: Int64) async throws -> SyncRunEntry? {
    try await database.read { connection in
      try SyncRunEntry.newest(100, after: run, in: connection).last { $0.endedAt != nil }
    }
  }
}
