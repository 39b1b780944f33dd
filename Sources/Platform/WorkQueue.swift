import Dispatch

/// A serial queue for blocking work, on a thread that no task needs. A task with a ``SingleThreadExecutor`` performs the
/// work in place.
package final class WorkQueue: Sendable {
  private let queue: DispatchQueue

  /// Creates a queue with a name for debuggers.
  package init(_ name: String) { queue = DispatchQueue(label: name) }

  /// Adds work, and returns at once.
  package func add(_ work: @escaping @Sendable () -> Void) {
    if PreferredExecutor.isSingleThread { return work() }
    queue.async(execute: work)
  }

  /// Adds work, and waits for its result.
  package func perform<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    if PreferredExecutor.isSingleThread { return work() }
    return await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: work()) }
    }
  }

  /// Blocks the thread until all added work is done.
  package func wait() { queue.sync {} }
}
