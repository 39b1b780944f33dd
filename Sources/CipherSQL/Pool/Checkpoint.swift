import CSQLCipher

extension WriteConnection {
  /// Brings the write-ahead log back into the database when it has grown.
  ///
  /// From 4 MiB on each commit copies what no reader still needs and waits for nobody, as SQLite does by itself.
  /// That alone cannot start the log anew while readers overlap without a gap, so that beyond the limit a commit
  /// waits up to a quarter of a second for the readers of old states; when one of them lasts longer, the next
  /// try comes when the log has grown by half.
  func checkpointIfDue(limit: Int) throws {
    let bytes = changes.logPages * 4096
    guard bytes >= 4 << 20 else {
      nextForcedCheckpoint = 0
      return
    }
    if bytes >= max(limit, nextForcedCheckpoint) {
      let isDone = try checkpoint(SQLITE_CHECKPOINT_TRUNCATE, waiting: 250, isAfterCommit: true)
      nextForcedCheckpoint = isDone ? 0 : bytes + bytes / 2
    } else {
      _ = try checkpoint(SQLITE_CHECKPOINT_PASSIVE, waiting: nil, isAfterCommit: true)
    }
  }

  /// Copies the whole write-ahead log into the database and empties it, waiting for readers of old states
  /// for as long as a write waits for another process.
  /// - Returns: false when readers or writers of other connections were in the way.
  @discardableResult
  public func checkpoint() throws -> Bool {
    try checkpoint(SQLITE_CHECKPOINT_TRUNCATE, waiting: nil, isAfterCommit: false)
  }

  private func checkpoint(_ mode: Int32, waiting milliseconds: Int32?, isAfterCommit: Bool) throws -> Bool {
    if let milliseconds { sqlite3_busy_timeout(handle, milliseconds) }
    defer { if milliseconds != nil { sqlite3_busy_timeout(handle, busyTimeoutMilliseconds) } }
    let result = sqlite3_wal_checkpoint_v2(handle, "main", mode, nil, nil)
    switch result & 0xff {
    case SQLITE_OK:
      if mode == SQLITE_CHECKPOINT_TRUNCATE { changes.forgetLog() }
      return true
    case SQLITE_BUSY, SQLITE_LOCKED:
      return false
    case SQLITE_INTERRUPT where isAfterCommit:
      // The call was cancelled when it had committed already, which it must not deny.
      return false
    case SQLITE_FULL:
      // The commit itself stands in the log; the space for its copy may be there at the next one.
      return false
    default:
      throw SQLError.last(handle, result: result)
    }
  }
}
