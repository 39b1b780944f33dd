import Platform
import ServerStorage

/// Opens the databases of accounts when they are needed, and keeps those open that were used last.
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

  private struct State {
    var isClosed = false
    /// The stores that are kept, with the number of the last request for each.
    var kept: [String: (store: Store, request: Int)] = [:]
    /// Stores that are no longer kept and may still be in use.
    var released: [String: WeakReference] = [:]
    /// The requests for accounts that are being opened.
    var waiting: [String: [Waiter]] = [:]
    var requests = 0

    /// Returns an open store, and the store that is released for it.
    mutating func find(_ folder: String, limit: Int) -> (store: Store, released: Store?)? {
      guard let store = kept[folder]?.store ?? released.removeValue(forKey: folder)?.store else { return nil }
      return (store, keep(store, folder, limit: limit))
    }

    /// - Returns: the store that is released. The caller lets it go after the lock, because it may close then.
    mutating func keep(_ store: Store, _ folder: String, limit: Int) -> Store? {
      requests += 1
      kept[folder] = (store, requests)
      guard kept.count > limit, let oldest = kept.min(by: { $0.value.request < $1.value.request }) else { return nil }
      kept[oldest.key] = nil
      released = released.filter { $0.value.store != nil }
      released[oldest.key] = WeakReference(store: oldest.value.store)
      return oldest.value.store
    }
  }

  private let state = Locked(State())
  private let limit: Int
  private let open: @Sendable (AccountName) throws -> Store

  /// - Parameters:
  ///   - limit: the number of accounts that are kept open.
  ///   - open: opens an account. Runs on a thread that no task needs.
  package init(limit: Int, open: @escaping @Sendable (AccountName) throws -> Store) {
    (self.limit, self.open) = (max(limit, 1), open)
  }

  /// Returns the store of an account, which stays open as long as the caller refers to it.
  /// - Throws: the error of opening it; ``ServerError`` with `busy` after ``removeAll()``.
  package func store(of account: AccountName) async throws -> Store {
    let folder = account.folder
    if let found = state.withLock({ $0.find(folder, limit: limit) }) { return found.store }
    let answer: Answer = await withCheckedContinuation { waiter in
      let (answer, released) = state.withLock { state -> (Answer?, Store?) in
        if let found = state.find(folder, limit: limit) { return (.success(found.store), found.released) }
        if state.isClosed { return (.failure(Self.isStopping), nil) }
        if state.waiting[folder] != nil {
          state.waiting[folder]?.append(waiter)
          return (nil, nil)
        }
        state.waiting[folder] = []
        return (.success(nil), nil)
      }
      if let answer { waiter.resume(returning: answer) }
      withExtendedLifetime(released) {}
    }
    if let store = try answer.get() { return store }
    let opened: Result<Store, any Error>
    do {
      opened = .success(try await offload { [open] in try open(account) })
    } catch {
      opened = .failure(error)
    }
    return try finish(opened, folder)
  }

  /// Keeps an opened store, and answers the requests that wait for it.
  private func finish(_ opened: Result<Store, any Error>, _ folder: String) throws -> Store {
    let (waiting, result, released) = state.withLock { state -> ([Waiter], Result<Store, any Error>, Store?) in
      let waiting = state.waiting.removeValue(forKey: folder) ?? []
      guard case .success(let store) = opened else { return (waiting, opened, nil) }
      if state.isClosed { return (waiting, .failure(Self.isStopping), nil) }
      return (waiting, opened, state.keep(store, folder, limit: limit))
    }
    for waiter in waiting { waiter.resume(returning: result.map { $0 }) }
    withExtendedLifetime(released) {}
    return try result.get()
  }

  /// Keeps a store that the caller has opened before the first request.
  package func keep(_ store: Store, of account: AccountName) {
    withExtendedLifetime(state.withLock { $0.keep(store, account.folder, limit: limit) }) {}
  }

  private static var isStopping: ServerError { ServerError(.busy, "the server is stopping") }

  /// Forgets all stores, which the caller closes, and opens no further account. Until then, uploads that a stopping server
  /// ends may need an account.
  package func removeAll() -> [Store] {
    state.withLock { state in
      state.isClosed = true
      let stores = state.kept.values.map(\.store) + state.released.values.compactMap(\.store)
      (state.kept, state.released) = ([:], [:])
      return stores
    }
  }
}
