#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Date {
  /// Parses the forms of ISO 8601 (RFC 3339) that name a moment: date and time of day, separated by `T` or a space,
  /// with or without seconds and a fraction, and a zone (`Z`, `+02:00`, `-0500`). Digits after the milliseconds are
  /// ignored. `nil` for other texts, such as a time without a zone, which does not name a moment.
  public init?(iso8601 text: UnsafeBufferPointer<UInt8>) {
    if text.count == TimestampText.length, let milliseconds = TimestampText.parse(text) {
      self.init(millisecondsSince1970: milliseconds)
      return
    }
    guard let milliseconds = ISO8601.milliseconds(text) else { return nil }
    self.init(millisecondsSince1970: milliseconds)
  }

  /// Reads the forms of ISO 8601 that name a moment; see ``init(iso8601:)-(UnsafeBufferPointer<UInt8>)``.
  public init?(iso8601 text: String) {
    var copy = text
    guard let value = copy.withUTF8({ Date(iso8601: $0) }) else { return nil }
    self = value
  }
}

/// The general parser of `Date(iso8601:)`. It converts the text into the stored form, which the stored form's own
/// parser checks.
private enum ISO8601 {
  static func milliseconds(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
    guard text.count >= 17, text.count <= 40,
      text[10] == UInt8(ascii: "T") || text[10] == UInt8(ascii: " ") || text[10] == UInt8(ascii: "t")
    else { return nil }
    var canonical = Array("0000-00-00T00:00:00.000Z".utf8)
    for position in 0..<10 { canonical[position] = text[position] }
    for position in 11..<16 { canonical[position] = text[position] }
    var position = 16
    if text[position] == UInt8(ascii: ":") {
      guard text.count >= 20 else { return nil }
      for offset in 16..<19 { canonical[offset] = text[offset] }
      position = 19
      if text[position] == UInt8(ascii: ".") || text[position] == UInt8(ascii: ",") {
        position += 1
        let begin = position
        while position < text.count, text[position] &- 0x30 <= 9 {
          if position - begin < 3 { canonical[20 + position - begin] = text[position] }
          position += 1
        }
        if position == begin { return nil }
      }
    }
    guard let offset = zone(text[position...]), let local = canonical.withUnsafeBufferPointer(TimestampText.parse)
    else {
      return nil
    }
    let moment = local - offset * 60_000
    return TimestampText.range.contains(moment) ? moment : nil
  }

  // Minutes east of UTC.
  private static func zone(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
    let zone = Array(text)
    switch zone.first {
    case UInt8(ascii: "Z"), UInt8(ascii: "z"):
      return zone.count == 1 ? 0 : nil
    case UInt8(ascii: "+"), UInt8(ascii: "-"):
      let digits = zone.dropFirst().filter { $0 != UInt8(ascii: ":") }
      let isShaped = zone.count == 5 || zone.count == 6 && zone[3] == UInt8(ascii: ":")
      guard isShaped, digits.count == 4, digits.allSatisfy({ $0 &- 0x30 <= 9 }) else { return nil }
      let numbers = digits.map { Int64($0 - 0x30) }
      let (hours, minutes) = (numbers[0] * 10 + numbers[1], numbers[2] * 10 + numbers[3])
      guard hours < 24, minutes < 60 else { return nil }
      return (zone[0] == UInt8(ascii: "-") ? -1 : 1) * (hours * 60 + minutes)
    default:
      return nil
    }
  }
}

extension Date {
  /// The current time in whole milliseconds, so that a stored value reads back equal.
  public static func nowInMilliseconds() -> Date {
    Date(millisecondsSince1970: Clock.system.now())
  }

  /// Creates a time from milliseconds since 1970-01-01T00:00:00Z.
  @inlinable
  public init(millisecondsSince1970 milliseconds: Int64) {
    self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
  }

  /// The whole milliseconds since 1970-01-01T00:00:00Z.
  package var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1000).rounded()) }
}
