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
  var canonicalText: String { shortestDigits?.canonicalText(isNegative: number < 0) ?? "0" }

  private var shortestDigits: DecimalDigits? { DecimalDigits(number.description) }

  /// Whether a text has the digits that say this number: the fewest that read back as it.
  func isSaid(by text: String) -> Bool {
    guard let said = DecimalDigits(text) else { return false }
    return said == shortestDigits
  }
}
