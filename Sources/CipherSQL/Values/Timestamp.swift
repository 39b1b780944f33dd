import CSQLCipher

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
    let milliseconds =
      seconds.isNaN
      ? 0
      : Int64(min(max((seconds * 1000).rounded(), Double(range.lowerBound)), Double(range.upperBound)))
    return String(unsafeUninitializedCapacity: TimestampText.length) { buffer in
      TimestampText.write(
        milliseconds, to: UnsafeMutableBufferPointer(rebasing: buffer[0..<TimestampText.length]))
      return TimestampText.length
    }
  }

  /// Parses ISO 8601 in UTC with milliseconds; `nil` for any other text.
  public init?(sqlText text: some StringProtocol) {
    var copy = String(text)
    guard let milliseconds = copy.withUTF8({ TimestampText.parse($0) }) else { return nil }
    self.init(millisecondsSince1970: milliseconds)
  }

  /// The current time in whole milliseconds, so that a stored value reads back equal.
  public static func nowInMilliseconds() -> Date {
    Date(millisecondsSince1970: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
  }

  /// A time from milliseconds since 1970-01-01T00:00:00Z.
  @inlinable
  public init(millisecondsSince1970 milliseconds: Int64) {
    self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
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

/// `YYYY-MM-DDTHH:MM:SS.mmmZ`, read and written byte by byte.
@usableFromInline
enum TimestampText {
  @usableFromInline static let length = 24
  /// 0000-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z in milliseconds since 1970.
  @usableFromInline static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

  @inlinable
  static func parse(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
    guard text.count == 24, let t = text.baseAddress, t[4] == 0x2d, t[7] == 0x2d, t[10] == 0x54, t[13] == 0x3a,
      t[16] == 0x3a, t[19] == 0x2e, t[23] == 0x5a
    else { return nil }
    // Each digit is read without a branch. One check at the end finds whether one of them was not a digit.
    var worst: UInt8 = 0
    let year = two(t, 0, &worst) * 100 + two(t, 2, &worst)
    let month = two(t, 5, &worst)
    let day = two(t, 8, &worst)
    let hour = two(t, 11, &worst)
    let minute = two(t, 14, &worst)
    let second = two(t, 17, &worst)
    let last = t[22] &- 0x30
    let millisecond = two(t, 20, &worst) * 10 + Int(last)
    worst = max(worst, last)
    guard worst <= 9, month >= 1, month <= 12, day >= 1, day <= 28 || day <= Calendar.days(in: month, of: year),
      hour < 24, minute < 60, second < 60
    else { return nil }
    let days = Calendar.daysSince1970(year: year, month: month, day: day)
    return Int64(((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + Int64(millisecond)
  }

  // The number in two digits; `worst` becomes more than 9 when one of them is no digit.
  @inlinable
  @inline(__always)
  static func two(_ text: UnsafePointer<UInt8>, _ position: Int, _ worst: inout UInt8) -> Int {
    let tens = text[position] &- 0x30
    let ones = text[position + 1] &- 0x30
    worst = max(worst, max(tens, ones))
    return Int(tens) * 10 + Int(ones)
  }

  @inlinable
  static func write(_ milliseconds: Int64, to text: UnsafeMutableBufferPointer<UInt8>) {
    let day = Int(floorDivide(milliseconds, 86_400_000))
    var rest = Int(milliseconds - Int64(day) * 86_400_000)
    let date = Calendar.date(daysSince1970: day)
    put(date.year, 4, text, 0)
    text[4] = 0x2d
    put(date.month, 2, text, 5)
    text[7] = 0x2d
    put(date.day, 2, text, 8)
    text[10] = 0x54
    put(rest / 3_600_000, 2, text, 11)
    rest %= 3_600_000
    text[13] = 0x3a
    put(rest / 60_000, 2, text, 14)
    rest %= 60_000
    text[16] = 0x3a
    put(rest / 1000, 2, text, 17)
    text[19] = 0x2e
    put(rest % 1000, 3, text, 20)
    text[23] = 0x5a
  }

  @inlinable
  static func put(_ value: Int, _ count: Int, _ text: UnsafeMutableBufferPointer<UInt8>, _ start: Int) {
    var value = value
    var position = start + count - 1
    while position >= start {
      text[position] = 0x30 + UInt8(truncatingIfNeeded: value % 10)
      value /= 10
      position -= 1
    }
  }

  @inlinable
  static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
  }
}
