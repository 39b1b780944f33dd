import CSQLCipher

extension WriteConnection {
  /// Brings the write-ahead log back into the database when it has grown.
  ///
  /// From 4 MiB on each commit copies what no reader still needs and waits for nobody, as SQLite does by itself.
  /// That alone cannot start the log anew while readers overlap without a gap, so that beyond the limit a commit
  /// waits up to a quarter of a second for the readers of old states; when one of them lasts longer, the next
  /// try comes when the log has grown by half.
  ///
  /// The commit behind which it runs stands in the log, so that no failure here may deny it: neither a cancellation nor
  /// a full or failing disk. The log is read until a later commit can copy it; a disk that goes on failing says so at
  /// the next write, and `checkpoint()` says it aloud.
  func checkpointIfDue(limit: Int) {
    let bytes = changes.logPages * 4096
    guard bytes >= 4 << 20 else {
      nextForcedCheckpoint = 0
      return
    }
    if bytes >= max(limit, nextForcedCheckpoint) {
      sqlite3_busy_timeout(handle, 250)
      defer { sqlite3_busy_timeout(handle, busyTimeoutMilliseconds) }
      let isDone = copyLog(SQLITE_CHECKPOINT_TRUNCATE) == SQLITE_OK
      nextForcedCheckpoint = isDone ? 0 : bytes + bytes / 2
    } else {
      _ = copyLog(SQLITE_CHECKPOINT_PASSIVE)
    }
  }

  /// Copies the whole write-ahead log into the database and empties it, waiting for readers of old states
  /// for as long as a write waits for another process.
  /// - Returns: false when readers or writers of other connections were in the way, or there was no space.
  /// - Throws: ``SQLError`` when the disk fails.
  @discardableResult
  public func checkpoint() throws -> Bool {
    let result = copyLog(SQLITE_CHECKPOINT_TRUNCATE)
    switch result & 0xff {
    case SQLITE_OK: return true
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL: return false
    default: throw SQLError.last(handle, result: result)
    }
  }

  private func copyLog(_ mode: Int32) -> Int32 {
    let result = sqlite3_wal_checkpoint_v2(handle, "main", mode, nil, nil)
    if result == SQLITE_OK, mode == SQLITE_CHECKPOINT_TRUNCATE { changes.forgetLog() }
    return result
  }
}
