import Foundation

/// A random number generator (SplitMix64, https://prng.di.unimi.it/splitmix64.c) that repeats its numbers for a seed, so
/// that a failed run can be repeated.
package struct Seeded: RandomNumberGenerator, Sendable {
  /// The seed, for the message of a failure.
  package let seed: UInt64
  private var state: UInt64

  /// Creates the generator of a seed.
  package init(_ seed: UInt64) { (self.seed, state) = (seed, seed) }

  /// Creates the generator of one part of a run.
  package init(_ seed: UInt64, _ part: String, _ number: Int) {
    self.seed = seed
    state = part.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 } ^ (UInt64(number) &* 0x9e37_79b9_7f4a_7c15)
  }

  /// Creates the generator of a property test, whose seed is ``freshSeed(_:)``.
  package init(of test: String = #function) { self.init(freshSeed(test)) }

  /// Returns the next number.
  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

extension RandomNumberGenerator {
  /// Returns true with a probability.
  package mutating func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }

  /// Returns a number of a range.
  package mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &self) }

  /// Returns one of several elements.
  package mutating func pick<Element>(_ elements: [Element]) -> Element { elements[number(0..<elements.count)] }

  /// Returns random bytes. A longer result starts with the bytes of a shorter one.
  package mutating func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count { withUnsafeBytes(of: next().littleEndian) { bytes.append(contentsOf: $0) } }
    return Array(bytes.prefix(count))
  }
}

/// Returns the seed of a property test and prints it: `TEST_SEED` of the environment, or a new seed.
package func freshSeed(_ test: String = #function) -> UInt64 {
  let given = ProcessInfo.processInfo.environment["TEST_SEED"].flatMap { UInt64($0) }
  let seed = given ?? UInt64.random(in: 0..<1 << 48)
  print("\(test): TEST_SEED=\(seed)")
  return seed
}
