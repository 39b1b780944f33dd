import Platform

/// Work that goes on beside the pages: it reports its progress, and ends with a result, an error or a cancellation.
final class BackgroundWork<Progress: Sendable, Value: Sendable>: Sendable {
  private struct State {
    var progress: Progress
    var result: Result<Value, any Error>?
    var isCancelled = false
    var task: Task<Void, Never>?
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var nextWaiter = 0
  }

  /// The time at which the work began.
  let start: ContinuousClock.Instant
  private let clock: Clock
  private let state: Locked<State>

  /// Begins the work.
  /// - Parameters:
  ///   - progress: the progress until the work reports another one.
  ///   - body: the work. Its task is cancelled with the work; work on another thread asks ``isCancelled``.
  init(_ progress: Progress, _ clock: Clock, _ body: @escaping @Sendable (BackgroundWork) async throws -> Value) {
    (self.clock, start, state) = (clock, clock.instant(), Locked(State(progress: progress)))
    let task = startTask { [self] in
      do { end(.success(try await body(self))) } catch { end(.failure(error)) }
    }
    // Work that has ended already does not keep its task.
    state.withLock { if $0.result == nil { $0.task = task } }
  }

  var progress: Progress { state.withLock { $0.progress } }
  /// The result; `nil` while the work goes on.
  var result: Result<Value, any Error>? { state.withLock { $0.result } }
  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Changes the progress.
  func report(_ change: (inout Progress) -> Void) { state.withLock { change(&$0.progress) } }

  /// Asks the work to end.
  func cancel() {
    let task = state.withLock { state in
      state.isCancelled = true
      return state.task
    }
    task?.cancel()
  }

  /// Returns when the work has ended, or after a time.
  func wait(atMost limit: Duration) async {
    guard limit > .zero else { return }
    let (id, timer) = (
      state.withLock { state in
        state.nextWaiter += 1
        return state.nextWaiter
      }, Locked<Task<Void, any Error>?>(nil)
    )
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.result == nil { state.waiters[id] = continuation }
        return state.result != nil
      }
      if isOver { return continuation.resume() }
      let task = startTask { [self] in
        try await clock.sleep(limit)
        wake(id)
      }
      timer.withLock { $0 = task }
    }
    timer.withLock { $0 }?.cancel()
  }

  private func wake(_ id: Int) { state.withLock { $0.waiters.removeValue(forKey: id) }?.resume() }

  private func end(_ result: Result<Value, any Error>) {
    let waiters = state.withLock { state in
      (state.result, state.task) = (result, nil)
      defer { state.waiters = [:] }
      return state.waiters.values.map { $0 }
    }
    for waiter in waiters { waiter.resume() }
  }
}
