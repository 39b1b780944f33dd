import CipherSQL
import SyncModel

extension SyncTransaction {
  /// Stores the beginning of a round, and ends rounds whose process died.
  package func beginRun(cause: String) throws -> Int64 {
    try recover()
    try connection.execute("INSERT INTO SyncRun (startedAt, cause) VALUES (\(WireTime.text(now)), \(cause))")
    return connection.lastInsertedRowID
  }

  /// Stores the long-running step of a round, so that a trace shows the cause of an endless round.
  /// - Parameter step: `nil` when the round continues.
  package func noteSlow(step: String?) throws {
    if try SyncSettings.value(.slowStep, in: connection) == nil, step == nil { return }
    try SyncSettings.set(.slowStep, step.map { "\($0) since \(WireTime.text(now))" }, in: connection)
  }

  /// The results of a round for the history.
  package struct RunResult: Equatable, Sendable {
    package var pushed = 0, merged = 0, conflicts = 0, failed = 0, pulled = 0, repaired = 0
    package var bytesSent = 0, bytesReceived = 0
    /// `done`, `offline`, `paused`, `failed` or `cancelled`.
    package var outcome = "done"
    package var errorMessage: String?

    package init() {}
  }

  /// Stores the results of a round and removes some old history and deleted records.
  /// - Returns: the earliest scheduled time of an operation, and whether ``tidy()`` has more to remove.
  package func endRun(_ run: Int64, _ result: RunResult) throws -> (due: Int64?, isUntidy: Bool) {
    try connection.execute(
      """
      UPDATE SyncRun SET endedAt = \(WireTime.text(now)), pushed = \(result.pushed), merged = \(result.merged),
        conflicts = \(result.conflicts), failed = \(result.failed), pulled = \(result.pulled),
        repaired = \(result.repaired), bytesSent = \(result.bytesSent), bytesReceived = \(result.bytesReceived),
        outcome = \(result.outcome), errorMessage = \(result.errorMessage.sqlArgument)
      WHERE runId = \(run)
      """)
    try noteSlow(step: nil)
    var isUntidy = false
    switch result.outcome {
    case "done":
      try SyncSettings.set(.lastSync, WireTime.text(now), in: connection)
      try SyncSettings.set(.pause, nil, in: connection)
      try changes.forgetFollowersOfGone()
      isUntidy = try tidy()
    case "paused": try SyncSettings.set(.pause, result.errorMessage, in: connection)
    default: break
    }
    return (try outbox.nextDue(), isUntidy)
  }

  /// Removes some old history, and some records whose deletion the server acknowledged.
  /// - Returns: whether more rows may remain.
  package func tidy() throws -> Bool {
    let limit = 250
    let day: Int64 = 86_400_000
    let forgotten = try outbox.removeAcknowledged(before: now - 7 * day, limit: limit)
    try connection.execute("DELETE FROM SyncRun WHERE endedAt < \(WireTime.text(now - 30 * day))")
    let removed = try purgeDeleted(limit: limit)
    return forgotten == limit || removed == limit
  }
}
