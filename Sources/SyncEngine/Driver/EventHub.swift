import CipherSQL

/// Sends events to all listeners.
final class EventHub<Event: Sendable>: Sendable {
  private struct State {
    var listeners: [Int: AsyncStream<Event>.Continuation] = [:]
    var next = 0
  }
  private let state = Locked(State())
  private let capacity: Int

  /// - Parameter capacity: the number of events that are kept for a slow listener. It misses the oldest.
  init(keeping capacity: Int) { self.capacity = capacity }

  deinit { state.withLock { $0.listeners.values.forEach { $0.finish() } } }

  func tell(_ event: Event) { state.withLock { $0.listeners.values.forEach { $0.yield(event) } } }

  /// The events from now on.
  func events() -> AsyncStream<Event> {
    let (stream, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(capacity))
    let number = state.withLock { state in
      state.next += 1
      state.listeners[state.next] = continuation
      return state.next
    }
    continuation.onTermination = { [weak self] _ in
      // Not in the call that ends it, which can hold the lock.
      startTask { [weak self] in self?.state.withLock { $0.listeners[number] = nil } }
    }
    return stream
  }
}
