import CipherSQL
import ServerStorage

/// The requests that wait for the next change of an account. A waiting request uses no thread.
final class ChangeWaiters: Sendable {
  private struct State {
    var generation = 0
    var isClosed = false
    var lastTicket = 0
    var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
  }

  private let state = Locked(State())
  private let clock: Clock

  init(clock: Clock) { self.clock = clock }

  /// The number of changes so far. A request reads it before it looks for changes, so that it misses no change between
  /// looking and waiting.
  var generation: Int { state.withLock { $0.generation } }

  /// Wakes the waiting requests after a change.
  func signal() {
    let waiting = state.withLock { state -> [CheckedContinuation<Bool, Never>] in
      state.generation += 1
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume(returning: true) }
  }

  /// Ends all waits.
  func close() {
    let waiting = state.withLock { state -> [CheckedContinuation<Bool, Never>] in
      state.isClosed = true
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume(returning: false) }
  }

  /// Waits for a change after a generation: true when there is one, false when the time is over or the task cancelled.
  func wait(after generation: Int, seconds: Int) async -> Bool {
    let ticket = state.withLock { state -> Int in
      state.lastTicket += 1
      return state.lastTicket
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let known = state.withLock { state -> Bool? in
          if state.generation != generation { return true }
          if state.isClosed || Task.isCancelled { return false }
          state.waiting[ticket] = continuation
          return nil
        }
        if let known { return continuation.resume(returning: known) }
        startTask { [weak self, clock] in
          try await clock.sleep(.seconds(seconds))
          self?.end(ticket)
        }
      }
    } onCancel: {
      end(ticket)
    }
  }

  private func end(_ ticket: Int) {
    state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume(returning: false)
  }
}

/// The waiting requests of all accounts, whether their databases are open or not.
final class AccountWaiters: Sendable {
  private struct State {
    var isClosed = false
    var waiters: [String: ChangeWaiters] = [:]
  }

  private let state = Locked(State())
  private let clock: Clock

  init(clock: Clock) { self.clock = clock }

  /// Returns the waiting requests of an account.
  func waiters(of account: AccountName) -> ChangeWaiters {
    state.withLock { state in
      if let known = state.waiters[account.folder] { return known }
      let waiters = ChangeWaiters(clock: clock)
      if state.isClosed { waiters.close() }
      state.waiters[account.folder] = waiters
      return waiters
    }
  }

  /// Ends all waits, now and later.
  func close() {
    let waiters = state.withLock { state in
      state.isClosed = true
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.close() }
  }
}
