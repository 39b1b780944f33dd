import Dispatch

/// Hands out connections, each to one user at a time and to waiters in the order of their arrival. With a
/// capacity of one it is the lock of the writer.
///
/// - Threads: every function may be called from any thread. A connection is reached only between `acquire` and
///   `release`, by the one who acquired it.
final class ConnectionPool<Member: Connection>: Sendable {
  /// A connection on its way from thread to thread.
  ///
  /// `@unchecked Sendable` holds because the pool hands a lease to one user at a time, with the pool's mutex
  /// between one user's last use and the next one's first, and nobody keeps the connection after `release`.
  struct Lease: @unchecked Sendable {
    let connection: Member
    /// How often the pool's connections had been replaced when this one was opened.
    let epoch: Int
  }

  private enum Waiter: Sendable {
    case thread(Ticket)
    case task(UInt64, @Sendable (Result<Lease, any Error>) -> Void)
  }

  /// A blocked thread waits on it for its lease.
  private final class Ticket: Sendable {
    let semaphore = DispatchSemaphore(value: 0)
    let result = Locked<Result<Lease, any Error>?>(nil)
  }

  private struct State: Sendable {
    var idle: [Lease] = []
    var opened = 0
    /// How many connections hold the file open: those of `opened`, and those that are being closed.
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

  /// How many threads and tasks wait for a connection.
  var waitingCount: Int { state.withLock { $0.waiters.count } }

  private enum Step {
    case lease(Lease)
    case open
    case wait
  }

  /// Runs a body on a connection, on this thread, which waits for its turn.
  /// - Parameter access: `read` or `write`, for the message when the call is nested.
  func withConnection<Result>(for access: String, _ body: (Member) throws -> Result) throws -> Result {
    try nesting.refuseNesting(of: access)
    let lease = try acquire()
    defer { release(lease) }
    return try nesting.marking(access) { try body(lease.connection) }
  }

  /// Runs a body on a connection that nobody uses at the moment; without one it does nothing.
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

  /// Runs a body on a connection, on that connection's queue. Blocks no thread while it waits for its turn, which ends at
  /// once when the task is cancelled.
  ///
  /// Whoever gives a connection back starts the next body itself. The task need not be there for that: it may get no
  /// thread, when synchronous calls that wait behind it block all those that tasks have.
  func perform<Result: Sendable>(
    for access: String, _ body: @escaping @Sendable (Member) throws -> Result
  ) async throws -> Result {
    let id = state.withLock { state in
      state.nextTask += 1
      return state.nextTask
    }
    let call = CancellableCall()
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
      // Not only `interrupted`: what ends inside a virtual table, or has rolled back what a savepoint still wanted to
      // release, comes out as other errors. Nothing of the call is left, which is what was asked for.
      throw CancellationError()
    }
  }

  private func start<Result: Sendable>(
    _ call: CancellableCall, _ access: String, on lease: Lease, _ body: @escaping @Sendable (Member) throws -> Result,
    then finish: @escaping @Sendable (Swift.Result<Result, any Error>) -> Void
  ) {
    lease.connection.queue.async { [self] in
      let result = Swift.Result {
        try call.run(on: lease.connection) { try nesting.marking(access) { try body(lease.connection) } }
      }
      release(lease)
      finish(result)
    }
  }

  /// Calls `start` with a connection, now or when it is this task's turn.
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

  /// A cancelled task leaves the line.
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

  /// Gives a connection back; the longest waiting user gets it, or a new one when it has been replaced meanwhile.
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

  /// Closes connections that nobody uses and nobody can get any more.
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

  /// Opens one more connection that is nobody else's and never comes into the pool, for work that takes long.
  func openOwn() throws -> Member { try state.withLock { $0.open }() }

  /// From now on new connections are opened in another way. Those at work finish as they are and are closed when
  /// they are given back.
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

  /// Closes idle connections and refuses new users; those at work finish.
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
  /// - Returns: false when that took too long.
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
      // Somebody who waits is served by the next release. When nobody is left who could release, those who wait
      // hear of the failure too.
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
