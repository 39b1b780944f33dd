import CipherSQL
import ServerStorage
import SyncModel

/// The ``RetentionClock`` of a running server, with the monotonic clock that drives it. The directory stores its time.
final class ServerClock: Sendable {
  private struct State {
    var clock: RetentionClock?
    var last: ContinuousClock.Instant
  }

  private let directory: any AccountDirectory
  private let clock: Clock
  private let state: Locked<State>

  init(_ directory: any AccountDirectory, _ clock: Clock) throws {
    (self.directory, self.clock) = (directory, clock)
    state = Locked(
      State(
        clock: try directory.retentionTime().map(RetentionClock.init(stored:)),
        last: clock.instant()))
  }

  /// Whether the server has no time yet, as after an upgrade from version 0.1.
  var needsBeginning: Bool { state.withLock { $0.clock == nil } }

  /// Starts the clock at the time of the last change.
  func begin(largestStored: Int64?, wall: Int64) {
    state.withLock { state in
      if state.clock == nil { state.clock = RetentionClock(largestStored: largestStored, wall: wall) }
    }
  }

  /// Advances the time by the duration of the monotonic clock, and stores it.
  func advance(wall: Int64) throws -> RetentionClock {
    let clock = state.withLock { state in
      let now = self.clock.instant()
      var clock = state.clock ?? RetentionClock(largestStored: nil, wall: wall)
      clock.advance(by: Int64(state.last.duration(to: now) / .milliseconds(1)), wall: wall)
      (state.clock, state.last) = (clock, now)
      return clock
    }
    try directory.storeRetentionTime(clock.now)
    return clock
  }

  /// Returns the time under which a change is stored.
  func storing(at wall: Int64) -> Int64 { state.withLock { $0.clock?.storing(at: wall) ?? wall } }
}
