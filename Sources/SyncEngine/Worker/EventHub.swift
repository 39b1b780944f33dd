import CipherSQL

/// Hands events to everybody who listens.
final class EventHub: Sendable {
  private struct State {
    var listeners: [Int: AsyncStream<SyncEvent>.Continuation] = [:]
    var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
    var next = 0
  }
  private let state = Locked(State())

  deinit {
    state.withLock { state in
      state.listeners.values.forEach { $0.finish() }
      state.waiting.values.forEach { $0.finish() }
    }
  }

  func tell(_ event: SyncEvent) { state.withLock { $0.listeners.values.forEach { $0.yield(event) } } }

  /// The events from now on. One who does not keep up misses the oldest.
  func events() -> AsyncStream<SyncEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: SyncEvent.self, bufferingPolicy: .bufferingNewest(256))
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

  /// Tells that a round is over, whatever came of it.
  func roundEnded() { state.withLock { $0.waiting.values.forEach { $0.yield() } } }

  /// The ends of rounds from now on; of several that nobody waited for the last. A stream of its own, because one who lags
  /// behind many events must not miss an end.
  func roundEnds() -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.next += 1
      state.waiting[state.next] = continuation
      return state.next
    }
    continuation.onTermination = { [weak self] _ in
      Task { self?.state.withLock { $0.waiting[number] = nil } }
    }
    return stream
  }
}
