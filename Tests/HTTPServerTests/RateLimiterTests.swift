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

  @Test("Another rate applies at once, and users keep what they have used of the burst")
  func anotherRate() {
    let time = TestClock(isRunning: false)
    let limiter = RateLimiter(burst: 4, perSecond: 1, clock: time.clock)
    for _ in 0..<3 { #expect(limiter.secondsToWait(for: 1) == nil) }
    limiter.change(burst: 5, perSecond: 10)
    #expect((0..<3).map { _ in limiter.secondsToWait(for: 1) } == [nil, nil, 1])
    #expect((0..<6).map { _ in limiter.secondsToWait(for: 2) } == [nil, nil, nil, nil, nil, 1])
    time.advance(by: .milliseconds(200))
    #expect((0..<3).map { _ in limiter.secondsToWait(for: 1) } == [nil, nil, 1])
    limiter.change(burst: 1, perSecond: 1)
    time.advance(by: .milliseconds(4_000))
    #expect(limiter.secondsToWait(for: 1) == 1)
    time.advance(by: .milliseconds(1_000))
    #expect((0..<2).map { _ in limiter.secondsToWait(for: 1) } == [nil, 1])
  }
}
