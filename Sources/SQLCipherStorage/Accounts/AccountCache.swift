import Dispatch
import Platform
import ServerStorage

/// Opens the databases of accounts when they are needed. The accounts that were used last stay open until they have been
/// idle for a time.
///
/// Opening one account blocks no other. A store that is no longer kept closes with its last user, because its connections
/// close when nothing refers to them.
package final class AccountCache<Store: AnyObject & Sendable>: Sendable {
  /// `nil` stands for a store that the caller has to open.
  private typealias Answer = Result<Store?, any Error>
  private typealias Waiter = CheckedContinuation<Answer, Never>

  private struct WeakReference {
    weak var store: Store?
  }

  private struct Kept {
    let store: Store
    /// The number of the last request.
    var request: Int
    var lastUse: ContinuousClock.Instant
  }

  private struct State {
    var isClosed = false
    var kept: [String: Kept] = [:]
    /// Stores that are no longer kept and may still be in use.
    var released: [String: WeakReference] = [:]
    /// Whether a store has closed since memory was last returned to the system.
    var hasClosedStores = false
    /// The requests for accounts that are being opened.
    var waiting: [String: [Waiter]] = [:]
    var requests = 0
    /// Closes idle accounts; `nil` while no account is open.
    var sweeping: Task<Void, any Error>?

    /// Returns an open store, and the store that is released for it.
    mutating func find(
      _ folder: String, at now: ContinuousClock.Instant, limit: Int
    ) -> (store: Store, released: Store?)? {
      if let store = kept[folder]?.store { return (store, keep(store, folder, at: now, limit: limit)) }
      guard let reference = released.removeValue(forKey: folder) else { return nil }
      guard let store = reference.store else {
        hasClosedStores = true
        return nil
      }
      return (store, keep(store, folder, at: now, limit: limit))
    }

    /// - Returns: the store that is released. The caller lets it go after the lock, because it may close then.
    mutating func keep(_ store: Store, _ folder: String, at now: ContinuousClock.Instant, limit: Int) -> Store? {
      requests += 1
      kept[folder] = Kept(store: store, request: requests, lastUse: now)
      guard kept.count > limit, let oldest = kept.min(by: { $0.value.request < $1.value.request }) else { return nil }
      return release(oldest.key)
    }

    private mutating func release(_ folder: String) -> Store? {
      guard let store = kept.removeValue(forKey: folder)?.store else { return nil }
      released[folder] = WeakReference(store: store)
      return store
    }

    /// Releases the stores that were last used at a time or before, in the order of their use.
    mutating func release(unusedSince time: ContinuousClock.Instant) -> [Store] {
      let idle = kept.filter { $0.value.lastUse <= time }.sorted { $0.value.request < $1.value.request }
      return idle.compactMap { release($0.key) }
    }

    /// Forgets the released stores that have closed. Returns whether any store has closed since the last call.
    mutating func forgetClosed() -> Bool {
      let open = released.filter { $0.value.store != nil }
      defer { (released, hasClosedStores) = (open, false) }
      return hasClosedStores || open.count < released.count
    }
  }

  private let state = Locked(State())
  /// The accounts that are being opened or closed by this cache.
  private let changing = DispatchGroup()
  /// The number of accounts that are kept open.
  let limit: Int
  private let idleTime: Duration
  private let clock: Clock
  private let open: @Sendable (AccountName) throws -> Store
  private let close: @Sendable (Store) -> Bool
  private let returnMemory: @Sendable () -> Void

  /// - Parameters:
  ///   - limit: the number of accounts that are kept open.
  ///   - idleTime: the time after its last request at which an account closes, or up to a quarter later.
  ///   - returnMemory: returns freed memory to the system.
  ///   - close: ends the work of a store and closes it. Returns whether it is closed.
  ///   - open: opens an account. Runs on a thread that no task needs.
  package init(
    limit: Int, idleTime: Duration = .seconds(60), clock: Clock,
    returnMemory: @escaping @Sendable () -> Void = ProcessResources.returnFreedMemory,
    close: @escaping @Sendable (Store) -> Bool, open: @escaping @Sendable (AccountName) throws -> Store
  ) {
    (self.limit, self.idleTime, self.clock) = (max(limit, 1), idleTime, clock)
    (self.returnMemory, self.close, self.open) = (returnMemory, close, open)
  }

  deinit { state.withLock { $0.sweeping?.cancel() } }

  /// Returns the store of an account, which stays open as long as the caller refers to it.
  /// - Throws: the error of opening it; ``ServerError`` with `busy` after ``closeAll(waitingAtMost:)``.
  package func store(of account: AccountName) async throws -> Store {
    let folder = account.folder
    if let found = find(folder) { return found }
    let answer: Answer = await withCheckedContinuation { waiter in
      let (answer, released) = state.withLock { state -> (Answer?, Store?) in
        if let found = state.find(folder, at: clock.instant(), limit: limit) {
          return (.success(found.store), found.released)
        }
        if state.isClosed { return (.failure(Self.isStopping), nil) }
        if state.waiting[folder] != nil {
          state.waiting[folder]?.append(waiter)
          return (nil, nil)
        }
        state.waiting[folder] = []
        changing.enter()
        return (.success(nil), nil)
      }
      if let answer { waiter.resume(returning: answer) }
      withExtendedLifetime(released) {}
    }
    if let store = try answer.get() { return store }
    return try await offload { [self] in
      // Here and not in the task, because `closeAll` may block the thread that the task would need.
      defer { changing.leave() }
      return try finish(Result { try open(account) }, folder)
    }
  }

  /// The number of open accounts.
  var openCount: Int {
    state.withLock { state in state.kept.count + state.released.values.count { $0.store != nil } }
  }

  private func find(_ folder: String) -> Store? {
    state.withLock { $0.find(folder, at: clock.instant(), limit: limit) }?.store
  }

  /// Keeps an opened store, and answers the requests that wait for it. Closes a store that was opened too late.
  private func finish(_ opened: Result<Store, any Error>, _ folder: String) throws -> Store {
    let (waiting, result, leaving) = state.withLock { state -> ([Waiter], Result<Store, any Error>, Store?) in
      let waiting = state.waiting.removeValue(forKey: folder) ?? []
      guard case .success(let store) = opened else { return (waiting, opened, nil) }
      if state.isClosed { return (waiting, .failure(Self.isStopping), store) }
      return (waiting, opened, keep(store, folder, in: &state))
    }
    // Its jobs have begun. Letting it go would not end them.
    if case .failure = result, let leaving { _ = close(leaving) }
    for waiter in waiting { waiter.resume(returning: result.map { $0 }) }
    withExtendedLifetime(leaving) {}
    return try result.get()
  }

  /// Keeps a store that the caller has opened before the first request.
  package func keep(_ store: Store, of account: AccountName) {
    withExtendedLifetime(state.withLock { keep(store, account.folder, in: &$0) }) {}
  }

  private func keep(_ store: Store, _ folder: String, in state: inout State) -> Store? {
    if state.sweeping == nil { state.sweeping = startSweeping() }
    return state.keep(store, folder, at: clock.instant(), limit: limit)
  }

  private static var isStopping: ServerError { ServerError(.busy, "the server is stopping") }

  // MARK: Closing

  /// Closes idle accounts until no account is open.
  private func startSweeping() -> Task<Void, any Error> {
    startTask { [weak self, clock, idleTime] in
      var pause = idleTime
      while true {
        try await clock.sleep(pause)
        guard let next = await self?.closeIdle() else { return }
        pause = next
      }
    }
  }

  /// Closes the accounts that have been idle for ``idleTime``, except those in use, and returns their memory to the system.
  /// - Returns: the time until the next call; `nil` if no account is open.
  func closeIdle() async -> Duration? {
    await offload { [self] in
      let isClosed = state.withLock { state in
        if !state.isClosed { changing.enter() }
        return state.isClosed
      }
      if isClosed { return nil }
      defer { changing.leave() }
      // The stores close in this call, after the lock.
      releaseIdle()
      if state.withLock({ $0.forgetClosed() }) { returnMemory() }
      return state.withLock { timeUntilSweep(&$0) }
    }
  }

  private func releaseIdle() {
    withExtendedLifetime(state.withLock { $0.release(unusedSince: clock.instant() - idleTime) }) {}
  }

  private func timeUntilSweep(_ state: inout State) -> Duration? {
    guard let oldest = state.kept.values.map(\.lastUse).min() else {
      guard state.released.isEmpty else { return idleTime }
      state.sweeping = nil
      return nil
    }
    // A pause, so that accounts that were used one after the other close together.
    return max(idleTime / 4, oldest + idleTime - clock.instant())
  }

  /// Closes all stores, including those that are being opened, and opens no further account. Until then, uploads that a
  /// stopping server ends may need an account.
  /// - Parameter limit: the time that this thread waits for accounts that are being opened or closed.
  /// - Returns: whether all stores are closed.
  package func closeAll(waitingAtMost limit: Duration) -> Bool {
    let stores = state.withLock { state in
      state.isClosed = true
      state.sweeping?.cancel()
      let stores = state.kept.values.map(\.store) + state.released.values.compactMap(\.store)
      (state.kept, state.released) = ([:], [:])
      return stores
    }
    var areClosed = true
    for store in stores where !close(store) { areClosed = false }
    return changing.wait(timeout: .now() + limit / .seconds(1)) == .success && areClosed
  }
}
