import CSQLCipher

/// The current row of a statement, read by position. It is valid until the next step of the statement. The compiler
/// enforces this, because a row cannot be copied.
public struct Row: ~Copyable {
  @usableFromInline let handle: OpaquePointer

  @inlinable
  init(handle: OpaquePointer) { self.handle = handle }

  /// The number of columns.
  @inlinable
  public var count: Int32 { sqlite3_column_count(handle) }

  /// Returns whether a column, counted from 0, is NULL.
  @inlinable
  public func isNull(_ index: Int32) -> Bool { sqlite3_column_type(handle, index) == SQLITE_NULL }

  /// Returns the value of a column, counted from 0.
  /// - Throws: ``SQLError`` with `typeMismatch`, naming the column, if its value has another type.
  @inlinable
  @inline(__always)
  public func decode<Value: SQLValue>(_ type: Value.Type = Value.self, at index: Int32) throws(SQLError) -> Value {
    try Value.decode(from: self, at: index)
  }

  /// Passes the bytes of a TEXT column to a closure without copying them.
  @inlinable
  public func withText<Result>(
    at index: Int32, _ body: (UnsafeBufferPointer<UInt8>) throws(SQLError) -> Result
  ) throws(SQLError) -> Result {
    guard sqlite3_column_type(handle, index) == SQLITE_TEXT, let start = sqlite3_column_text(handle, index) else {
      throw mismatch(index, expected: "TEXT")
    }
    return try body(UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, index))))
  }

  /// Returns whether a TEXT column has exactly this ASCII text. Decoding an enumeration is a comparison of bytes.
  @inlinable
  public func text(at index: Int32, equals word: StaticString) -> Bool {
    guard let start = sqlite3_column_text(handle, index) else { return false }
    let count = Int(sqlite3_column_bytes(handle, index))
    guard count == word.utf8CodeUnitCount else { return false }
    let expected = word.utf8Start
    for position in 0..<count where start[position] != expected[position] { return false }
    return true
  }

  /// Returns the error for a column without a value of the expected type. It names the column and never its value.
  @inline(never)
  public func mismatch(_ index: Int32, expected: String) -> SQLError {
    let name = sqlite3_column_name(handle, index).map { String(cString: $0) } ?? "column \(index)"
    let found =
      switch sqlite3_column_type(handle, index) {
      case SQLITE_INTEGER: "INTEGER"
      case SQLITE_FLOAT: "REAL"
      case SQLITE_TEXT: "TEXT"
      case SQLITE_BLOB: "BLOB"
      default: "NULL"
      }
    let what = found == expected ? "\(found) out of range" : found
    return SQLError(
      .typeMismatch, "column \(name) contains \(what), but \(expected) was expected",
      hint: "the row was written past the schema's checks, or the Swift type does not fit the column",
      sql: sqlite3_sql(handle).map { String(cString: $0) })
  }
}
