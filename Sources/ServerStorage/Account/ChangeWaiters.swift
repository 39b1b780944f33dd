import Platform

/// The devices that changes of an account concern.
package struct ChangeScope: Equatable, Sendable {
  /// The projects of the changed records; `nil` for all devices, because a record without a project changed.
  package private(set) var projects: Set<String>?

  /// Creates a scope; `nil` for all devices.
  package init(_ projects: Set<String>? = nil) { self.projects = projects }

  /// Adds other changes.
  package mutating func formUnion(_ other: ChangeScope) {
    projects = projects.flatMap { own in other.projects.map { own.union($0) } }
  }

  /// Whether changes concern a device that follows projects; `nil` for a device that follows all.
  package func concerns(_ followed: Set<String>?) -> Bool {
    guard let projects, let followed else { return true }
    return !projects.isDisjoint(with: followed)
  }
}

/// The requests that wait for the next change of an account. A waiting request uses no thread.
package final class ChangeWaiters: Sendable {
  private struct Waiter {
    let projects: Set<String>?
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var generation = 0
    var isClosed = false
    var lastTicket = 0
    var waiting: [Int: Waiter] = [:]
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

  /// Wakes the waiting requests that changes concern.
  package func signal(_ scope: ChangeScope = ChangeScope()) {
    let woken = state.withLock { state -> [Waiter] in
      state.generation += 1
      let woken = state.waiting.filter { scope.concerns($0.value.projects) }
      for ticket in woken.keys { state.waiting[ticket] = nil }
      return Array(woken.values)
    }
    for waiter in woken { waiter.continuation.resume(returning: true) }
  }

  /// Ends all waits.
  package func close() {
    let waiting = state.withLock { state -> [Waiter] in
      state.isClosed = true
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for waiter in waiting { waiter.continuation.resume(returning: false) }
  }

  /// Waits for a change after a generation: true when there is one, false when the time is over or the task cancelled.
  /// - Parameter projects: the projects whose changes end the wait; `nil` for all.
  package func wait(after generation: Int, projects: Set<String>? = nil, seconds: Int) async -> Bool {
    let ticket = state.withLock { state -> Int in
      state.lastTicket += 1
      return state.lastTicket
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let known = state.withLock { state -> Bool? in
          if state.generation != generation { return true }
          if state.isClosed || Task.isCancelled { return false }
          state.waiting[ticket] = Waiter(projects: projects, continuation: continuation)
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
    state.withLock { $0.waiting.removeValue(forKey: ticket) }?.continuation.resume(returning: false)
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
  /// - Parameters:
  ///   - projects: only changes of these projects, and of records without a project, count; `nil` for all.
  ///   - look: returns whether there is a change after a number, and the number of the account's last change. A
  ///     number that was looked at is not looked at again, so that a wait costs no more than the changes meanwhile.
  package func waitForChange(
    of account: AccountName, after sequence: Int64, projects: Set<String>?, seconds: Int,
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
      if left > .zero,
        await waiters.wait(after: generation, projects: projects, seconds: max(1, Int(left.components.seconds)))
      {
        continue
      }
      // Changes that did not concern the request have passed meanwhile.
      guard waiters.generation != generation else { return .unchanged(until: seen) }
      let last = try await look(seen)
      return last.hasChange ? .changed : .unchanged(until: max(seen, last.last))
    }
  }

  /// The accounts with waiting requests.
  package var waitingAccounts: [AccountName] {
    state.withLock { Array($0.accounts.values) }.filter(\.waiters.isWaiting).map(\.name)
  }

  /// Wakes the requests that wait for a change of an account.
  /// - Parameter folder: the name of the account's folder.
  package func signal(folder: String, _ scope: ChangeScope = ChangeScope()) {
    state.withLock { $0.accounts[folder]?.waiters }?.signal(scope)
  }

  /// Ends all waits, now and later.
  package func close() {
    let waiters = state.withLock { state in
      state.isClosed = true
      return state.accounts.values.map(\.waiters)
    }
    for waiter in waiters { waiter.close() }
  }
}
