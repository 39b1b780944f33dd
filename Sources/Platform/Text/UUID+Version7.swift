import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension UUID {
  /// Creates a version 7 UUID (RFC 9562, section 5.7): 48 bits of Unix time in milliseconds, then a counter, then 62
  /// random bits. Values of one process ascend, also within a millisecond and when the clock steps back.
  public static func version7() -> UUID { UUIDSource.system.next() }
}

/// A source of version 7 UUIDs. The values of one source ascend, also within a millisecond and when the clock steps back
/// (method 1 of RFC 9562, section 6.2: the counter continues, and carries into the time when it overflows).
package final class UUIDSource: Sendable {
  /// The source of ``Foundation/UUID/version7()``.
  package static let system = UUIDSource(clock: .system, random: .system)

  private let clock: Clock
  private let random: RandomSource
  // Time in the upper 48 bits, the 12-bit counter below.
  private let lastStamp = Atomic<UInt64>(0)

  /// Creates a source with the time of a clock and the bits of a random source.
  package init(clock: Clock, random: RandomSource) { (self.clock, self.random) = (clock, random) }

  /// Returns the next UUID.
  package func next() -> UUID {
    // A new millisecond starts its counter at 0.
    let now = UInt64(max(0, clock.now())) << 12
    var last = lastStamp.load(ordering: .relaxed)
    while true {
      let stamp = max(last + 1, now)
      let (isSet, found) = lastStamp.weakCompareExchange(expected: last, desired: stamp, ordering: .relaxed)
      if isSet { return UUID(stamp: stamp, random: random.number()) }
      last = found
    }
  }
}

extension UUID {
  fileprivate init(stamp: UInt64, random: UInt64) {
    let time = stamp >> 12
    let upper = time << 16 | 0x7000 | stamp & 0xfff
    let lower = 0x8000_0000_0000_0000 | random >> 2
    func byte(_ value: UInt64, _ shift: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: value >> shift) }
    self.init(
      uuid: (
        byte(upper, 56), byte(upper, 48), byte(upper, 40), byte(upper, 32),
        byte(upper, 24), byte(upper, 16), byte(upper, 8), byte(upper, 0),
        byte(lower, 56), byte(lower, 48), byte(lower, 40), byte(lower, 32),
        byte(lower, 24), byte(lower, 16), byte(lower, 8), byte(lower, 0)
      ))
  }
}
