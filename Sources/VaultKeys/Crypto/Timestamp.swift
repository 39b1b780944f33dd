#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Points in time as the keyring writes them: ISO 8601, UTC, milliseconds: `2026-03-01T07:05:09.004Z`.
public enum Timestamp {
  /// The time of the system, in milliseconds since 1970-01-01 UTC.
  @Sendable public static func systemMilliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// The text of a time between the years 1970 and 9999; others are moved to the nearest of these.
  static func text(milliseconds: Int64) -> String {
    let time = min(max(milliseconds, 0), 253_402_300_799_999)
    let (year, month, day) = date(daysSince1970: time / 86_400_000)
    let ofDay = time % 86_400_000
    let clock = [ofDay / 3_600_000, ofDay / 60_000 % 60, ofDay / 1000 % 60].map { padded($0, 2) }
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(clock.joined(separator: ":"))"
      + ".\(padded(ofDay % 1000, 3))Z"
  }

  /// Whether the text has the shape of a time, with every part in its range.
  static func isWellFormed(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count == 24 else { return false }
    for (byte, shape) in zip(bytes, "dddd-dd-ddTdd:dd:dd.dddZ".utf8) {
      let fits = shape == UInt8(ascii: "d") ? (0x30...0x39).contains(byte) : byte == shape
      guard fits else { return false }
    }
    func number(_ start: Int) -> Int { Int(bytes[start] - 0x30) * 10 + Int(bytes[start + 1] - 0x30) }
    return (1...12).contains(number(5)) && (1...31).contains(number(8)) && number(11) < 24 && number(14) < 60
      && number(17) < 60
  }

  /// The Gregorian date, by eras of 400 years that begin on 1 March.
  private static func date(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = daysSince1970 + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
