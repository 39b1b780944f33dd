/// A generator with a seed (SplitMix64), so that a run can be repeated.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  /// The generator of one run of a scenario.
  init(seed: UInt64, scenario: String, run: Int) {
    state = scenario.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 } ^ (UInt64(run) &* 0x9E37_79B9_7F4A_7C15)
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
