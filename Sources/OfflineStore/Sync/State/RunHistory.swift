import CipherSQL
import SyncModel

extension SyncTransaction {
  /// Writes down that a round begins. Rounds of a worker that died are ended.
  package func beginRun(cause: String) throws -> Int64 {
    try recover()
    try connection.execute("INSERT INTO SyncRun (startedAt, cause) VALUES (\(WireTime.text(now)), \(cause))")
    return connection.lastInsertedRowID
  }

  /// Writes down that a step of a round takes long, so that a trace tells what a round that does not end waits for.
  /// - Parameter step: nil when the round goes on.
  package func noteSlow(step: String?) throws {
    if try SyncSettings.value(.slowStep, in: connection) == nil, step == nil { return }
    try SyncSettings.set(.slowStep, step.map { "\($0) since \(WireTime.text(now))" }, in: connection)
  }

  /// What a round did, for the history.
  package struct RunResult: Sendable {
    package var pushed = 0, merged = 0, conflicts = 0, failed = 0, pulled = 0, repaired = 0
    package var bytesSent = 0, bytesReceived = 0
    /// done, offline, paused, failed or cancelled.
    package var outcome = "done"
    package var errorMessage: String?

    package init() {}
  }

  /// Writes down what a round did, and tidies up: old history goes, and records whose deletion the server has.
  /// - Returns: when the next operation becomes due that waits for its time, and whether ``tidy()`` has more to do.
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
      try forgetFollowersOfGone()
      isUntidy = try tidy()
    case "paused": try SyncSettings.set(.pause, result.errorMessage, in: connection)
    default: break
    }
    return (try nextDue(), isUntidy)
  }

  /// Removes some of the old history, and of the records whose deletion the server has.
  /// - Returns: whether there may be more.
  package func tidy() throws -> Bool {
    let limit = 250
    let forgotten = try forgetCompleted(before: now - 7 * 86_400_000, limit: limit)
    let removed = try purgeDeleted(limit: limit)
    return forgotten == limit || removed == limit
  }
}
