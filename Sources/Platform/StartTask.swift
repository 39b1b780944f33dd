import Dispatch

/// A task executor with one thread, on which blocking work runs in place.
///
/// A simulation has one. Its tasks never leave the executor, so that one seed fixes the order of everything.
package protocol SingleThreadExecutor: TaskExecutor {}

/// The executor that the current task prefers.
package enum PreferredExecutor {
  /// The executor; `nil` outside of a task, for a task without a preference, and on systems that do not report it.
  package static var current: (any TaskExecutor)? {
    #if compiler(>=6.3)
      guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else { return nil }
      return withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
    #else
      return nil
    #endif
  }

  /// Whether blocking work runs in place.
  package static var isSingleThread: Bool { current is any SingleThreadExecutor }
}

/// Starts a task that the cancellation of the current task does not reach, on the executor that the current task
/// prefers. `Task.init` inherits actor and priority, but not this executor.
/// - Parameter priority: `nil` for the priority of the current task.
@discardableResult
package func startTask<Success: Sendable>(
  priority: TaskPriority? = nil, _ body: @escaping @Sendable () async throws -> Success
) -> Task<Success, any Error> {
  Task(executorPreference: PreferredExecutor.current, priority: priority, operation: body)
}

/// Starts a task that does not throw; see ``startTask(priority:_:)``.
@discardableResult
package func startTask<Success: Sendable>(
  _ body: @escaping @Sendable () async -> Success
) -> Task<Success, Never> {
  Task(executorPreference: PreferredExecutor.current, operation: body)
}

/// Runs blocking or long work on a thread that no task needs.
package func offload<Success: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () throws(Failure) -> Success
) async throws(Failure) -> Success {
  if PreferredExecutor.isSingleThread { return try body() }
  let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Success, Failure>, Never>) in
    DispatchQueue.global(qos: .utility).async { continuation.resume(returning: Result(catching: body)) }
  }
  return try result.get()
}

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
