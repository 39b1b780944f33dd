import CSQLCipher

/// A prepared statement of one connection.
///
/// The connection's cache owns the statements. A statement may be used only inside the closure that received it. The
/// connection guarantees that one thread at a time uses it.
public final class Statement {
  @usableFromInline let handle: OpaquePointer
  /// The tables and columns that the statement reads and writes, as SQLite's authorizer reported them when it was
  /// prepared.
  let accessed: AccessedRegion
  private let authorizer: Authorizer
  /// Whether the statement is in use, so that a nested use of the same SQL gets another statement.
  @usableFromInline var isInUse = false
  /// The transaction in which the writes of the statement were last noted.
  var notedInTransaction: UInt64 = 0

  init(handle: OpaquePointer, accessed: AccessedRegion, authorizer: Authorizer, isReadOnly: Bool) {
    (self.handle, self.accessed, self.authorizer, self.isReadOnly) = (handle, accessed, authorizer, isReadOnly)
  }

  deinit { sqlite3_finalize(handle) }

  /// The text of the statement, with its placeholders.
  public var sql: String { sqlite3_sql(handle).map { String(cString: $0) } ?? "" }

  /// Whether the statement cannot change the database.
  public let isReadOnly: Bool

  /// The number of placeholders.
  public var parameterCount: Int32 { sqlite3_bind_parameter_count(handle) }

  /// Returns the name of a placeholder with its first character (`:projectId`); `nil` for `?`.
  public func parameterName(at index: Int32) -> String? {
    sqlite3_bind_parameter_name(handle, index).map { String(cString: $0) }
  }

  /// Returns the position of a named placeholder, counted from 1; `nil` if no placeholder has the name.
  public func parameterIndex(_ name: String) -> Int32? {
    let index = sqlite3_bind_parameter_index(handle, name)
    return index == 0 ? nil : index
  }

  /// The number of columns of a result row; 0 for a statement without result.
  public var columnCount: Int32 { sqlite3_column_count(handle) }

  /// Returns the name of a result column, counted from 0.
  public func columnName(at index: Int32) -> String {
    sqlite3_column_name(handle, index).map { String(cString: $0) } ?? ""
  }

  /// Steps to the next row. Returns `false` after the last row.
  /// - Throws: ``SQLError`` as SQLite reports it.
  @inlinable
  public func step() throws(SQLError) -> Bool {
    let result = sqlite3_step(handle)
    if result == SQLITE_ROW { return true }
    if result == SQLITE_DONE { return false }
    throw failure(result)
  }

  /// Runs a statement to its end. Ignores returned rows.
  @inlinable
  public func run() throws(SQLError) {
    while try step() {}
  }

  /// Ends the execution and releases its locks. The bound values stay until they are bound again.
  @inlinable
  public func reset() {
    // The result repeats the failure of the last step, which has been thrown already.
    _ = sqlite3_reset(handle)
  }

  /// Removes the bound values.
  public func clearBindings() { _ = sqlite3_clear_bindings(handle) }

  /// The current row.
  @inlinable
  public var row: Row { Row(handle: handle) }

  @usableFromInline
  @inline(never)
  func failure(_ result: Int32) -> SQLError {
    // Some actions are asked about only when the statement runs, such as the pragma behind `pragma_table_info()`.
    authorizer.refusalError(result: result, sql: sql)
      ?? SQLError.last(sqlite3_db_handle(handle), result: result, sql: sql)
  }

  @inlinable
  func check(_ result: Int32) throws(SQLError) {
    if result != SQLITE_OK { throw failure(result) }
  }
}

extension Statement {
  /// Returns the table and column of a result column; `nil` for an expression. For a column of a view, returns the
  /// underlying column.
  public func columnOrigin(at index: Int32) -> (table: String, column: String)? {
    guard let table = sqlite3_column_table_name(handle, index), let column = sqlite3_column_origin_name(handle, index)
    else { return nil }
    return (String(cString: table), String(cString: column))
  }
}
