extension WriteConnection {
  /// Writes one unchanged page, so that this transaction adds a frame to the write-ahead log.
  fileprivate func rewriteFirstPage() throws {
    // SQLite skips a row that is as it was, and never this number.
    let number = try pragmaText("PRAGMA user_version") ?? "0"
    try pragma("PRAGMA user_version = \(number)")
  }
}

extension Database {
  /// Makes sure that no part of a failed commit reappears, in this process or another.
  ///
  /// If the pages of a commit reach the write-ahead log but not the disk, the commit fails and is rolled back. Its
  /// pages remain in the log. No process with the file open sees them, but a process that opens the file after all
  /// others have closed it treats them as committed. The next commit overwrites them. This function is such a commit.
  /// Call it before deleting a file outside the database because no row names it.
  /// - Throws: ``SQLError`` if the disk fails. The failed commit may still reappear in this case.
  @available(*, noasync, message: "call this from a dedicated thread in asynchronous code")
  public func flushFailedCommits() throws {
    try write { try $0.rewriteFirstPage() }
  }

  /// Makes sure that no part of a failed commit reappears, without blocking the caller.
  public func flushFailedCommits() async throws {
    try await write { try $0.rewriteFirstPage() }
  }
}
