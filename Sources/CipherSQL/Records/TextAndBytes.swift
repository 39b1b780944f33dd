import CSQLCipher

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension String: SQLValue {
  /// Reads a TEXT column, counted from 0. Bytes that are not UTF-8 become U+FFFD.
  /// - Throws: ``SQLError`` with `typeMismatch` if the value is not TEXT.
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> String {
    try row.withText(at: index) { (bytes) throws(SQLError) in String(decoding: bytes, as: UTF8.self) }
  }

  /// Binds TEXT in UTF-8 to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `tooBig` above SQLite's limit, with `misuse` for an unknown placeholder.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    var failure: SQLError?
    var copy = self
    copy.withUTF8 { bytes in
      do throws(SQLError) { try statement.bindText(bytes, at: index) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// The string as TEXT.
  public var sqlArgument: SQLArgument { .text(self) }
}

extension [UInt8]: SQLValue {
  /// Reads a BLOB column, counted from 0.
  /// - Throws: ``SQLError`` with `typeMismatch` if the value is not a BLOB.
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> [UInt8] {
    guard sqlite3_column_type(row.handle, index) == SQLITE_BLOB else { throw row.mismatch(index, expected: "BLOB") }
    let bytes = UnsafeRawBufferPointer(
      start: sqlite3_column_blob(row.handle, index), count: Int(sqlite3_column_bytes(row.handle, index)))
    return [UInt8](bytes)
  }

  /// Binds a BLOB to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `tooBig` above SQLite's limit, with `misuse` for an unknown placeholder.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    var failure: SQLError?
    withUnsafeBytes { bytes in
      do throws(SQLError) { try statement.bindBlob(bytes, at: index) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// The bytes as a BLOB.
  public var sqlArgument: SQLArgument { .blob(self) }
}

extension Data: SQLValue {
  /// Reads a BLOB column, counted from 0.
  /// - Throws: ``SQLError`` with `typeMismatch` if the value is not a BLOB.
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Data {
    Data(try [UInt8].decode(from: row, at: index))
  }

  /// Binds a BLOB to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `tooBig` above SQLite's limit, with `misuse` for an unknown placeholder.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    var failure: SQLError?
    withUnsafeBytes { bytes in
      do throws(SQLError) { try statement.bindBlob(bytes, at: index) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// The bytes as a BLOB.
  public var sqlArgument: SQLArgument { .blob([UInt8](self)) }
}

extension Optional: SQLValue where Wrapped: SQLValue {
  /// The type without any Optional around it: `String` for `String?` and for `String??`.
  public typealias Bare = Wrapped.Bare

  /// Whether the column may contain NULL: `true` for an Optional.
  public static var isNullable: Bool { true }

  /// Reads a column, counted from 0; `nil` for NULL.
  /// - Throws: the errors of the wrapped type's decoding.
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Wrapped? {
    row.isNull(index) ? nil : try Wrapped.decode(from: row, at: index)
  }

  /// Binds the value to a placeholder, counted from 1; NULL for `nil`.
  /// - Throws: the errors of the wrapped type's binding.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    if let self { try self.bind(to: statement, at: index) } else { try statement.bindNull(at: index) }
  }

  /// The argument of the value; `null` for nil.
  public var sqlArgument: SQLArgument { self?.sqlArgument ?? .null }
}
