import Foundation
import Platform
import Synchronization

/// A number that tasks and threads count up.
final class Counter: Sendable {
  private let count = Atomic<Int>(0)
  var value: Int { count.load(ordering: .acquiring) }

  @discardableResult
  func increment() -> Int { count.add(1, ordering: .acquiringAndReleasing).newValue }
}

/// The notes of tasks and threads, in the order in which they were made.
final class Notes<Value: Sendable>: Sendable {
  private let values = Locked<[Value]>([])
  var all: [Value] { values.withLock { $0 } }

  func add(_ value: Value) { values.withLock { $0.append(value) } }
}

/// Runs a body on another thread and waits for it.
func onAnotherThread(_ body: @escaping @Sendable () throws -> Void) throws {
  let done = DispatchSemaphore(value: 0)
  let result = Locked<Result<Void, any Error>>(.success(()))
  Thread.detachNewThread {
    let outcome = Result { try body() }
    result.withLock { $0 = outcome }
    done.signal()
  }
  done.wait()
  try result.withLock { $0 }.get()
}
