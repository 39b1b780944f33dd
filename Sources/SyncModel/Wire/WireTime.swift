/// Times on the wire: `2026-03-01T08:00:00.000Z`, in memory milliseconds since 1970-01-01 UTC.
public enum WireTime {
  /// The representable times: the years 0 to 9999, in milliseconds since 1970-01-01 UTC.
  public static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

  /// The text of a time. One outside of ``range`` is brought to the nearest that can be written.
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
