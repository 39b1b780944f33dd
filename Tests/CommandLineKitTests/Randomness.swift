import Foundation

/// A small generator (SplitMix64) that repeats its numbers for a seed.
///
/// `FIELDVAULT_SEED=7 swift test` runs every property with seed 7; otherwise the seed is new each time and printed.
struct Randomness: RandomNumberGenerator {
  let seed: UInt64
  private var state: UInt64

  init(_ property: String) {
    let given = ProcessInfo.processInfo.environment["FIELDVAULT_SEED"].flatMap { UInt64($0) }
    seed = given ?? UInt64.random(in: 0...9_999_999)
    state = seed
    print("\(property): FIELDVAULT_SEED=\(seed)")
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

  /// Text with what is hard about text: quotes, controls, marks, wide characters, dashes at the start.
  mutating func text(upTo length: Int = 8) -> String {
    let letters = [
      "a", "b", "Z", "7", " ", "-", "=", ":", ".", "\"", "\\", "'", "/", "\n", "\t", "\u{1B}", "\u{0}", "\u{7F}",
      "\u{9B}", "é", "e\u{301}", "ß", "漢", "👩‍🚒", "🇩🇪", "\u{2028}", "\u{2029}", "\u{202E}", "\u{61C}", "\u{301}",
      "\u{FFFD}",
    ]
    return (0..<Int.random(in: 0...length, using: &self)).map { _ in pick(letters) }.joined()
  }
}
