/// A double that is a number: neither NaN nor infinite. Its two texts are those of JSON.
public struct FiniteReal: Equatable, Sendable {
  /// The number, neither NaN nor infinite.
  public let number: Double

  /// Creates a value; `nil` if `number` is NaN or infinite.
  public init?(_ number: Double) {
    guard number.isFinite else { return nil }
    self.number = number
  }

  /// The shortest text that reads back as this number, and as a REAL: it has a point or an exponent (`1.0`, `1e+16`).
  var text: String { number.description }

  /// The text of ECMAScript's `Number::toString`, which RFC 8785 (section 3.2.2.3) requires: `1`, `1e+21`, and `0` for
  /// negative zero.
  ///
  /// Swift's text has the same digits (the fewest that read back, and the closest of them). Only the position of point
  /// and exponent differs.
  var canonicalText: String { shortestDigits?.canonicalText(isNegative: number < 0) ?? "0" }

  private var shortestDigits: DecimalDigits? { DecimalDigits(number.description) }

  /// Returns whether a text has the shortest digits that read back as this number.
  func isSaid(by text: String) -> Bool {
    guard let said = DecimalDigits(text) else { return false }
    return said == shortestDigits
  }
}
