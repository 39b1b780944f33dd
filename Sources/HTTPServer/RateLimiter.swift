import Platform

/// Limits the burst and the sustained rate of requests of each user (a token bucket).
package final class RateLimiter: Sendable {
  private struct Bucket {
    var level: Double
    var filledAt: ContinuousClock.Instant
  }

  private struct State {
    var burst: Double
    var perSecond: Double
    var buckets: [Int64: Bucket] = [:]

    init(burst: Int, perSecond: Int) {
      (self.burst, self.perSecond) = (Double(max(burst, 1)), Double(max(perSecond, 1)))
    }

    func level(of bucket: Bucket, _ now: ContinuousClock.Instant) -> Double {
      let seconds = Double((now - bucket.filledAt).wholeMilliseconds) / 1000
      return min(burst, bucket.level + max(0, seconds) * perSecond)
    }
  }

  private let clock: Clock
  private let state: Locked<State>

  package init(burst: Int, perSecond: Int, clock: Clock) {
    self.clock = clock
    state = Locked(State(burst: burst, perSecond: perSecond))
  }

  /// Limits requests by another burst and rate from now on. Users keep what they have used of the former burst.
  package func change(burst: Int, perSecond: Int) {
    let now = clock.instant()
    state.withLock { state in
      var new = State(burst: burst, perSecond: perSecond)
      let former = state
      new.buckets = former.buckets.mapValues { bucket in
        Bucket(level: new.burst - (former.burst - former.level(of: bucket, now)), filledAt: now)
      }
      state = new
    }
  }

  /// Counts a request. Returns `nil` if it is allowed; otherwise the seconds to wait.
  package func secondsToWait(for user: Int64) -> Int? {
    let now = clock.instant()
    return state.withLock { state in
      // A full bucket equals none, so buckets of inactive users are removed.
      if state.buckets.count > 10_000 {
        state.buckets = state.buckets.filter { state.level(of: $0.value, now) < state.burst }
      }
      var bucket = state.buckets[user] ?? Bucket(level: state.burst, filledAt: now)
      bucket.level = state.level(of: bucket, now)
      bucket.filledAt = now
      let passes = bucket.level >= 1
      if passes { bucket.level -= 1 }
      state.buckets[user] = bucket
      return passes ? nil : max(1, Int(((1 - bucket.level) / state.perSecond).rounded(.up)))
    }
  }
}
