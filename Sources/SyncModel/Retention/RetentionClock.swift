/// The time by which a server forgets answers and deletions. It never runs faster than time passes, so that one wrong clock of
/// the machine forgets nothing too early. Forgetting late costs only space.
///
/// The wall clock may jump in both directions, and a monotonic clock tells nothing of the time before its process. So this
/// time is stored, and moves towards the wall clock by at most twice what a monotonic clock has measured. It never passes the
/// wall clock and never goes back.
public struct RetentionClock: Equatable, Sendable {
  /// The time, in milliseconds since 1970-01-01 UTC.
  public private(set) var now: Int64

  /// The stored time goes on.
  public init(stored: Int64) { now = stored }

  /// A time for data that have none yet: that of their last change, or of the wall clock where that is earlier.
  /// - Parameters:
  ///   - largestStored: the largest time at which anything was stored; nil when nothing is stored.
  ///   - wall: the wall clock.
  public init(largestStored: Int64?, wall: Int64) { now = min(largestStored ?? wall, wall) }

  /// Time has passed.
  /// - Parameters:
  ///   - elapsed: what a monotonic clock measured since the last call; 0 for the first one of a process.
  ///   - wall: the wall clock.
  public mutating func advance(by elapsed: Int64, wall: Int64) {
    let (doubled, overflows) = max(elapsed, 0).multipliedReportingOverflow(by: 2)
    let (reachable, passes) = now.addingReportingOverflow(overflows ? .max : doubled)
    now = max(now, min(wall, passes ? .max : reachable))
  }

  /// The time under which a change is stored: never before this time, so that a clock that was set back does not make a new
  /// deletion look old.
  public func storing(at wall: Int64) -> Int64 { max(now, wall) }

  /// What was stored before this may be forgotten.
  public func limit(days: Int) -> Int64 { now - Int64(days) * 86_400_000 }
}
