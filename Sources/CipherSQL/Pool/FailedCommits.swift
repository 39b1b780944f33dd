extension WriteConnection {
  /// Writes one page as it is, so that this transaction is one that leaves its trace in the write-ahead log.
  fileprivate func rewriteFirstPage() throws {
    // SQLite skips a row that is as it was, and never this number.
    let number = try pragmaText("PRAGMA user_version") ?? "0"
    try pragma("PRAGMA user_version = \(number)")
  }
}

extension Database {
  /// Makes sure that nothing comes back of a commit that has failed, here or in another process.
  ///
  /// A commit whose pages reached the write-ahead log and not the disk fails and is rolled back, and yet its pages stand
  /// in the log: nobody who has the file open sees them, and whoever opens it after all others have gone takes them for
  /// committed. The next commit writes over them. This is one; call it before something outside of the database goes
  /// because no row names it.
  /// - Throws: ``SQLError`` when the disk fails: what has failed before may still come back.
  @available(*, noasync, message: "use a thread of your own in asynchronous code")
  public func flushFailedCommits() throws {
    try write { try $0.rewriteFirstPage() }
  }

  /// The same without blocking the caller.
  public func flushFailedCommits() async throws {
    try await write { try $0.rewriteFirstPage() }
  }
}
