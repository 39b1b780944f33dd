import Foundation
import TestSupport

@testable import SyncModel

/// A seeded generator of JSON values and records.
struct Randomness: RandomNumberGenerator {
  private var numbers: Seeded
  var seed: UInt64 { numbers.seed }
  /// Whether a set column sometimes has a value that is not an array.
  var hasOddSets = true

  init(_ property: String = #function) { numbers = Seeded(of: property) }

  mutating func next() -> UInt64 { numbers.next() }

  /// Text with difficult characters: quotes, controls, two spellings of one letter, characters beyond U+FFFF.
  mutating func text(upTo length: Int = 6) -> String {
    let letters = [
      "a", "b", "Z", "7", " ", "\"", "\\", "/", "\n", "\t", "\u{1B}", "\u{0}", "\u{7F}", "é", "e\u{301}", "漢", "👩‍🚒",
      "\u{2028}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}",
    ]
    return (0..<Int.random(in: 0...length, using: &self)).map { _ in pick(letters) }.joined()
  }

  /// A double of random bits, or a number that people write.
  mutating func real() -> FiniteReal {
    while true {
      let number =
        chance(0.5)
        ? Double(bitPattern: next())
        : Double(Int.random(in: -2_000_000...2_000_000, using: &self)) / pick([1, 10, 100, 1e-15, 1e15])
      if let real = FiniteReal(number) { return real }
    }
  }

  mutating func value(depth: Int = 3) -> SyncValue {
    switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &self) {
    case 0: .null
    case 1: .bool(chance(0.5))
    case 2: .integer(Int64(truncatingIfNeeded: next() >> UInt64.random(in: 0..<64, using: &self)))
    case 3: .real(real())
    case 4, 5: .text(text())
    case 6: .array((0..<Int.random(in: 0...4, using: &self)).map { _ in value(depth: depth - 1) })
    default:
      .object(SyncObject((0..<Int.random(in: 0...4, using: &self)).map { _ in (text(), value(depth: depth - 1)) }))
    }
  }
}

extension SyncValue {
  static func number(_ number: Double) -> SyncValue { SyncValue(real: number) ?? .null }
}
