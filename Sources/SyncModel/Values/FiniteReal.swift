/// A double that is a number: neither NaN nor infinite. Its two texts are those of JSON.
public struct FiniteReal: Equatable, Sendable {
  /// Never infinite and always a number.
  public let number: Double

  /// Nil when `number` is NaN or infinite.
  public init?(_ number: Double) {
    guard number.isFinite else { return nil }
    self.number = number
  }

  /// The shortest text that reads back as this number, and as a REAL: it has a point or an exponent (`1.0`, `1e+16`).
  var text: String { number.description }

  /// The text that ECMAScript's `Number::toString` gives, as RFC 8785 (section 3.2.2.3) wants it: `1`, `1e+21`, and
  /// `0` for negative zero.
  ///
  /// Swift's own text has the same digits (the fewest that read back, of those the closest); only the placing of
  /// point and exponent differs.
  var canonicalText: String {
    guard number != 0 else { return "0" }
    let (digits, point) = decimalDigits
    let sign = number < 0 ? "-" : ""
    if point > 21 || point < -5 {
      let fraction = digits.count > 1 ? "." + String(decoding: digits.dropFirst(), as: UTF8.self) : ""
      let exponent = point - 1
      let first = String(decoding: digits.prefix(1), as: UTF8.self)
      return "\(sign)\(first)\(fraction)e\(exponent < 0 ? "-" : "+")\(exponent.magnitude)"
    }
    if point <= 0 {
      return sign + "0." + String(repeating: "0", count: -point) + String(decoding: digits, as: UTF8.self)
    }
    if point >= digits.count {
      return sign + String(decoding: digits, as: UTF8.self) + String(repeating: "0", count: point - digits.count)
    }
    return sign + String(decoding: digits.prefix(point), as: UTF8.self) + "."
      + String(decoding: digits.dropFirst(point), as: UTF8.self)
  }

  /// The significant digits without zeros at either end, and how many of them stand before the decimal point.
  private var decimalDigits: (digits: [UInt8], point: Int) {
    var digits: [UInt8] = []
    var exponent = 0
    var pointAt: Int?
    let bytes = Array(number.magnitude.description.utf8)
    for (index, byte) in bytes.enumerated() {
      switch byte {
      case UInt8(ascii: "."): pointAt = digits.count
      case UInt8(ascii: "e"):
        exponent = Int(String(decoding: bytes[(index + 1)...], as: UTF8.self)) ?? 0
        return Self.trimmed(digits, point: (pointAt ?? digits.count) + exponent)
      default: digits.append(byte)
      }
    }
    return Self.trimmed(digits, point: pointAt ?? digits.count)
  }

  private static func trimmed(_ digits: [UInt8], point: Int) -> (digits: [UInt8], point: Int) {
    let zero = UInt8(ascii: "0")
    let leading = digits.prefix { $0 == zero }.count
    var kept = digits.dropFirst(leading)
    while kept.last == zero { kept.removeLast() }
    return (Array(kept), point - leading)
  }
}
