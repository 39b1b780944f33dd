/// Times on the wire: `2026-03-01T08:00:00.000Z`, in memory milliseconds since 1970-01-01 UTC.
public enum WireTime {
  /// The representable times: the years 0 to 9999, in milliseconds since 1970-01-01 UTC.
  public static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

  /// Returns the text of a time. A time outside ``range`` becomes the nearest time within it.
  public static func text(_ milliseconds: Int64) -> String {
    let clamped = min(max(milliseconds, range.lowerBound), range.upperBound)
    let milliOfDay = ((clamped % 86_400_000) + 86_400_000) % 86_400_000
    let date = civilDate(daysSince1970: (clamped - milliOfDay) / 86_400_000)
    return String(unsafeUninitializedCapacity: length) { text in
      var position = 0
      func put(_ value: Int64, _ digits: Int, then separator: Unicode.Scalar) {
        var rest = value
        for index in stride(from: position + digits - 1, through: position, by: -1) {
          text[index] = UInt8(ascii: "0") + UInt8(rest % 10)
          rest /= 10
        }
        text[position + digits] = UInt8(ascii: separator)
        position += digits + 1
      }
      put(date.year, 4, then: "-")
      put(date.month, 2, then: "-")
      put(date.day, 2, then: "T")
      put(milliOfDay / 3_600_000, 2, then: ":")
      put(milliOfDay / 60_000 % 60, 2, then: ":")
      put(milliOfDay / 1000 % 60, 2, then: ".")
      put(milliOfDay % 1000, 3, then: "Z")
      return length
    }
  }

  /// Parses milliseconds since 1970-01-01 UTC; `nil` for any other form, and for a day or an hour that the calendar
  /// lacks (including leap seconds).
  public static func milliseconds(_ text: String) -> Int64? {
    var text = text
    return text.withUTF8(milliseconds)
  }

  private static let length = 24

  private static func milliseconds(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
    guard text.count == length else { return nil }
    for (position, mark) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"), (19, "."), (23, "Z")] as Marks
    where text[position] != UInt8(ascii: mark) {
      return nil
    }
    guard let year = number(text, 0..<4), let month = number(text, 5..<7), let day = number(text, 8..<10),
      let hour = number(text, 11..<13), let minute = number(text, 14..<16), let second = number(text, 17..<19),
      let milli = number(text, 20..<23), (1...12).contains(month), day >= 1, day <= days(in: month, of: year),
      hour < 24, minute < 60, second < 60
    else { return nil }
    let hours = daysSince1970(year: year, month: month, day: day) * 24 + hour
    return ((hours * 60 + minute) * 60 + second) * 1000 + milli
  }

  private typealias Marks = [(Int, Unicode.Scalar)]

  private static func number(_ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Int64? {
    var value: Int64 = 0
    for position in range {
      let digit = text[position] &- UInt8(ascii: "0")
      guard digit <= 9 else { return nil }
      value = value * 10 + Int64(digit)
    }
    return value
  }
}

extension WireTime {
  // The Gregorian calendar, also before it was introduced, as ISO 8601 has it. Years are counted from March, so that
  // the leap day is the last of its year, in eras of 400 years, which all have 146,097 days.

  static func days(in month: Int64, of year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
    // 400 years are added so that nothing below is negative.
    let marchYear = year + 400 - (month <= 2 ? 1 : 0)
    let yearOfEra = marchYear % 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return (marchYear / 400 - 1) * 146_097 + dayOfEra - daysFromYearZeroTo1970
  }

  static func civilDate(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + daysFromYearZeroTo1970 + 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + (shifted / 146_097 - 1) * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  /// The number of days from 1 March of the year 0 to 1 January 1970.
  private static var daysFromYearZeroTo1970: Int64 { 719_468 }
}
