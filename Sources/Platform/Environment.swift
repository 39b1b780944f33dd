import CPlatform

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The time and the randomness of one vault or one server: a clock, a random source, and the values that are drawn from
/// both.
package struct Environment: Sendable {
  /// The clock.
  package let clock: Clock
  /// The random source.
  package let random: RandomSource
  /// The UUIDs of version 7 with the time of the clock.
  package let uuids: UUIDSource
  /// Returns numbers from 0 to 1 that spread the retries of devices that failed together.
  package let jitter: @Sendable () -> Double
  /// Whether clock and random source are those of the operating system, which SQLite uses by default.
  package let isSystem: Bool

  /// Creates an environment for a test or a simulation.
  /// - Parameter jitter: the spread of retries; `nil` draws it from the random source.
  package init(clock: Clock, random: RandomSource, jitter: (@Sendable () -> Double)? = nil) {
    self.init(
      clock: clock, random: random, uuids: UUIDSource(clock: clock, random: random), jitter: jitter, isSystem: false)
  }

  private init(
    clock: Clock, random: RandomSource, uuids: UUIDSource, jitter: (@Sendable () -> Double)?, isSystem: Bool
  ) {
    (self.clock, self.random, self.uuids, self.isSystem) = (clock, random, uuids, isSystem)
    self.jitter = jitter ?? { random.fraction() }
  }

  /// The clock and the random generator of the operating system.
  package static let system = Environment(
    clock: .system, random: .system, uuids: .system, jitter: nil, isSystem: true)

  /// Returns the environment of the operating system with a fixed spread of retries.
  package static func system(jitter: @escaping @Sendable () -> Double) -> Environment {
    Environment(clock: .system, random: .system, uuids: .system, jitter: jitter, isSystem: true)
  }

  /// The wall time in milliseconds since 1970-01-01T00:00:00Z.
  package var now: Int64 { clock.now() }

  /// The wall time in whole milliseconds, so that a stored value reads back equal.
  package var date: Date { Date(millisecondsSince1970: now) }
}

/// A source of random bytes: keys, salts, nonces, UUIDs and jitter.
///
/// Programs use ``system``. Tests, the simulator and test vectors inject their own sources.
public struct RandomSource: Sendable {
  /// Writes every byte of a buffer.
  public let fill: @Sendable (UnsafeMutableRawBufferPointer) -> Void

  /// Creates a source from a closure that writes every byte of the buffer.
  public init(_ fill: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void) { self.fill = fill }

  /// The cryptographic generator of the operating system. It writes straight into the buffer, so that no copy of a key
  /// remains elsewhere.
  public static let system = RandomSource { buffer in
    let isFilled = buffer.baseAddress.map { cplatform_random($0, buffer.count) == 0 } ?? true
    // The system fails only on kernels without the generator. A program must not go on with predictable keys.
    precondition(isFilled, "the system has no random generator")
  }

  /// Returns bytes that are not secret, such as salts, nonces and identifiers.
  package func bytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
      fill(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[0..<count]))
      initializedCount = count
    }
  }

  /// Returns a number of 64 random bits.
  package func number() -> UInt64 {
    var number: UInt64 = 0
    withUnsafeMutableBytes(of: &number) { fill($0) }
    return number
  }

  /// Returns a number from 0 up to, but not including, 1.
  package func fraction() -> Double { Double(number() >> 11) * 0x1p-53 }
}
