import CSQLCipher
import Platform

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A Swift type that a column can store.
///
/// Conforming types bind and decode themselves by position. There is no lookup by name and no intermediate value.
public protocol SQLValue: Sendable {
  /// The type without Optional: `String` for `String?`.
  associatedtype Bare: SQLValue = Self
  /// Whether the type is an Optional, whose column may be NULL.
  static var isNullable: Bool { get }
  /// Reads a column, counted from 0.
  /// - Throws: ``SQLError`` with `typeMismatch` for a value of another type.
  static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Self
  /// Binds to a placeholder, counted from 1.
  func bind(to statement: Statement, at index: Int32) throws(SQLError)
  /// The value for SQL that is composed at run time.
  var sqlArgument: SQLArgument { get }
}

extension SQLValue {
  /// Whether the type is an Optional. The default is `false`.
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
  ///   SQLite's limit, with `misuse` for an unknown placeholder.
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    switch self {
    case .null: try statement.bindNull(at: index)
    case .integer(let value): try value.bind(to: statement, at: index)
    case .real(let value): try value.bind(to: statement, at: index)
    case .text(let value): try value.bind(to: statement, at: index)
    case .blob(let value): try value.bind(to: statement, at: index)
    }
  }

  /// The unchanged value.
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
      .tooBig, "the value for parameter \(parameterName(at: index) ?? "\(index)") exceeds SQLite's limit of 2 GiB",
      hint: "store large content as an attachment")
  }
}

extension CalendarDay: SQLValue {
  /// Reads `YYYY-MM-DD` from a TEXT column, counted from 0.
  /// - Throws: ``SQLError`` with `typeMismatch` if the value is not TEXT or not a day.
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> CalendarDay {
    guard let day = CalendarDay(try String.decode(from: row, at: index)) else {
      throw row.mismatch(index, expected: "day as TEXT")
    }
    return day
  }

  /// Binds `YYYY-MM-DD` as TEXT to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `misuse` for an unknown placeholder.
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    try description.bind(to: statement, at: index)
  }

  /// `YYYY-MM-DD` as TEXT.
  public var sqlArgument: SQLArgument { .text(description) }
}

extension Date: SQLValue {
  /// Reads `2013-01-01T06:00:00.000Z` without a formatter.
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Date {
    // The parser accepts only the text of a timestamp, so the type needs no check of its own.
    guard let start = sqlite3_column_text(row.handle, index),
      let milliseconds = TimestampText.parse(
        UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(row.handle, index))))
    else { throw row.mismatch(index, expected: "timestamp as TEXT") }
    return Date(millisecondsSince1970: milliseconds)
  }

  /// - Throws: ``SQLError`` with `typeMismatch` for a time outside the years 0 to 9999.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    let milliseconds = try boundMilliseconds()
    var failure: SQLError?
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: TimestampText.length) { buffer in
      TimestampText.write(milliseconds, to: buffer)
      do throws(SQLError) { try statement.bindText(UnsafeBufferPointer(buffer), at: index) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// ``sqlText`` as TEXT. A time that ``bind(to:at:)`` would refuse becomes the nearest valid time.
  public var sqlArgument: SQLArgument { .text(sqlText) }

  /// ISO 8601 in UTC with milliseconds, the form of all times in the database and on the wire. A time outside the years
  /// 0 to 9999 becomes the nearest time with this form.
  public var sqlText: String {
    let range = TimestampText.range
    let seconds = timeIntervalSince1970
    guard !seconds.isNaN else { return TimestampText.text(0) }
    return TimestampText.text(
      Int64(min(max((seconds * 1000).rounded(), Double(range.lowerBound)), Double(range.upperBound))))
  }

  /// Parses ISO 8601 in UTC with milliseconds; `nil` for any other text.
  public init?(sqlText text: some StringProtocol) {
    var copy = String(text)
    guard let milliseconds = copy.withUTF8({ TimestampText.parse($0) }) else { return nil }
    self.init(millisecondsSince1970: milliseconds)
  }

  @inlinable
  func boundMilliseconds() throws(SQLError) -> Int64 {
    let exact = (timeIntervalSince1970 * 1000).rounded()
    guard exact >= Double(TimestampText.range.lowerBound), exact <= Double(TimestampText.range.upperBound) else {
      throw SQLError(
        .typeMismatch, "a time outside the years 0 to 9999 cannot be stored", hint: "check where the date comes from"
      )
    }
    return Int64(exact)
  }
}

extension UUID: SQLValue {
  /// Reads the 36 characters of the text form, lower or upper case, without creating a String.
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> UUID {
    // The parser accepts only the text of a UUID, so the type needs no check of its own.
    guard let start = sqlite3_column_text(row.handle, index), sqlite3_column_bytes(row.handle, index) == 36,
      let value = UUIDText.parse(start)
    else { throw row.mismatch(index, expected: "UUID as TEXT") }
    return value
  }

  /// Binds the lowercase text form as TEXT to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `misuse` for an unknown placeholder.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    var failure: SQLError?
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 36) { buffer in
      UUIDText.write(self, to: buffer)
      do throws(SQLError) { try statement.bindText(UnsafeBufferPointer(buffer), at: index) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// The lowercase text form as TEXT.
  public var sqlArgument: SQLArgument { .text(sqlText) }

  /// The lowercase text form, the form of all UUIDs in the database and on the wire.
  public var sqlText: String {
    UUIDText.text(self)
  }

  /// Parses a text of 36 characters; `nil` for any other text.
  public init?(sqlText text: some StringProtocol) {
    guard let value = UUIDText.parse(text) else { return nil }
    self = value
  }
}
