#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The time and the randomness of one vault or one server: one clock, one random source, and what is drawn from both.
package struct Environment: Sendable {
  /// The clock.
  package let clock: Clock
  /// The random source.
  package let random: RandomSource
  /// The UUIDs of version 7 with the time of the clock.
  package let uuids: UUIDSource
  /// Returns numbers from 0 to 1 that spread the retries of devices that failed together.
  package let jitter: @Sendable () -> Double
  /// Whether clock and random source are those of the operating system, which SQLite uses by itself.
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
