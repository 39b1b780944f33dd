import TestSupport
import Testing

@testable import HTTPServer

/// The limit on the requests of a user.
@Suite struct RateLimiterTests {
  @Test("The rate limiter refills with time") func bucketsFillWithTime() {
    let time = TestClock(isRunning: false)
    let limiter = RateLimiter(burst: 2, perSecond: 1, clock: time.clock)
    #expect((0..<3).map { _ in limiter.secondsToWait(for: 1) } == [nil, nil, 1])
    #expect(limiter.secondsToWait(for: 2) == nil)
    time.advance(by: .milliseconds(500))
    #expect(limiter.secondsToWait(for: 1) == 1)
    time.advance(by: .milliseconds(1_500))
    #expect(limiter.secondsToWait(for: 1) == nil)
  }
}
