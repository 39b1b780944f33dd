import CSQLCipher

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension String: SQLValue {
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> String {
    try row.withText(at: index) { (bytes) throws(SQLError) in String(decoding: bytes, as: UTF8.self) }
  }

  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    var failure: SQLError?
    var copy = self
    copy.withUTF8 { bytes in
      do throws(SQLError) { try statement.bindText(bytes, at: index) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  public var sqlArgument: SQLArgument { .text(self) }
}

extension [UInt8]: SQLValue {
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> [UInt8] {
    guard sqlite3_column_type(row.handle, index) == SQLITE_BLOB else { throw row.mismatch(index, expected: "BLOB") }
    let bytes = UnsafeRawBufferPointer(
      start: sqlite3_column_blob(row.handle, index), count: Int(sqlite3_column_bytes(row.handle, index)))
    return [UInt8](bytes)
  }

  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    var failure: SQLError?
    withUnsafeBytes { bytes in
      do throws(SQLError) { try statement.bindBlob(bytes, at: index) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  public var sqlArgument: SQLArgument { .blob(self) }
}

extension Data: SQLValue {
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Data {
    Data(try [UInt8].decode(from: row, at: index))
  }

  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    var failure: SQLError?
    withUnsafeBytes { bytes in
      do throws(SQLError) { try statement.bindBlob(bytes, at: index) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  public var sqlArgument: SQLArgument { .blob([UInt8](self)) }
}

extension Optional: SQLValue where Wrapped: SQLValue {
  public typealias Bare = Wrapped.Bare

  public static var isNullable: Bool { true }

  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Wrapped? {
    row.isNull(index) ? nil : try Wrapped.decode(from: row, at: index)
  }

  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    if let self { try self.bind(to: statement, at: index) } else { try statement.bindNull(at: index) }
  }

  public var sqlArgument: SQLArgument { self?.sqlArgument ?? .null }
}
