import CSQLCipher

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension Database {
  /// Runs a closure during which no process changes the bytes of the database file. They are a snapshot of the whole
  /// database. Writes continue in the write-ahead log.
  ///
  /// A checkpoint first moves the log into the file. Then a read transaction begins that does not need the log.
  /// Meanwhile no checkpoint may write to the file (https://sqlite.org/walformat.html, WAL_READ_LOCK(0)), so the log
  /// grows until the closure ends.
  /// - Parameter body: receives the path of the file and the number of valid bytes.
  /// - Throws: the errors of `body`; ``SQLError`` with `busy` if a long read keeps the log in use.
  @available(*, noasync, message: "call this from a dedicated thread in asynchronous code")
  public func withUnchangingFile<Result>(_ body: (_ path: String, _ bytes: Int) throws -> Result) throws -> Result {
    // Another process may commit between the checkpoint and the read; ours cannot, because the writer is held.
    for _ in 0..<20 {
      guard let (reader, path) = try holdFile() else { continue }
      defer { reader.rollBack() }
      let bytes = try reader.fetchOne(
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", as: Int.self)
      return try body(path, bytes ?? 0)
    }
    throw Self.logInUse
  }

  /// Returns a connection with a read transaction that does not need the log, and the path of its file; `nil` to try
  /// again.
  private func holdFile() throws -> (Connection, String)? {
    try withWriter { writer in
      let reader = try streamingReader()
      guard let path else { return nil }
      guard try writer.checkpoint() else { throw Self.logInUse }
      try reader.control("BEGIN DEFERRED")
      _ = try reader.pragmaText("SELECT count(*) FROM sqlite_schema")
      return Self.isEmpty(path + "-wal") ? (reader, path) : nil
    }
  }

  private static let logInUse = SQLError(
    .busy, "a long-running read keeps the write-ahead log in use", hint: "try again when the read has ended")

  private static func isEmpty(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 || status.st_size == 0
  }
}
