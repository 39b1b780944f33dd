/// ISO 8601 in UTC with milliseconds, `YYYY-MM-DDTHH:MM:SS.mmmZ`, read and written byte by byte.
@usableFromInline
package enum TimestampText {
  /// The number of bytes.
  @usableFromInline package static let length = 24
  /// The milliseconds since 1970 from 0000-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z.
  @usableFromInline package static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

  /// Returns the milliseconds since 1970; `nil` for any other text and for days that the calendar does not have.
  @inlinable
  package static func parse(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
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

  /// Returns the text of a time. A time outside ``range`` becomes the nearest time in it.
  package static func text(_ milliseconds: Int64) -> String {
    String(unsafeUninitializedCapacity: length) { buffer in
      write(
        min(max(milliseconds, range.lowerBound), range.upperBound),
        to: UnsafeMutableBufferPointer(rebasing: buffer[0..<length]))
      return length
    }
  }

  /// Returns whether a text is the form of a time.
  package static func isCanonical(_ text: some StringProtocol) -> Bool {
    var copy = String(text)
    return copy.withUTF8 { parse($0) } != nil
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

  /// Writes a time within ``range`` to a buffer of ``length`` bytes.
  @inlinable
  package static func write(_ milliseconds: Int64, to text: UnsafeMutableBufferPointer<UInt8>) {
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
