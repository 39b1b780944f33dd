import CSQLCipher

extension Connection {
  /// Copies the whole database, page by page, into a new file under another key.
  ///
  /// The copy is a snapshot of the open transaction of this connection, or of a new one. It includes rowids,
  /// `user_version`, statistics and full-text indexes. When the call returns, the copy is complete and closed, and its
  /// content is on the disk. The caller makes its name durable.
  ///
  /// - Parameter progress: called with the number of copied pages and of all pages. It may throw to end the copy.
  /// - Throws: ``SQLError`` with `diskFull`, `cannotOpen`, `inputOutput` or `damaged`. The caller removes the
  ///   incomplete file in this case.
  public final func copyPages(
    to path: String, key: any EncryptionKey, progress: (_ done: Int, _ total: Int) throws -> Void = { _, _ in }
  ) throws {
    // The pages go through once, so that a large cache would only be memory.
    var configuration = Configuration()
    configuration.pageCacheBytes = 2 << 20
    let target = try Connection(path: path, key: key, configuration: configuration)
    // The file is not used before it is complete, so one sync at the end suffices and no journal is needed.
    try target.pragma("PRAGMA journal_mode = OFF")
    try target.pragma("PRAGMA synchronous = FULL")
    if isInTransaction { return try copy(to: target, progress) }
    try inSnapshot { _ in try copy(to: target, progress) }
  }

  fileprivate func copy(to target: Connection, _ progress: (Int, Int) throws -> Void) throws {
    guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
      throw SQLError.last(target.handle, result: sqlite3_errcode(target.handle))
    }
    var isFinished = false
    defer { if !isFinished { sqlite3_backup_finish(backup) } }
    var result = SQLITE_OK
    while result == SQLITE_OK {
      // A megabyte at a time, so that progress is seen and a cancellation is heard.
      result = sqlite3_backup_step(backup, 256)
      let total = Int(sqlite3_backup_pagecount(backup))
      if result == SQLITE_OK || result == SQLITE_DONE {
        try progress(total - Int(sqlite3_backup_remaining(backup)), total)
      }
    }
    isFinished = true
    let finished = sqlite3_backup_finish(backup)
    guard result == SQLITE_DONE, finished == SQLITE_OK else {
      throw SQLError.last(target.handle, result: result == SQLITE_DONE ? finished : result)
    }
  }
}

extension Database {
  /// Creates a database in memory with the content of another one, page by page, so that no statement has to run again.
  package static func inMemory(copying source: Database, configuration: Configuration) throws -> Database {
    let copy = try inMemory(configuration: configuration)
    try copy.withWriter { target in try source.withWriter { try $0.copy(to: target) { _, _ in } } }
    return copy
  }
}

extension WriteConnection {
  /// Opens a database in memory with the content of another one, for one user at a time.
  package static func inMemory(copying source: Database, configuration: Configuration) throws -> WriteConnection {
    let copy = try WriteConnection(path: nil, key: nil, configuration: configuration)
    try source.withWriter { try $0.copy(to: copy) { _, _ in } }
    return copy
  }
}
