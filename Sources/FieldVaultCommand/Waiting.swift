import CommandLineKit
import Dispatch
import Platform

/// Runs asynchronous work for a synchronous command: the thread of the command waits and processes its events.
enum Waiting {
  /// Runs work to its end. SIGINT and SIGTERM cancel it if `isStoppable`. It then ends in an orderly way.
  /// - Parameter taking: called on this thread with the events of the work.
  static func run<News: Sendable, Value: Sendable>(
    isStoppable: Bool = true, taking: (News) throws -> Void,
    _ work: @escaping @Sendable (_ tell: @escaping @Sendable (News) -> Void) async throws -> Value
  ) throws -> Value {
    let box = Box<News, Value>()
    let task = Task {
      do {
        box.put(.ended(.success(try await work { box.put(.news($0)) })))
      } catch {
        box.put(.ended(.failure(error)))
      }
    }
    if isStoppable { Signals.onStop { _ in task.cancel() } }
    while true {
      switch box.take() {
      case .news(let news):
        do {
          try taking(news)
        } catch {
          // The reader has closed the pipe. Operations in flight return to the outbox before the program ends.
          task.cancel()
          while true { if case .ended = box.take() { throw error } }
        }
      case .ended(let result): return try result.get()
      }
    }
  }

  /// Runs short work without progress.
  static func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) throws -> Value {
    try run(isStoppable: false, taking: { (_: Never) in }) { _ in try await work() }
  }
}

/// Hands things from tasks to a thread that waits for them.
private final class Box<News: Sendable, Value: Sendable>: Sendable {
  enum Content: Sendable {
    case news(News)
    case ended(Result<Value, any Error>)
  }

  private let contents = Locked<[Content]>([])
  private let arrived = DispatchSemaphore(value: 0)

  func put(_ content: Content) {
    contents.withLock { $0.append(content) }
    arrived.signal()
  }

  func take() -> Content {
    arrived.wait()
    return contents.withLock { $0.removeFirst() }
  }
}
