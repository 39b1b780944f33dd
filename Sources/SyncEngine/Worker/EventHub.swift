import CipherSQL

/// Hands what is told to everybody who listens.
final class EventHub<Event: Sendable>: Sendable {
  private struct State {
    var listeners: [Int: AsyncStream<Event>.Continuation] = [:]
    var next = 0
  }
  private let state = Locked(State())
  private let capacity: Int

  /// - Parameter capacity: how much is kept for one who does not keep up; the oldest is missed.
  init(keeping capacity: Int) { self.capacity = capacity }

  deinit { state.withLock { $0.listeners.values.forEach { $0.finish() } } }

  func tell(_ event: Event) { state.withLock { $0.listeners.values.forEach { $0.yield(event) } } }

  /// What is told from now on.
  func events() -> AsyncStream<Event> {
    let (stream, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(capacity))
    let number = state.withLock { state in
      state.next += 1
      state.listeners[state.next] = continuation
      return state.next
    }
    continuation.onTermination = { [weak self] _ in
      // Not in the call that ends it, which can hold the lock.
      Task { self?.state.withLock { $0.listeners[number] = nil } }
    }
    return stream
  }
}
