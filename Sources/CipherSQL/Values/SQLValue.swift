import CSQLCipher

/// A Swift type that a column can store.
///
/// Conforming types bind and decode themselves by position. There is no lookup by name and no intermediate value.
public protocol SQLValue: Sendable {
  /// The type without Optional: `String` for `String?`.
  associatedtype Bare: SQLValue = Self
  /// Whether the type is an Optional, whose column may be NULL.
  static var isNullable: Bool { get }
  /// Reads a column, counted from 0.
  /// - Throws: ``SQLError`` with `typeMismatch` when the column holds something else.
  static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Self
  /// Binds to a placeholder, counted from 1.
  func bind(to statement: Statement, at index: Int32) throws(SQLError)
  /// The same value for SQL that is composed at run time.
  var sqlArgument: SQLArgument { get }
}

extension SQLValue {
  /// False, as for every type but an Optional.
  public static var isNullable: Bool { false }
}

/// A value of one of SQLite's five storage classes.
public enum SQLArgument: Hashable, Codable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
}

extension SQLArgument: SQLValue {
  /// Reads a column of any storage class, counted from 0.
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> SQLArgument {
    switch sqlite3_column_type(row.handle, index) {
    case SQLITE_INTEGER: .integer(sqlite3_column_int64(row.handle, index))
    case SQLITE_FLOAT: .real(sqlite3_column_double(row.handle, index))
    case SQLITE_TEXT: .text(try String.decode(from: row, at: index))
    case SQLITE_BLOB: .blob(try [UInt8].decode(from: row, at: index))
    default: .null
    }
  }

  /// Binds the value in its storage class to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `typeMismatch` for a `real` that is NaN, with `tooBig` for a text or blob above
  ///   SQLite's limit, with `misuse` when the statement has no such placeholder.
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    switch self {
    case .null: try statement.bindNull(at: index)
    case .integer(let value): try value.bind(to: statement, at: index)
    case .real(let value): try value.bind(to: statement, at: index)
    case .text(let value): try value.bind(to: statement, at: index)
    case .blob(let value): try value.bind(to: statement, at: index)
    }
  }

  /// The value itself.
  public var sqlArgument: SQLArgument { self }
}

extension Statement {
  /// Binds a value to a placeholder, counted from 1.
  @inlinable
  public func bind<Value: SQLValue>(_ value: Value, at index: Int32) throws(SQLError) {
    try value.bind(to: self, at: index)
  }

  /// Binds NULL to a placeholder, counted from 1.
  @inlinable
  public func bindNull(at index: Int32) throws(SQLError) {
    try check(sqlite3_bind_null(handle, index))
  }

  /// Binds UTF-8 bytes as TEXT; SQLite copies them.
  @inlinable
  public func bindText(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int32) throws(SQLError) {
    guard let start = bytes.baseAddress else {
      return try check(csqlcipher_bind_text(handle, index, "", 0))
    }
    guard let length = Int32(exactly: bytes.count) else { throw tooBig(index) }
    let result = start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
      csqlcipher_bind_text(handle, index, $0, length)
    }
    try check(result)
  }

  /// Binds bytes as BLOB; SQLite copies them.
  @inlinable
  public func bindBlob(_ bytes: UnsafeRawBufferPointer, at index: Int32) throws(SQLError) {
    guard let length = Int32(exactly: bytes.count) else { throw tooBig(index) }
    try check(csqlcipher_bind_blob(handle, index, bytes.baseAddress, length))
  }

  @usableFromInline
  func tooBig(_ index: Int32) -> SQLError {
    SQLError(
      .tooBig, "the value for parameter \(parameterName(at: index) ?? "\(index)") is above SQLite's limit of 2 GiB",
      hint: "store large content as an attachment")
  }
}
