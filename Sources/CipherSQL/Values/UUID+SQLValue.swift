import CSQLCipher
import Platform

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension UUID: SQLValue {
  /// Reads the 36 characters of the text form, lower or upper case, without making a String.
  @inlinable
  @inline(__always)
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> UUID {
    // The parser accepts only the text of a UUID, so the type needs no check of its own.
    guard let start = sqlite3_column_text(row.handle, index), sqlite3_column_bytes(row.handle, index) == 36,
      let value = UUIDText.parse(start)
    else { throw row.mismatch(index, expected: "UUID as TEXT") }
    return value
  }

  /// Binds the lower-case text form as TEXT to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `misuse` when the statement has no such placeholder.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    var failure: SQLError?
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 36) { buffer in
      UUIDText.write(self, to: buffer)
      do throws(SQLError) { try statement.bindText(UnsafeBufferPointer(buffer), at: index) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// The lower-case text form as TEXT.
  public var sqlArgument: SQLArgument { .text(sqlText) }

  /// The lower-case text form, the form of all UUIDs in the database and on the wire.
  public var sqlText: String {
    UUIDText.text(self)
  }

  /// Parses a text of 36 characters; `nil` for any other text.
  public init?(sqlText text: some StringProtocol) {
    guard let value = UUIDText.parse(text) else { return nil }
    self = value
  }
}
