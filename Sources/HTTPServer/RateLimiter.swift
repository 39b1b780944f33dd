import Platform

/// Limits the burst and the sustained rate of requests of each user (a token bucket).
package final class RateLimiter: Sendable {
  private struct Bucket {
    var level: Double
    var filledAt: ContinuousClock.Instant
  }

  private let burst: Double
  private let perSecond: Double
  private let clock: Clock
  private let buckets = Locked<[Int64: Bucket]>([:])

  package init(burst: Int, perSecond: Int, clock: Clock) {
    self.clock = clock
    self.burst = Double(max(burst, 1))
    self.perSecond = Double(max(perSecond, 1))
  }

  /// Counts a request. Returns `nil` if it is allowed; otherwise the seconds to wait.
  package func secondsToWait(for user: Int64) -> Int? {
    let now = clock.instant()
    return buckets.withLock { buckets in
      // A full bucket equals none, so buckets of inactive users are removed.
      if buckets.count > 10_000 { buckets = buckets.filter { level(of: $0.value, now) < burst } }
      var bucket = buckets[user] ?? Bucket(level: burst, filledAt: now)
      bucket.level = level(of: bucket, now)
      bucket.filledAt = now
      let passes = bucket.level >= 1
      if passes { bucket.level -= 1 }
      buckets[user] = bucket
      return passes ? nil : max(1, Int(((1 - bucket.level) / perSecond).rounded(.up)))
    }
  }

  private func level(of bucket: Bucket, _ now: ContinuousClock.Instant) -> Double {
    let seconds = Double((now - bucket.filledAt).wholeMilliseconds) / 1000
    return min(burst, bucket.level + max(0, seconds) * perSecond)
  }
}
