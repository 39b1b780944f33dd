import CSQLCipher

extension Connection {
  /// Opens a file that may be damaged, for reading what can still be read. The file stays as it is.
  ///
  /// SQLCipher refuses everything on a connection that has met a damaged page, so that a new one is opened after each
  /// failure. A file that is cut short and tables whose definitions are lost in part do not keep it from being opened;
  /// a damaged first page does.
  /// - Throws: ``SQLError``
  public static func toDamagedFile(at path: String, key: any EncryptionKey) throws -> Connection {
    var configuration = Configuration()
    configuration.pageCacheBytes = 2 << 20
    configuration.isReadOnly = true
    configuration.isForDamagedFile = true
    return try Connection(path: path, key: key, configuration: configuration)
  }

  /// Has to come before anything that looks at the tables.
  final func prepareForDamage() throws {
    // With this, SQLite takes what it could read of the definitions, and a file that is shorter than it should be.
    try pragma("PRAGMA writable_schema = ON")
    try pragma("PRAGMA query_only = ON")
    let result = csqlcipher_disable_checkpoint_on_close(handle)
    guard result == SQLITE_OK else { throw SQLError.last(handle, result: result) }
  }
}

/// How far a copy of rows came.
public struct RowCopy: Sendable {
  /// The rows that were written.
  public internal(set) var rows = 0
  /// The rows that a rule of the target refused.
  public internal(set) var refused = 0
  /// The first column of the last row that could be read, where it is a whole number.
  public internal(set) var last: Int64?
  /// Why reading ended before the last row.
  public internal(set) var failure: SQLError?
}

extension Connection {
  /// Writes the rows of a query into another database, value by value and byte by byte, until one cannot be read.
  /// - Parameters:
  ///   - insert: has a parameter for each column of the query from `firstBound` on.
  /// - Throws: ``SQLError`` when the target cannot be written.
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

  /// Steps to the next row; nil when it cannot be read.
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

/// Keeps a failure of the target apart from one of the source.
struct WriteFailure: Error {
  let error: SQLError
}

extension SQLError {
  /// True when a page could not be read or is not what was written.
  public var isDamage: Bool {
    code == .damaged || code == .notADatabase || code == .inputOutput
  }
}
