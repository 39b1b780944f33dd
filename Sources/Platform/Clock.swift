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
  /// Waits until ``instant`` has reached a value. Throws `CancellationError` when the task is cancelled.
  package let sleepUntil: @Sendable (ContinuousClock.Instant) async throws -> Void
  /// The CPU time that the current thread has used, in nanoseconds.
  package let threadTime: @Sendable () -> Int64

  /// Creates a clock from its functions.
  package init(
    now: @escaping @Sendable () -> Int64, instant: @escaping @Sendable () -> ContinuousClock.Instant,
    sleepUntil: @escaping @Sendable (ContinuousClock.Instant) async throws -> Void,
    threadTime: @escaping @Sendable () -> Int64 = { nanoseconds(CLOCK_THREAD_CPUTIME_ID) }
  ) {
    (self.now, self.instant, self.sleepUntil, self.threadTime) = (now, instant, sleepUntil, threadTime)
  }

  /// Waits for a duration. Throws `CancellationError` when the task is cancelled.
  package func sleep(_ duration: Duration) async throws { try await sleepUntil(instant() + duration) }

  /// Waits for a duration, also in a cancelled task. There, ``sleep`` would return at once.
  package func sleepThroughCancellation(_ duration: Duration) async {
    _ = await startTask { try await sleep(duration) }.result
  }

  /// The clock of the operating system.
  package static let system = Clock(
    now: { nanoseconds(CLOCK_REALTIME) / 1_000_000 }, instant: { ContinuousClock.now },
    sleepUntil: { try await Task.sleep(until: $0, clock: .continuous) })
}

/// Returns the time of a clock of the operating system.
private func nanoseconds(_ clock: clockid_t) -> Int64 {
  var time = timespec()
  clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
