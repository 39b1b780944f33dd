/// When a picture was taken, as its camera says: a time of the day there, and how far that is from UTC where the camera
/// knows it.
package struct CaptureTime: Sendable, Hashable {
  /// Milliseconds from 1970-01-01 to the time as the clock of the camera showed it.
  package let localMilliseconds: Int64
  /// Minutes east of UTC; nil when the camera does not say.
  package let offsetMinutes: Int?

  /// The time in milliseconds since 1970-01-01 UTC.
  /// - Parameter offset: minutes east of UTC that are taken where the camera says nothing.
  package func milliseconds(assuming offset: Int = 0) -> Int64 {
    localMilliseconds - Int64(offsetMinutes ?? offset) * 60_000
  }

  /// The text of EXIF, `2024:05:01 12:34:56`; nil when it is none, as the spaces and zeros of a camera without a clock.
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

  /// The time as EXIF writes it, `2024:05:01 12:34:56`.
  var exifText: String {
    let seconds = Int(localMilliseconds.flooredQuotient(1000))
    let (days, second) = (seconds.flooredQuotient(86_400), seconds - seconds.flooredQuotient(86_400) * 86_400)
    let (year, month, day) = Self.date(days)
    return Self.digits(year, 4) + ":" + Self.digits(month, 2) + ":" + Self.digits(day, 2) + " "
      + [second / 3600, second / 60 % 60, second % 60].map { Self.digits($0, 2) }.joined(separator: ":")
  }

  /// The milliseconds as EXIF writes them, `250`.
  var exifFraction: String {
    Self.digits(Int(localMilliseconds - localMilliseconds.flooredQuotient(1000) * 1000), 3)
  }

  /// The distance from UTC as EXIF writes it, `+02:00`; nil when the camera does not say.
  var exifOffset: String? {
    offsetMinutes.map { minutes in
      (minutes < 0 ? "-" : "+") + Self.digits(abs(minutes) / 60, 2) + ":" + Self.digits(abs(minutes) % 60, 2)
    }
  }

  private static func digits(_ number: Int, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }

  /// The date of a day since 1970-01-01, found upward from a year that is not after it.
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

  /// `+02:00` and its like.
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
  /// The largest integer that is not above the quotient.
  fileprivate func flooredQuotient(_ divisor: Self) -> Self {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}
