import CSQLCipher
import Platform

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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

  /// - Throws: ``SQLError`` with `typeMismatch` for a time outside of the years 0 to 9999.
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

  /// ``sqlText`` as TEXT. A time that ``bind(to:at:)`` would refuse is brought to the nearest that can be written.
  public var sqlArgument: SQLArgument { .text(sqlText) }

  /// ISO 8601 in UTC with milliseconds, the form of all times in the database and on the wire. A time outside of the
  /// years 0 to 9999 becomes the nearest time with this form.
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
        .typeMismatch, "a time outside of the years 0 to 9999 cannot be stored", hint: "check where the date comes from"
      )
    }
    return Int64(exact)
  }
}
