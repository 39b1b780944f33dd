#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The time that a vault, the sync engine or a server sees.
///
/// Programs use ``system``. Tests and the simulator inject their own clocks.
package struct Clock: Sendable {
  /// The wall time in milliseconds since 1970-01-01T00:00:00Z. It steps when the user or the network sets the clock.
  package let now: @Sendable () -> Int64
  /// The time for durations. It never steps back, and it advances while the machine sleeps.
  package let instant: @Sendable () -> ContinuousClock.Instant
  /// Waits for a duration. Throws `CancellationError` when the task is cancelled.
  package let sleep: @Sendable (Duration) async throws -> Void

  /// Creates a clock from its three functions.
  package init(
    now: @escaping @Sendable () -> Int64, instant: @escaping @Sendable () -> ContinuousClock.Instant,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    (self.now, self.instant, self.sleep) = (now, instant, sleep)
  }

  /// The clock of the operating system.
  package static let system = Clock(
    now: {
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }, instant: { ContinuousClock.now }, sleep: { try await Task.sleep(for: $0) })
}
