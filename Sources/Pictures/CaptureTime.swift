/// The capture time of a picture according to its camera: the local time and, if the camera recorded it, the offset
/// from UTC.
package struct CaptureTime: Sendable, Hashable {
  /// The local time of the camera, in milliseconds since 1970-01-01 00:00 local time.
  package let localMilliseconds: Int64
  /// The offset in minutes east of UTC; `nil` if the camera did not record it.
  package let offsetMinutes: Int?

  /// Returns the time in milliseconds since 1970-01-01 UTC.
  /// - Parameter offset: the minutes east of UTC to assume if the camera did not record an offset.
  package func milliseconds(assuming offset: Int = 0) -> Int64 {
    localMilliseconds - Int64(offsetMinutes ?? offset) * 60_000
  }

  /// Parses the text of EXIF, such as `2024:05:01 12:34:56`. Returns `nil` for invalid text, such as the spaces or
  /// zeros of a camera without a clock.
  init?(exif text: String, fraction: String?, offset: String?) {
    let parts = text.utf8.split(omittingEmptySubsequences: false) { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: " ") }
    let numbers = parts.prefix(6).compactMap { Self.number($0) }
    guard text.utf8.count >= 19, numbers.count == 6 else { return nil }
    let (year, month, day) = (numbers[0], numbers[1], numbers[2])
    guard (1826...9999).contains(year), (1...12).contains(month), (1...Self.days(of: month, year)).contains(day),
      numbers[3] < 24, numbers[4] < 60, numbers[5] < 60
    else { return nil }
    let seconds = Self.daysSince1970(year, month, day) * 86_400 + numbers[3] * 3600 + numbers[4] * 60 + numbers[5]
    localMilliseconds = Int64(seconds * 1000 + Self.milliseconds(ofFraction: fraction ?? ""))
    offsetMinutes = offset.flatMap(Self.minutes)
  }

  /// The time in EXIF format, such as `2024:05:01 12:34:56`.
  var exifText: String {
    let seconds = Int(localMilliseconds.flooredQuotient(1000))
    let (days, second) = (seconds.flooredQuotient(86_400), seconds - seconds.flooredQuotient(86_400) * 86_400)
    let (year, month, day) = Self.date(days)
    return Self.digits(year, 4) + ":" + Self.digits(month, 2) + ":" + Self.digits(day, 2) + " "
      + [second / 3600, second / 60 % 60, second % 60].map { Self.digits($0, 2) }.joined(separator: ":")
  }

  /// The milliseconds in EXIF format, such as `250`.
  var exifFraction: String {
    Self.digits(Int(localMilliseconds - localMilliseconds.flooredQuotient(1000) * 1000), 3)
  }

  /// The offset from UTC in EXIF format, such as `+02:00`; `nil` if the camera did not record it.
  var exifOffset: String? {
    offsetMinutes.map { minutes in
      (minutes < 0 ? "-" : "+") + Self.digits(abs(minutes) / 60, 2) + ":" + Self.digits(abs(minutes) % 60, 2)
    }
  }

  private static func digits(_ number: Int, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }

  /// Returns the date of a day since 1970-01-01. Searches forward from a year that does not exceed the result.
  private static func date(_ day: Int) -> (year: Int, month: Int, day: Int) {
    var year = 1970 + min(day.flooredQuotient(365), day.flooredQuotient(366))
    while daysSince1970(year + 1, 1, 1) <= day { year += 1 }
    var month = 1
    while month < 12, daysSince1970(year, month + 1, 1) <= day { month += 1 }
    return (year, month, day - daysSince1970(year, month, 1) + 1)
  }

  private static func number(_ digits: Substring.UTF8View) -> Int? {
    digits.allSatisfy { (0x30...0x39).contains($0) } ? Int(String(Substring(digits))) : nil
  }

  private static func milliseconds(ofFraction text: String) -> Int {
    let digits = text.utf8.prefix { (0x30...0x39).contains($0) }.prefix(3).map { Int($0 - 0x30) }
    return zip(digits, [100, 10, 1]).reduce(0) { $0 + $1.0 * $1.1 }
  }

  /// Parses an offset such as `+02:00`.
  private static func minutes(_ text: String) -> Int? {
    let bytes = Array(text.utf8.prefix(6))
    guard bytes.count == 6, bytes[3] == UInt8(ascii: ":"), bytes[0] == 0x2b || bytes[0] == 0x2d else { return nil }
    let digits = [bytes[1], bytes[2], bytes[4], bytes[5]].map { Int($0) - 0x30 }
    guard digits.allSatisfy({ (0...9).contains($0) }) else { return nil }
    let minutes = (digits[0] * 10 + digits[1]) * 60 + digits[2] * 10 + digits[3]
    guard minutes <= 14 * 60 else { return nil }
    return bytes[0] == 0x2b ? minutes : -minutes
  }

  private static func days(of month: Int, _ year: Int) -> Int {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
  }

  private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let before = year - 1
    let leapDays = before / 4 - before / 100 + before / 400 - 477
    return (year - 1970) * 365 + leapDays + (1..<month).reduce(0) { $0 + days(of: $1, year) } + day - 1
  }
}

extension FixedWidthInteger {
  /// Returns the quotient rounded towards negative infinity.
  fileprivate func flooredQuotient(_ divisor: Self) -> Self {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}
