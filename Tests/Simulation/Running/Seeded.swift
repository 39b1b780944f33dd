/// A generator with a seed (SplitMix64), so that the choices of a run can be made again.
struct Seeded: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  /// The generator of one part of a run.
  init(_ seed: UInt64, _ part: String, _ number: Int) {
    state = part.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 } ^ (UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// True with a probability.
  mutating func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }

  mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &self) }
}
