import Dispatch
import Testing

@testable import Platform

/// The thread sanitizer runs these tests.
@Suite struct LockedTests {
  @Test("A lock protects the variables that its threads change")
  func protectsVariables() {
    // Changed under the lock only.
    final class Counter: @unchecked Sendable {
      let lock = Locked(())
      var count = 0
    }
    let counter = Counter()
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<300_000 { counter.lock.withLock { _ in counter.count += 1 } }
    }
    #expect(counter.count == 1_200_000)
  }

  @Test("A locked value is changed by one thread at a time")
  func protectsItsValue() {
    let count = Locked(0)
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<300_000 { count.withLock { $0 += 1 } }
    }
    #expect(count.withLock { $0 } == 1_200_000)
  }
}
