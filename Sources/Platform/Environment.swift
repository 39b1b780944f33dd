/// The time and the randomness of one vault or one server: one clock, one random source, and UUIDs from both.
package struct Environment: Sendable {
  /// The clock.
  package let clock: Clock
  /// The random source.
  package let random: RandomSource
  /// The UUIDs of version 7 with the time of the clock.
  package let uuids: UUIDSource
  /// Whether both come from the operating system.
  package let isSystem: Bool

  /// Creates an environment for a test or a simulation.
  package init(clock: Clock, random: RandomSource) {
    self.init(clock: clock, random: random, uuids: UUIDSource(clock: clock, random: random), isSystem: false)
  }

  private init(clock: Clock, random: RandomSource, uuids: UUIDSource, isSystem: Bool) {
    (self.clock, self.random, self.uuids, self.isSystem) = (clock, random, uuids, isSystem)
  }

  /// The clock and the random generator of the operating system.
  package static let system = Environment(
    clock: .system, random: .system, uuids: .system, isSystem: true)

  /// The wall time in milliseconds since 1970-01-01T00:00:00Z.
  package var now: Int64 { clock.now() }
}
