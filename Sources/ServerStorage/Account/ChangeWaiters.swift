import Platform

/// The requests that wait for the next change of an account. A waiting request uses no thread.
package final class ChangeWaiters: Sendable {
  private struct State {
    var generation = 0
    var isClosed = false
    var lastTicket = 0
    var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
  }

  private let state = Locked(State())
  private let clock: Clock

  /// Creates an empty set.
  package init(clock: Clock) { self.clock = clock }

  /// The number of changes so far. A request reads it before it looks for changes, so that it misses no change between
  /// looking and waiting.
  package var generation: Int { state.withLock { $0.generation } }

  /// Whether a request waits.
  var isWaiting: Bool { state.withLock { !$0.waiting.isEmpty } }

  /// Wakes the waiting requests after a change.
  package func signal() {
    let waiting = state.withLock { state -> [CheckedContinuation<Bool, Never>] in
      state.generation += 1
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume(returning: true) }
  }

  /// Ends all waits.
  package func close() {
    let waiting = state.withLock { state -> [CheckedContinuation<Bool, Never>] in
      state.isClosed = true
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume(returning: false) }
  }

  /// Waits for a change after a generation: true when there is one, false when the time is over or the task cancelled.
  package func wait(after generation: Int, seconds: Int) async -> Bool {
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
package final class AccountWaiters: Sendable {
  private struct State {
    var isClosed = false
    var accounts: [String: (name: AccountName, waiters: ChangeWaiters)] = [:]
  }

  private let state = Locked(State())
  private let clock: Clock

  /// Creates an empty set.
  package init(clock: Clock) { self.clock = clock }

  /// Returns the waiting requests of an account.
  package func waiters(of account: AccountName) -> ChangeWaiters {
    state.withLock { state in
      if let known = state.accounts[account.folder] { return known.waiters }
      let waiters = ChangeWaiters(clock: clock)
      if state.isClosed { waiters.close() }
      state.accounts[account.folder] = (account, waiters)
      return waiters
    }
  }

  /// Waits until an account has a change after a number of its sequence, at most for some seconds or until ``close()``.
  /// - Parameter look: returns whether there is a change after a number, and the number of the account's last change. A
  ///   number that was looked at is not looked at again, so that a wait costs no more than the changes meanwhile.
  package func waitForChange(
    of account: AccountName, after sequence: Int64, seconds: Int,
    look: (_ after: Int64) async throws -> (hasChange: Bool, last: Int64)
  ) async throws -> WaitResult {
    let waiters = waiters(of: account)
    let end = clock.instant() + .seconds(seconds)
    var seen = sequence
    while true {
      let generation = waiters.generation
      let found = try await look(seen)
      if found.hasChange { return .changed }
      seen = max(seen, found.last)
      let left = end - clock.instant()
      guard left > .zero, await waiters.wait(after: generation, seconds: max(1, Int(left.components.seconds))) else {
        return .unchanged(until: seen)
      }
    }
  }

  /// The accounts with waiting requests.
  package var waitingAccounts: [AccountName] {
    state.withLock { Array($0.accounts.values) }.filter(\.waiters.isWaiting).map(\.name)
  }

  /// Wakes the requests that wait for a change of an account, which another node has changed.
  /// - Parameter folder: the name of the account's folder.
  package func signal(folder: String) { state.withLock { $0.accounts[folder]?.waiters }?.signal() }

  /// Ends all waits, now and later.
  package func close() {
    let waiters = state.withLock { state in
      state.isClosed = true
      return state.accounts.values.map(\.waiters)
    }
    for waiter in waiters { waiter.close() }
  }
}
