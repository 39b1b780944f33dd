import Platform

/// The requests that wait for the next change of an account. A waiting request uses no thread, and the requests of an account
/// share one timer.
package final class ChangeWaiters: Sendable {
  /// Why a wait ends.
  enum Wake: Equatable, Sendable {
    /// A change concerns the request.
    case told
    /// There may be a change.
    case look
    /// The time is over, the task is cancelled, or nobody waits any more.
    case ended
  }

  private struct Waiter {
    let request: ChangeRequest
    /// The number of the last change that the request knows.
    let seen: Int64
    /// When the wait ends.
    var due: ContinuousClock.Instant
    /// How the wait ends then.
    var wake = Wake.ended
    let continuation: CheckedContinuation<Wake, Never>
  }

  /// The last changes of an account.
  private struct RecentChanges {
    let epoch: String
    /// Every change after this number that was told is in ``changes``.
    var start: Int64
    var changes: [CommittedChanges] = []
    /// The numbers of the changes that were told, without ranges that touch. A gap is a notification that is lost or late.
    var told: [ClosedRange<Int64>] = []

    static let greatestCount = 64

    mutating func add(_ new: CommittedChanges) {
      var numbers = new.numbers
      told.removeAll { range in
        guard let joined = numbers.joined(with: range) else { return false }
        numbers = joined
        return true
      }
      told.append(numbers)
      if told.count > Self.greatestCount { told.removeFirst() }
      changes.append(new)
      guard changes.count > Self.greatestCount else { return }
      let forgotten = changes.prefix(Self.greatestCount / 2)
      start = max(start, forgotten.map(\.last).max() ?? 0)
      changes.removeFirst(forgotten.count)
    }

    /// Whether all changes with some numbers were told.
    func include(_ numbers: ClosedRange<Int64>) -> Bool { told.contains { $0.contains(numbers) } }

    /// Whether a change concerns a request; `nil` if the request began before these changes.
    func concern(_ request: ChangeRequest) -> Bool? {
      let position = request.position
      guard position.epoch == epoch, position.sequence >= start else { return nil }
      return changes.contains { $0.concern(request, seen: position.sequence) }
    }
  }

  private struct State {
    /// The number of changes so far. A request reads it before it looks for changes, so that it misses no change between
    /// looking and waiting.
    var generation = 0
    var isClosed = false
    var lastTicket = 0
    var waiting: [Int: Waiter] = [:]
    /// The last changes; `nil` if not every change is told, or no request has looked yet.
    var recent: RecentChanges?
    var timer: (due: ContinuousClock.Instant, task: Task<Void, any Error>)?
  }

  private let state = Locked(State())
  private let environment: Environment
  private var now: ContinuousClock.Instant { environment.clock.instant() }

  init(_ environment: Environment) { self.environment = environment }

  /// The number of requests that wait.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  // MARK: Changes

  /// Ends the waits that changes concern.
  package func tell(_ changes: CommittedChanges) { state.withLock { tell(changes, &$0) } }

  private func tell(_ changes: CommittedChanges, _ state: inout State) {
    state.generation += 1
    if changes.isNewEpoch { state.recent = nil } else { state.recent?.add(changes) }
    wake(state.waiting.filter { changes.concern($0.value.request, seen: $0.value.seen) }.map(\.key), .told, &state)
  }

  /// Whether all changes with some numbers were told. The answer may be no for changes that were told long ago.
  func hasTold(_ numbers: ClosedRange<Int64>) -> Bool { state.withLock { $0.recent?.include(numbers) == true } }

  /// Lets all requests look for changes, because some may have been missed.
  func letLook() {
    state.withLock { state in
      forget(&state)
      wake(Array(state.waiting.keys), .look, &state)
    }
  }

  /// Forgets the last changes, because nobody tells of the next ones.
  func forget() { state.withLock(forget) }

  private func forget(_ state: inout State) {
    state.generation += 1
    state.recent = nil
  }

  /// The time over which waits that end together are spread, for each of them, and at most: their devices would send their
  /// next requests at the same moment.
  private static let spread = (each: Duration.milliseconds(1), most: Duration.seconds(1))

  private func wake(_ tickets: [Int], _ wake: Wake, _ state: inout State) {
    let spread = min(Self.spread.each * (tickets.count - 1), Self.spread.most)
    let now = now
    for ticket in tickets {
      guard var waiter = state.waiting[ticket], waiter.wake != .told else { continue }
      waiter.wake = wake
      waiter.due = min(waiter.due, spread > .zero ? now + spread * environment.jitter() : now)
      state.waiting[ticket] = waiter
    }
    endDue(&state)
  }

  /// Ends all waits, now and later.
  func close() {
    state.withLock { state in
      state.isClosed = true
      for waiter in state.waiting.values { waiter.continuation.resume(returning: .ended) }
      state.waiting = [:]
      endDue(&state)
    }
  }

  // MARK: Waiting

  /// Begins or continues a wait.
  /// - Returns: the number of changes so far, and whether one of the last changes concerns the request; `nil` if that has
  ///   to be looked for.
  func begin(_ request: ChangeRequest) -> (generation: Int, isConcerned: Bool?) {
    state.withLock { ($0.generation, $0.recent?.concern(request)) }
  }

  /// Begins to keep the changes after a look, unless there was a change meanwhile.
  func keep(_ look: ChangeLook, generation: Int) {
    state.withLock { state in
      guard state.generation == generation, state.recent == nil || state.recent?.epoch != look.epoch else { return }
      state.recent = RecentChanges(epoch: look.epoch, start: look.last)
    }
  }

  /// Whether there was a change, concerning any device, after a number of changes.
  func hasChanged(since generation: Int) -> Bool { state.withLock { $0.generation != generation } }

  /// Waits for a change after a number of changes.
  /// - Parameter seen: the number of the last change that the request knows.
  func wait(
    after generation: Int, _ request: ChangeRequest, seen: Int64, until due: ContinuousClock.Instant
  ) async -> Wake {
    let ticket = state.withLock { state -> Int in
      state.lastTicket += 1
      return state.lastTicket
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        state.withLock { state in
          if state.generation != generation { return continuation.resume(returning: .look) }
          if state.isClosed || Task.isCancelled { return continuation.resume(returning: .ended) }
          state.waiting[ticket] = Waiter(request: request, seen: seen, due: due, continuation: continuation)
          arm(due, &state)
        }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: ticket) }?.continuation.resume(returning: .ended)
    }
  }

  // MARK: Timer

  /// Waits that are due within this time end together.
  private static let grain = Duration.milliseconds(10)

  /// Ends the waits that are due, and sets the timer for the next one.
  private func endDue(_ state: inout State) {
    let limit = now
    for (ticket, waiter) in state.waiting where waiter.due <= limit {
      state.waiting[ticket] = nil
      waiter.continuation.resume(returning: waiter.wake)
    }
    if let next = state.waiting.values.map(\.due).min() {
      arm(next, &state)
    } else {
      state.timer?.task.cancel()
      state.timer = nil
    }
  }

  /// Makes sure that the timer runs at a time.
  private func arm(_ due: ContinuousClock.Instant, _ state: inout State) {
    if let timer = state.timer {
      if timer.due <= due { return }
      timer.task.cancel()
    }
    let task = startTask { [weak self, environment] in
      let clock = environment.clock
      try await clock.sleepUntil(max(due, clock.instant() + Self.grain))
      guard let self else { return }
      self.state.withLock { state in
        // Another timer may have replaced this one meanwhile.
        if Task.isCancelled { return }
        state.timer = nil
        self.endDue(&state)
      }
    }
    state.timer = (due, task)
  }
}

/// A search for the changes that a request waits for.
package struct ChangeLook: Equatable, Sendable {
  let hasChange: Bool
  /// The end of the account's changes.
  let (epoch, last): (String, Int64)

  /// What to search.
  package struct Query: Sendable {
    let request: ChangeRequest
    /// The number of the last change that was found not to concern the request.
    let seen: Int64

    /// Searches.
    /// - Returns: `nil` if the data do not go on from the position of the request.
    package func perform(_ data: any RecordReading) throws -> ChangeLook? {
      guard try data.continues(from: request.position) else { return nil }
      return ChangeLook(
        hasChange: try data.hasChange(after: seen, projects: request.projects), epoch: try data.epochs.current,
        last: try data.lastSequence)
    }
  }
}

/// The waiting requests of all accounts, whether their databases are open or not.
package final class AccountWaiters: Sendable {
  private struct State {
    var isClosed = false
    /// Whether every later change will be told, so that a request at the end of the changes need not look for one.
    var isTold: Bool
    var accounts: [String: (name: AccountName, waiters: ChangeWaiters)] = [:]
  }

  private let state: Locked<State>
  private let environment: Environment

  /// Creates an empty set.
  /// - Parameter isTold: whether all changes are told, as in ``setTold(_:)``.
  package init(_ environment: Environment, isTold: Bool) {
    self.environment = environment
    state = Locked(State(isTold: isTold))
  }

  /// Returns the waiting requests of an account.
  package func waiters(of account: AccountName) -> ChangeWaiters {
    state.withLock { state in
      if let known = state.accounts[account.folder] { return known.waiters }
      let waiters = ChangeWaiters(environment)
      if state.isClosed { waiters.close() }
      state.accounts[account.folder] = (account, waiters)
      return waiters
    }
  }

  /// Waits until an account has a change that concerns a request, at most for its time or until ``close()``.
  /// - Parameter look: searches in one state of the account. A request that goes on from one of the last changes, or is told
  ///   of a change, needs no search.
  package func waitForChange(
    of account: AccountName, _ request: ChangeRequest,
    look: (ChangeLook.Query) async throws -> ChangeLook?
  ) async throws -> WaitResult {
    let waiters = waiters(of: account)
    let clock = environment.clock
    let due = clock.instant() + .seconds(request.seconds)
    var seen = request.position.sequence
    var (generation, isConcerned) = waiters.begin(request)
    while true {
      if isConcerned == true { return .changed }
      if isConcerned == nil {
        guard let found = try await look(ChangeLook.Query(request: request, seen: seen)) else {
          return .unknownPosition
        }
        if state.withLock({ $0.isTold }) { waiters.keep(found, generation: generation) }
        if found.hasChange { return .changed }
        seen = max(seen, found.last)
      }
      if clock.instant() < due {
        switch await waiters.wait(after: generation, request, seen: seen, until: due) {
        case .told: return .changed
        case .look:
          (generation, isConcerned) = waiters.begin(request)
          continue
        case .ended: break
        }
      }
      // Changes that did not concern the request have passed meanwhile.
      guard waiters.hasChanged(since: generation) else { return .unchanged(until: seen) }
      guard let last = try await look(ChangeLook.Query(request: request, seen: seen)) else { return .unknownPosition }
      return last.hasChange ? .changed : .unchanged(until: max(seen, last.last))
    }
  }

  /// The accounts with waiting requests.
  package var waitingAccounts: [AccountName] {
    state.withLock { Array($0.accounts.values) }.filter { $0.waiters.waitingCount > 0 }.map(\.name)
  }

  /// Sets whether every later change will be told.
  package func setTold(_ isTold: Bool) {
    let accounts = state.withLock { state in
      state.isTold = isTold
      return state.accounts.values.map(\.waiters)
    }
    for waiters in accounts { waiters.forget() }
  }

  /// Tells the requests that wait for changes of an account.
  /// - Parameter folder: the name of the account's folder.
  package func tell(_ changes: CommittedChanges, folder: String) {
    state.withLock { $0.accounts[folder]?.waiters }?.tell(changes)
  }

  /// Whether the requests of an account, if it has any, were told of all changes with some numbers. The answer may be no for
  /// changes that were told long ago.
  /// - Parameter folder: the name of the account's folder.
  package func hasTold(_ numbers: ClosedRange<Int64>, folder: String) -> Bool {
    state.withLock { $0.accounts[folder]?.waiters }?.hasTold(numbers) != false
  }

  /// Lets the requests of an account look for changes, because some may not have been told.
  /// - Parameter folder: the name of the account's folder.
  package func letLook(folder: String) { state.withLock { $0.accounts[folder]?.waiters }?.letLook() }

  /// Ends all waits, now and later.
  package func close() {
    let waiters = state.withLock { state in
      state.isClosed = true
      return state.accounts.values.map(\.waiters)
    }
    for waiter in waiters { waiter.close() }
  }
}
