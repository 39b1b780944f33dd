import CSQLCipher

extension WriteConnection {
  /// Moves the write-ahead log into the database if the log has grown.
  ///
  /// From 4 MiB on, each commit copies the pages that no reader needs, without waiting, as SQLite does. This alone
  /// cannot restart the log while readers overlap without a gap. So beyond the limit a commit waits up to a quarter
  /// of a second for the readers of old states. If one of them lasts longer, the next attempt follows when the log
  /// has grown by half.
  ///
  /// The preceding commit is already in the log, so no failure here may fail the commit: neither a cancellation nor a
  /// full or failing disk. The log is read until a later commit can copy it. A disk that keeps failing fails the next
  /// write, and `checkpoint()` reports it.
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

  /// Copies the whole write-ahead log into the database and empties it. Waits for readers of old states up to the busy
  /// timeout.
  /// - Returns: `false` if readers or writers of other connections prevented it, or the disk had no space.
  /// - Throws: ``SQLError`` if the disk fails.
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
