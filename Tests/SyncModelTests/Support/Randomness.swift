import Foundation

@testable import SyncModel

/// A small generator (SplitMix64) that repeats its numbers for a seed.
///
/// `TEST_SEED=7 swift test` runs every property with seed 7; otherwise the seed is new each time and printed.
struct Randomness: RandomNumberGenerator {
  let seed: UInt64
  private var state: UInt64
  /// Whether a set column sometimes has a value that is not an array.
  var hasOddSets = true

  init(_ property: String = #function) {
    let given = ProcessInfo.processInfo.environment["TEST_SEED"].flatMap { UInt64($0) }
    seed = given ?? UInt64.random(in: 0...9_999_999)
    state = seed
    print("SyncModelTests \(property): TEST_SEED=\(seed)")
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: elements.indices, using: &self)]
  }

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
        chance(50)
        ? Double(bitPattern: next())
        : Double(Int.random(in: -2_000_000...2_000_000, using: &self)) / pick([1, 10, 100, 1e-15, 1e15])
      if let real = FiniteReal(number) { return real }
    }
  }

  mutating func value(depth: Int = 3) -> SyncValue {
    switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &self) {
    case 0: .null
    case 1: .bool(chance(50))
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
