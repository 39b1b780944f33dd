/// The time by which a server forgets responses and deletions. It never runs faster than real time, so that a wrong
/// clock of the machine removes no data too early. Late removal costs only space.
///
/// The wall clock may jump in both directions, and a monotonic clock does not know the time before its process. So
/// this time is stored, and moves towards the wall clock by at most twice the duration that a monotonic clock has
/// measured. It never passes the wall clock and never goes backwards.
public struct RetentionClock: Equatable, Sendable {
  /// The time, in milliseconds since 1970-01-01 UTC.
  public private(set) var now: Int64

  /// Creates a clock that continues the stored time.
  public init(stored: Int64) { now = stored }

  /// Creates a clock for data without a stored time. It starts at the last change, or at the wall clock if that is
  /// earlier.
  /// - Parameters:
  ///   - largestStored: the largest stored time of a change; `nil` without data.
  ///   - wall: the wall clock.
  public init(largestStored: Int64?, wall: Int64) { now = min(largestStored ?? wall, wall) }

  /// Advances the time.
  /// - Parameters:
  ///   - elapsed: the duration that a monotonic clock measured since the last call; 0 for the first call of a
  ///     process.
  ///   - wall: the wall clock.
  public mutating func advance(by elapsed: Int64, wall: Int64) {
    let (doubled, overflows) = max(elapsed, 0).multipliedReportingOverflow(by: 2)
    let (reachable, passes) = now.addingReportingOverflow(overflows ? .max : doubled)
    now = max(now, min(wall, passes ? .max : reachable))
  }

  /// Returns the time to store with a change. It is never before this time, so that a clock that was set back does
  /// not make a new deletion look old.
  public func storing(at wall: Int64) -> Int64 { max(now, wall) }

  /// Returns the time before which stored changes may be forgotten.
  public func limit(days: Int) -> Int64 { now - Int64(days) * 86_400_000 }
}
