import CSQLCipher

extension Connection {
  /// Opens a file that may be damaged, to read its intact parts. The file stays unchanged.
  ///
  /// SQLCipher refuses all work on a connection that has met a damaged page, so a new connection is opened after each
  /// failure. A truncated file, or tables whose definitions are partly lost, can still be opened. A damaged first
  /// page prevents it.
  /// - Throws: ``SQLError``
  public static func toDamagedFile(at path: String, key: any EncryptionKey) throws -> Connection {
    var configuration = Configuration()
    configuration.pageCacheBytes = 2 << 20
    configuration.isReadOnly = true
    configuration.isForDamagedFile = true
    return try Connection(path: path, key: key, configuration: configuration)
  }

  /// Prepares the connection for a damaged file. Must be called before the tables are accessed.
  final func prepareForDamage() throws {
    // This setting makes SQLite use the definitions that it could read, and accept a file that is shorter than its
    // header says.
    try pragma("PRAGMA writable_schema = ON")
    try pragma("PRAGMA query_only = ON")
    let result = csqlcipher_disable_checkpoint_on_close(handle)
    guard result == SQLITE_OK else { throw SQLError.last(handle, result: result) }
  }
}

/// The progress of a copy of rows.
public struct RowCopy: Sendable {
  /// The number of written rows.
  public internal(set) var rows = 0
  /// The number of rows that a rule of the target refused.
  public internal(set) var refused = 0
  /// The first column of the last row that could be read, if it is an integer.
  public internal(set) var last: Int64?
  /// The reason why reading ended before the last row.
  public internal(set) var failure: SQLError?
}

extension Connection {
  /// Writes the rows of a query into another database, value by value and byte by byte, until a row cannot be read.
  /// - Parameters:
  ///   - insert: has a parameter for each column of the query from `firstBound` on.
  /// - Throws: ``SQLError`` if the target cannot be written.
  public final func copyRows(
    of query: SQL, to target: WriteConnection, _ insert: String, firstBound: Int = 0
  ) throws -> RowCopy {
    var copy = RowCopy()
    try target.withStatement(insert) { try copyRows(query, $0, Int32(firstBound), &copy) }
    return copy
  }

  private func copyRows(_ query: SQL, _ writing: Statement, _ firstBound: Int32, _ copy: inout RowCopy) throws {
    do {
      try withStatement(query.text) { reading in
        try reading.bind(query.arguments)
        while let isRow = Self.next(reading, &copy), isRow {
          copy.last = sqlite3_column_int64(reading.handle, 0)
          try Self.write(reading, writing, firstBound, &copy)
        }
      }
    } catch let failure as WriteFailure {
      throw failure.error
    } catch let error as SQLError {
      // The query could not even begin.
      copy.failure = error
    }
  }

  /// Steps to the next row. Returns `nil` if it cannot be read.
  private static func next(_ statement: Statement, _ copy: inout RowCopy) -> Bool? {
    do throws(SQLError) {
      return try statement.step()
    } catch {
      copy.failure = error
      return nil
    }
  }

  private static func write(
    _ reading: Statement, _ writing: Statement, _ firstBound: Int32, _ copy: inout RowCopy
  ) throws {
    for column in firstBound..<reading.columnCount {
      let result = sqlite3_bind_value(
        writing.handle, column - firstBound + 1, sqlite3_column_value(reading.handle, column))
      guard result == SQLITE_OK else { throw WriteFailure(error: writing.failure(result)) }
    }
    defer { writing.reset() }
    do throws(SQLError) {
      try writing.run()
      copy.rows += 1
    } catch {
      guard error.code == .constraint || error.code == .typeMismatch else { throw WriteFailure(error: error) }
      copy.refused += 1
    }
  }
}

/// A failure of the target, to distinguish it from a failure of the source.
struct WriteFailure: Error {
  let error: SQLError
}

extension SQLError {
  /// Whether a page could not be read or fails its integrity check.
  public var isDamage: Bool {
    code == .damaged || code == .notADatabase || code == .inputOutput
  }
}
