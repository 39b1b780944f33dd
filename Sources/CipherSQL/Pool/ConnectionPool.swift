import Dispatch
import Platform

/// Hands out connections, each to one user at a time, and to waiting users in the order of their arrival. A pool with a
/// capacity of one is the lock of the writer.
///
/// - Threads: every function may be called from any thread. Only the user that acquired a connection accesses it,
///   between `acquire` and `release`.
final class ConnectionPool<Member: Connection>: Sendable {
  /// A connection that moves between threads.
  ///
  /// `@unchecked Sendable` holds because the pool hands a lease to one user at a time. The pool's mutex is between
  /// the last use by one user and the first use by the next one. No user keeps the connection after `release`.
  struct Lease: @unchecked Sendable {
    let connection: Member
    /// The number of times that the pool had replaced its connections when this one was opened.
    let epoch: Int
  }

  private enum Waiter: Sendable {
    case thread(Ticket)
    case task(UInt64, @Sendable (Result<Lease, any Error>) -> Void)
  }

  /// The ticket on which a blocked thread waits for its lease.
  private final class Ticket: Sendable {
    let semaphore = DispatchSemaphore(value: 0)
    let result = Locked<Result<Lease, any Error>?>(nil)
  }

  private struct State: Sendable {
    var idle: [Lease] = []
    var opened = 0
    /// The number of connections that have the file open: the connections of `opened`, and connections that are being
    /// closed.
    var unclosed = 0
    /// Threads that wait until no connection holds the file open.
    var closeWaiters: [DispatchSemaphore] = []
    var waiters: [Waiter] = []
    var nextTask: UInt64 = 0
    var isClosed = false
    var open: @Sendable () throws -> Member
    var epoch = 0
  }

  private let state: Locked<State>
  private let capacity: Int
  private let nesting: NestingGuard

  /// - Parameter nesting: shared by all pools of a database.
  init(capacity: Int, nesting: NestingGuard, open: @escaping @Sendable () throws -> Member) {
    (self.capacity, self.nesting, state) = (capacity, nesting, Locked(State(open: open)))
  }

  /// The number of threads and tasks that wait for a connection.
  var waitingCount: Int { state.withLock { $0.waiters.count } }

  private enum Step {
    case lease(Lease)
    case open
    case wait
  }

  /// Waits for a connection and runs a body on it, on this thread.
  /// - Parameter access: `read` or `write`, for the message about a nested call.
  func withConnection<Result>(for access: String, _ body: (Member) throws -> Result) throws -> Result {
    try nesting.refuseNesting(of: access)
    let lease = try acquire()
    defer { release(lease) }
    return try nesting.marking(access) { try body(lease.connection) }
  }

  /// Runs a closure on an idle connection. Does nothing without one.
  func withIdleConnection(_ body: (Member) -> Void) {
    guard let lease = state.withLock({ $0.isClosed ? nil : $0.idle.popLast() }) else { return }
    defer { release(lease) }
    body(lease.connection)
  }

  /// Waits on this thread for a connection.
  private func acquire() throws -> Lease {
    let ticket = Ticket()
    let step: Step = try state.withLock { try next(&$0, waiter: .thread(ticket)) }
    switch step {
    case .lease(let lease): return lease
    case .open: return try openOne()
    case .wait:
      ticket.semaphore.wait()
      guard let result = ticket.result.withLock({ $0 }) else { throw closed }
      return try result.get()
    }
  }

  /// Runs a closure on a connection, on that connection's queue. Blocks no thread while it waits. The wait ends at
  /// once if the task is cancelled.
  ///
  /// The user that releases a connection starts the next closure. The waiting task does not have to run for that: it
  /// may not get a thread if waiting synchronous calls block all threads of tasks.
  /// - Parameter visits: counts the rows that the closure visits.
  func perform<Result: Sendable>(
    for access: String, counting visits: VisitCount? = nil, _ body: @escaping @Sendable (Member) throws -> Result
  ) async throws -> Result {
    let id = state.withLock { state in
      state.nextTask += 1
      return state.nextTask
    }
    let call = CancellableCall(visits)
    do {
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Result, any Error>) in
          begin(id) { [self] turn in
            switch turn {
            case .success(let lease): start(call, access, on: lease, body) { continuation.resume(with: $0) }
            case .failure(let error): continuation.resume(throwing: error)
            }
          }
        }
      } onCancel: {
        call.cancel()
        withdraw(id)
      }
    } catch is SQLError where call.isCancelled {
      // Not only `interrupted`: a call that ends within a virtual table, or that rolled back a transaction with a
      // savepoint, ends with other errors. No effect of the call remains, as the cancellation requested.
      throw CancellationError()
    }
  }

  private func start<Result: Sendable>(
    _ call: CancellableCall, _ access: String, on lease: Lease, _ body: @escaping @Sendable (Member) throws -> Result,
    then finish: @escaping @Sendable (Swift.Result<Result, any Error>) -> Void
  ) {
    let run = { @Sendable [self] in
      let result = Swift.Result {
        try call.run(on: lease.connection) { try nesting.marking(access) { try body(lease.connection) } }
      }
      release(lease)
      finish(result)
    }
    if PreferredExecutor.isSingleThread { run() } else { lease.connection.queue.async(execute: run) }
  }

  /// Calls `start` with a connection, now or as soon as one is available for this task.
  private func begin(_ id: UInt64, _ start: @escaping @Sendable (Result<Lease, any Error>) -> Void) {
    let outcome: Result<Step, any Error> = state.withLock { state in
      // Asked under the lock: a cancellation either finds the waiter in the list or is seen here.
      Result {
        if Task.isCancelled { throw CancellationError() }
        return try next(&state, waiter: .task(id, start))
      }
    }
    switch outcome {
    case .success(.lease(let lease)): start(.success(lease))
    case .success(.open): start(Result { try openOne() })
    case .success(.wait): break
    case .failure(let error): start(.failure(error))
    }
  }

  /// Removes a cancelled task from the queue.
  private func withdraw(_ id: UInt64) {
    let start: (@Sendable (Result<Lease, any Error>) -> Void)? = state.withLock { state in
      for (index, waiter) in state.waiters.enumerated() {
        if case .task(id, let start) = waiter {
          state.waiters.remove(at: index)
          return start
        }
      }
      return nil
    }
    start?(.failure(CancellationError()))
  }

  /// Returns a connection to the pool. The longest waiting user receives it, or a new connection if it was replaced
  /// meanwhile.
  func release(_ lease: Lease) {
    let (waiter, isKept): (Waiter?, Bool) = state.withLock { state in
      let isKept = lease.epoch == state.epoch && !state.isClosed
      if state.waiters.isEmpty {
        if isKept { state.idle.append(lease) } else { state.opened -= 1 }
        return (nil, isKept)
      }
      return (state.waiters.removeFirst(), isKept)
    }
    if !isKept { discard([lease]) }
    guard let waiter else { return }
    hand(isKept ? .success(lease) : Result { try openOne() }, to: waiter)
  }

  /// Closes idle connections that are no longer handed out.
  private func discard(_ leases: [Lease]) {
    for lease in leases { lease.connection.close() }
    countClosed(leases.count)
  }

  private func countClosed(_ count: Int) {
    let waiters: [DispatchSemaphore] = state.withLock { state in
      state.unclosed -= count
      guard state.unclosed == 0 else { return [] }
      defer { state.closeWaiters = [] }
      return state.closeWaiters
    }
    for waiter in waiters { waiter.signal() }
  }

  /// Opens new connections in another way from now on. Connections in use finish unchanged and are closed when they
  /// are released.
  func replaceConnections(opening open: @escaping @Sendable () throws -> Member) {
    let idle = state.withLock { state in
      state.open = open
      state.epoch += 1
      defer { state.idle = [] }
      state.opened -= state.idle.count
      return state.idle
    }
    discard(idle)
  }

  /// Closes idle connections and refuses new users. Connections in use finish.
  func close() {
    let (idle, waiters) = state.withLock { state in
      state.isClosed = true
      let (idle, waiters) = (state.idle, state.waiters)
      state.opened -= idle.count
      state.idle = []
      state.waiters = []
      return (idle, waiters)
    }
    for waiter in waiters { hand(.failure(closed), to: waiter) }
    discard(idle)
  }

  /// Blocks this thread until no connection of the pool holds the file open.
  /// - Returns: `false` after the timeout.
  func waitUntilClosed(until end: DispatchTime) -> Bool {
    let semaphore: DispatchSemaphore? = state.withLock { state in
      guard state.unclosed > 0 else { return nil }
      let semaphore = DispatchSemaphore(value: 0)
      state.closeWaiters.append(semaphore)
      return semaphore
    }
    return semaphore.map { $0.wait(timeout: end) == .success } ?? true
  }

  private func next(_ state: inout State, waiter: Waiter) throws -> Step {
    if state.isClosed { throw closed }
    if let lease = state.idle.popLast() { return .lease(lease) }
    if state.opened < capacity {
      state.opened += 1
      return .open
    }
    state.waiters.append(waiter)
    return .wait
  }

  private func openOne() throws -> Lease {
    let (open, epoch) = state.withLock { state in
      state.unclosed += 1
      return (state.open, state.epoch)
    }
    do {
      return Lease(connection: try open(), epoch: epoch)
    } catch {
      countClosed(1)
      // The file was exchanged while it was being opened.
      if state.withLock({ $0.epoch != epoch && !$0.isClosed }) { return try openOne() }
      // The next release serves a waiting user. If no user is left to release a connection, the waiting users receive
      // the failure too.
      let waiters: [Waiter] = state.withLock { state in
        state.opened -= 1
        guard state.opened == 0 else { return [] }
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in waiters { hand(.failure(error), to: waiter) }
      throw error
    }
  }

  private func hand(_ result: Result<Lease, any Error>, to waiter: Waiter?) {
    switch waiter {
    case .thread(let ticket):
      ticket.result.withLock { $0 = result }
      ticket.semaphore.signal()
    case .task(_, let start):
      start(result)
    case nil:
      break
    }
  }

  private var closed: SQLError {
    SQLError(.misuse, "the database is closed", hint: "open it again")
  }
}
