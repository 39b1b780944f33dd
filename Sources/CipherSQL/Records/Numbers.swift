import CSQLCipher

extension Int64: SQLValue {
  /// Reads an INTEGER column, counted from 0.
  /// - Throws: ``SQLError`` with `typeMismatch` if the value is not an INTEGER.
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Int64 {
    guard sqlite3_column_type(row.handle, index) == SQLITE_INTEGER else {
      throw row.mismatch(index, expected: "INTEGER")
    }
    return sqlite3_column_int64(row.handle, index)
  }

  /// Binds an INTEGER to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `misuse` for an unknown placeholder.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    try statement.check(sqlite3_bind_int64(statement.handle, index, self))
  }

  /// The number as an INTEGER.
  public var sqlArgument: SQLArgument { .integer(self) }
}

extension Int: SQLValue {
  /// Reads an INTEGER column, counted from 0.
  /// - Throws: ``SQLError`` with `typeMismatch` if the value is not an INTEGER or does not fit `Int`.
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Int {
    guard let value = Int(exactly: try Int64.decode(from: row, at: index)) else {
      throw row.mismatch(index, expected: "INTEGER")
    }
    return value
  }

  /// Binds an INTEGER to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `misuse` for an unknown placeholder.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    try Int64(self).bind(to: statement, at: index)
  }

  /// The number as an INTEGER.
  public var sqlArgument: SQLArgument { .integer(Int64(self)) }
}

extension Int32: SQLValue {
  /// Reads an INTEGER column, counted from 0.
  /// - Throws: ``SQLError`` with `typeMismatch` if the value is not an INTEGER or does not fit 32 bits.
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Int32 {
    guard let value = Int32(exactly: try Int64.decode(from: row, at: index)) else {
      throw row.mismatch(index, expected: "INTEGER")
    }
    return value
  }

  /// Binds an INTEGER to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `misuse` for an unknown placeholder.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    try Int64(self).bind(to: statement, at: index)
  }

  /// The number as an INTEGER.
  public var sqlArgument: SQLArgument { .integer(Int64(self)) }
}

extension Bool: SQLValue {
  /// Reads 0 as false and 1 as true. Other numbers are a mismatch.
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Bool {
    switch try Int64.decode(from: row, at: index) {
    case 0: return false
    case 1: return true
    default: throw row.mismatch(index, expected: "INTEGER")
    }
  }

  /// Binds 1 for true and 0 for false to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `misuse` for an unknown placeholder.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    try statement.check(sqlite3_bind_int(statement.handle, index, self ? 1 : 0))
  }

  /// The INTEGER 1 for true and 0 for false.
  public var sqlArgument: SQLArgument { .integer(self ? 1 : 0) }
}

extension Double: SQLValue {
  /// Reads a REAL or an INTEGER.
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Double {
    let type = sqlite3_column_type(row.handle, index)
    guard type == SQLITE_FLOAT || type == SQLITE_INTEGER else { throw row.mismatch(index, expected: "REAL") }
    return sqlite3_column_double(row.handle, index)
  }

  /// - Throws: ``SQLError`` with `typeMismatch` for NaN, which SQLite would silently store as NULL, and for an infinite
  ///   number. JSON cannot represent an infinite number, so it could not be synced or exported.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    if isNaN {
      throw SQLError(.typeMismatch, "not a number (NaN) cannot be stored", hint: "use nil for a missing value")
    }
    if isInfinite {
      throw SQLError(.typeMismatch, "an infinite number cannot be stored", hint: "use nil for a missing value")
    }
    try statement.check(sqlite3_bind_double(statement.handle, index, self))
  }

  /// The number as a REAL; NaN and infinite numbers are refused when they are bound.
  public var sqlArgument: SQLArgument { .real(self) }
}
