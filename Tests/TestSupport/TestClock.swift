import Platform

/// A clock that starts at any time and advances when a test says so.
///
/// A sleep ends when the clock has advanced to its end.
package final class TestClock: Sendable {
  private let start: Int64
  private let begin = ContinuousClock.now
  private let isRunning: Bool
  private let added = Locked(Duration.zero)

  /// Creates a clock.
  /// - Parameters:
  ///   - start: the wall time at which it starts, in milliseconds since 1970.
  ///   - isRunning: whether it advances with the time of the system as well.
  package init(_ start: Int64 = Clock.system.now(), isRunning: Bool = true) {
    (self.start, self.isRunning) = (start, isRunning)
  }

  /// Advances the clock at once.
  package func advance(by duration: Duration) { added.withLock { $0 += duration } }

  /// The wall time in milliseconds since 1970.
  package var now: Int64 { start + Int64(elapsed / .milliseconds(1)) }

  /// The clock for an environment.
  package var clock: Clock {
    Clock(
      now: { self.now }, instant: { self.begin + self.elapsed },
      sleepUntil: { end in
        while self.begin + self.elapsed < end { try await Task.sleep(for: .milliseconds(2)) }
      })
  }

  private var elapsed: Duration {
    added.withLock { $0 } + (isRunning ? ContinuousClock.now - begin : .zero)
  }
}

extension RandomSource {
  /// Returns a source that repeats its bytes for a seed.
  package static func repeatable(_ seed: UInt64) -> RandomSource {
    let state = Locked(seed)
    return RandomSource { buffer in
      state.withLock { state in
        for index in buffer.indices {
          state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          buffer[index] = UInt8(truncatingIfNeeded: state >> 56)
        }
      }
    }
  }
}
