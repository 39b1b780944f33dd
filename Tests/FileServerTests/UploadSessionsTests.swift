import CipherSQL
import Testing

@testable import FileServer

@Suite struct UploadSessionsTests {
  @Test("A cancelled request that waits for an upload to end still waits between its looks")
  func cancelledWait() async throws {
    let sleeps = Locked((all: 0, cancelled: 0))
    let system = Clock.system
    let clock = Clock(now: system.now, instant: system.instant) { end in
      let isCancelled = Task.isCancelled
      sleeps.withLock { sleeps in
        sleeps.all += 1
        if isCancelled { sleeps.cancelled += 1 }
      }
      try await system.sleepUntil(end)
    }
    let sessions = UploadSessions(limit: 1, clock: clock)
    _ = try sessions.claim("upload", for: 1)
    let waiting = Task {
      while !Task.isCancelled { await Task.yield() }
      await sessions.waitForAll(atMost: .milliseconds(20))
    }
    waiting.cancel()
    await waiting.value
    #expect(sleeps.withLock { $0.all } > 0)
    #expect(sleeps.withLock { $0.cancelled } == 0)
  }
}
