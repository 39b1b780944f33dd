import CSQLCipher
import Platform
import Synchronization

/// The results of a query: the current result, and the result after each transaction that changed it.
///
/// ```swift
/// for try await rooms in database.observe({ db in try Room.all.fetch(db) }) { show(rooms) }
/// ```
///
/// Yields the current result first. The query runs again only after a transaction that changed a table or column that
/// it reads. A result that equals the last one is not yielded. If changes come faster than the consumer reads, only
/// the newest result is delivered. A commit of another process runs the query again within
/// ``Configuration/otherProcessInterval``.
public struct Observation<Value: Sendable & Equatable>: AsyncSequence, Sendable {
  /// The result of the query.
  public typealias Element = Value

  let database: Database
  let query: @Sendable (Connection) throws -> Value

  /// Begins to observe. Each iterator has its own observation, which yields the current result first.
  public func makeAsyncIterator() -> Iterator {
    Iterator(database: database, query: query)
  }

  /// Iterates over the results. Ends when the database is closed.
  public final class Iterator: AsyncIteratorProtocol {
    private let database: Database
    private let query: @Sendable (Connection) throws -> Value
    private let signal: ChangeSignal
    private let registration: UInt64
    private var last: Value?

    init(database: Database, query: @escaping @Sendable (Connection) throws -> Value) {
      let signal = ChangeSignal()
      (self.database, self.query, self.signal) = (database, query, signal)
      // Registered before the first look, so that no change falls between the two.
      registration = database.addObserver { region, virtualTables in signal.receive(region, virtualTables) }
    }

    deinit { database.removeObserver(registration) }

    /// Returns the next result.
    /// - Throws: the errors of the query; `CancellationError` if the task is cancelled.
    public func next() async throws -> Value? {
      while true {
        guard try await signal.wait() else { return nil }
        let query = query
        let (value, reads) = try await database.read { connection in
          connection.observedReads = AccessedRegion()
          defer { connection.observedReads = nil }
          let value = try query(connection)
          return (value, connection.observedReads?.reads ?? [:])
        }
        signal.watch(reads)
        if let last, last == value { continue }
        last = value
        return value
      }
    }
  }
}

extension Database {
  /// Observes a query; see ``Observation``.
  public func observe<Value: Sendable & Equatable>(
    _ query: @escaping @Sendable (Connection) throws -> Value
  ) -> Observation<Value> {
    Observation(database: self, query: query)
  }
}

/// Notifies observers of the changes of each transaction.
final class ChangeHub: Sendable {
  private struct State: Sendable {
    var observers: [UInt64: @Sendable (ChangedRegion?, Set<String>) -> Void] = [:]
    var next: UInt64 = 0
  }

  private let state = Locked(State())
  private let count = Atomic<Int>(0)

  /// Whether the hub has observers. Cheap enough for each transaction.
  var hasObservers: Bool { count.load(ordering: .acquiring) > 0 }

  /// Adds an observer. It is called after each commit with the changes and the names of the virtual tables, and with
  /// `nil` when the database closes.
  func add(_ observer: @escaping @Sendable (ChangedRegion?, Set<String>) -> Void) -> UInt64 {
    state.withLock { state in
      state.next += 1
      state.observers[state.next] = observer
      count.store(state.observers.count, ordering: .releasing)
      return state.next
    }
  }

  func remove(_ id: UInt64) {
    state.withLock { state in
      state.observers[id] = nil
      count.store(state.observers.count, ordering: .releasing)
    }
  }

  func publish(_ region: ChangedRegion, after connection: WriteConnection) {
    guard !region.isEmpty else { return }
    let observers = state.withLock { Array($0.observers.values) }
    guard !observers.isEmpty else { return }
    guard let facts = connection.schemaFacts() else {
      for observer in observers { observer(ChangedRegion(isEverything: true), []) }
      return
    }
    let widened = region.widened(by: facts)
    for observer in observers { observer(widened, facts.virtualTables) }
  }

  func finish() {
    let observers = state.withLock { state in
      defer { state.observers = [:] }
      return Array(state.observers.values)
    }
    count.store(0, ordering: .releasing)
    for observer in observers { observer(nil, []) }
  }
}

/// Wakes an observer after a transaction changed a table that its query read.
final class ChangeSignal: Sendable {
  private struct State: Sendable {
    /// The region that the last run of the query read; `nil` before the first run and while the query runs, when
    /// every change counts.
    var reads: [String: Set<String>]?
    var isDue = true
    var isOver = false
    var waiter: CheckedContinuation<Bool, any Error>?
  }

  private let state = Locked(State())

  func receive(_ region: ChangedRegion?, _ virtualTables: Set<String>) {
    let waiter: CheckedContinuation<Bool, any Error>? = state.withLock { state in
      if let region {
        if let reads = state.reads, !region.touches(reads, isVirtual: virtualTables.contains) { return nil }
        state.isDue = true
      } else {
        state.isOver = true
      }
      defer { state.waiter = nil }
      if state.waiter != nil, !state.isOver {
        state.isDue = false
        state.reads = nil
      }
      return state.waiter
    }
    waiter?.resume(returning: region != nil)
  }

  /// Sets the region that the query has read. Changes during its run have already requested another run.
  func watch(_ reads: [String: Set<String>]) {
    state.withLock { $0.reads = reads }
  }

  /// Waits until the query should run. Returns `false` when the database is closed.
  func wait() async throws -> Bool {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome: Result<Bool, any Error>? = state.withLock { state in
          if Task.isCancelled { return .failure(CancellationError()) }
          if state.isOver { return .success(false) }
          if state.isDue {
            state.isDue = false
            state.reads = nil
            return .success(true)
          }
          state.waiter = continuation
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume(throwing: CancellationError())
    }
  }
}
