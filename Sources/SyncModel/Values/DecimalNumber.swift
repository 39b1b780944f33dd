/// A number as its decimal digits: the value of `0.DIGITS` times 10 to the power of `point`.
struct DecimalDigits: Equatable, Sendable {
  /// The digits in ASCII, without zeros at either end; empty for zero.
  let digits: [UInt8]
  /// The number of digits before the decimal point; negative for zeros after it. 0 for zero.
  let point: Int

  /// Reads the digits of a JSON number. Ignores the sign.
  ///
  /// Returns `nil` if the exponent has more than nine digits. Programs cannot use such a value.
  init?(_ text: some StringProtocol) {
    var digits: [UInt8] = []
    var pointAt: Int?
    var exponent = 0
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits.append(byte)
      case UInt8(ascii: "-"), UInt8(ascii: "+"): continue
      case UInt8(ascii: "e"), UInt8(ascii: "E"):
        guard let number = Int(String(decoding: rest, as: UTF8.self)), number.magnitude < 1_000_000_000 else {
          return nil
        }
        exponent = number
        rest = rest[rest.endIndex...]
      default: pointAt = digits.count
      }
    }
    let zero = UInt8(ascii: "0")
    let leading = digits.prefix { $0 == zero }.count
    var kept = digits.dropFirst(leading)
    while kept.last == zero { kept.removeLast() }
    self.digits = Array(kept)
    point = kept.isEmpty ? 0 : (pointAt ?? digits.count) + exponent - leading
  }

  /// Returns the number in the format of ECMAScript's `Number::toString` (RFC 8785, section 3.2.2.3), with all digits:
  /// `1`, `1e+21`, `0`.
  func canonicalText(isNegative: Bool) -> String {
    guard !digits.isEmpty else { return "0" }
    let sign = isNegative ? "-" : ""
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
}

/// A JSON number that neither 64 bits nor a double represent in the same digits. It is stored and sent unchanged.
///
/// With at most 17 digits it counts as the nearest double (RFC 8785), in the form in which many programs write it.
/// With more digits, or beyond every double, it counts as its digits.
public struct DecimalNumber: Equatable, Sendable {
  /// The unchanged text of the number.
  public let text: String
  /// The canonical text of the number, in the format of a double.
  let canonicalText: String

  init?(_ text: String) {
    guard let digits = DecimalDigits(text) else { return nil }
    self.text = text
    let nearest = Double(text).flatMap(FiniteReal.init)
    if let nearest, nearest.number != 0, digits.digits.count <= 17 {
      canonicalText = nearest.canonicalText
    } else {
      canonicalText = digits.canonicalText(isNegative: text.utf8.first == UInt8(ascii: "-"))
    }
  }

  /// The nearest double; `nil` if it is infinite.
  package var nearestReal: FiniteReal? { Double(text).flatMap(FiniteReal.init) }

  /// Returns whether both are the same number, in any form.
  public static func == (left: DecimalNumber, right: DecimalNumber) -> Bool {
    left.canonicalText == right.canonicalText
  }
}
