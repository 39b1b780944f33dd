import CSQLCipher

/// A text of several statements, such as a file, whose statements run one by one.
struct Script {
  /// One statement of the text and its position.
  struct Part {
    /// Its first word in upper case, such as `CREATE`.
    let firstWord: String
    /// The line of its first word, counted from 1.
    let line: Int
  }

  /// A failure and the line of the text at which SQLite detected it.
  struct Failure: Error {
    let line: Int
    let error: SQLError
  }

  let text: [UInt8]

  init(_ text: String) { self.text = Array(text.utf8) }

  /// Runs all statements. Ignores returned rows.
  /// - Parameter willRun: receives each statement before it is prepared. It may refuse the statement by throwing an
  ///   ``SQLError``.
  /// - Throws: ``Failure``
  func run(on connection: Connection, willRun: (Part) throws(SQLError) -> Void) throws(Failure) {
    var start = 0
    // Counted on from the statement before: files of a schema have hundreds of statements.
    var (counted, line) = (0, 1)
    while start < text.count {
      guard let first = SQLText.firstWord(of: text, from: start) else { return }
      line += newlines(from: counted, to: first.position)
      counted = first.position
      do throws(SQLError) {
        try willRun(Part(firstWord: first.word, line: line))
      } catch {
        throw Failure(line: line, error: error)
      }
      var statement: OpaquePointer?
      let (result, end) = prepare(from: start, on: connection, &statement)
      guard result == SQLITE_OK, let statement else {
        let error = failure(result, on: connection)
        throw Failure(line: error.offset.map { 1 + newlines(from: 0, to: start + $0) } ?? line, error: error)
      }
      defer { sqlite3_finalize(statement) }
      do throws(SQLError) {
        try step(statement, on: connection)
      } catch {
        throw Failure(line: line, error: error)
      }
      start = end
    }
  }

  private func step(_ statement: OpaquePointer, on connection: Connection) throws(SQLError) {
    while true {
      try connection.checkCancellation()
      let result = sqlite3_step(statement)
      if result == SQLITE_DONE { return }
      guard result == SQLITE_ROW else { throw failure(result, on: connection) }
    }
  }

  private func failure(_ result: Int32, on connection: Connection) -> SQLError {
    connection.authorizer.refusalError(result: result, sql: nil) ?? SQLError.last(connection.handle, result: result)
  }

  private func prepare(
    from start: Int, on connection: Connection, _ statement: inout OpaquePointer?
  ) -> (result: Int32, end: Int) {
    text.withUnsafeBytes { bytes in
      let base = bytes.bindMemory(to: CChar.self)
      var tail: UnsafePointer<CChar>?
      let begin = base.baseAddress.map { $0 + start }
      let result = sqlite3_prepare_v2(
        connection.handle, begin, Int32(clamping: text.count - start), &statement, &tail)
      let consumed = tail.flatMap { tail in begin.map { tail - $0 } } ?? text.count - start
      return (result, start + consumed)
    }
  }

  private func newlines(from start: Int, to end: Int) -> Int {
    text[start..<min(end, text.count)].count { $0 == 0x0a }
  }
}
