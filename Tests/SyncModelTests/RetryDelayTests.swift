import Testing

@testable import SyncModel

@Suite struct RetryDelayTests {
  @Test("A retry waits at least 1, 2, 4, 8 and 16 s, and at most half of that longer")
  func stepsAndJitter() {
    #expect((0..<5).map { RetryDelay.milliseconds(afterRetries: $0, jitter: 0) } == [1000, 2000, 4000, 8000, 16_000])
    #expect((0..<5).map { RetryDelay.milliseconds(afterRetries: $0, jitter: 1) } == [1500, 3000, 6000, 12_000, 24_000])
    var random = Randomness()
    for _ in 0..<1000 {
      let (retries, jitter) = (Int.random(in: -3...80, using: &random), Double.random(in: -1...2, using: &random))
      let delay = RetryDelay.milliseconds(afterRetries: retries, jitter: jitter)
      let step = RetryDelay.milliseconds(afterRetries: retries, jitter: 0)
      #expect(delay >= step && delay <= step + step / 2, "\(retries) retries, jitter \(jitter)")
    }
  }
}
