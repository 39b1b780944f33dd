import Platform
import ServerStorage

/// The connections of a node. Their number is bounded, and transactions wait for one in a ``FairQueue``.
final class ConnectionPool: Sendable {
  /// A group of transactions that may not take all connections.
  enum Lane: Hashable, Sendable {
    /// The writes of an account. One at a time, because the account's row lock admits no second one.
    case writing(AccountName)
    /// The reads of an account.
    case reading(AccountName)
    /// Everything that belongs to no account.
    case other
  }

  private typealias Waiter = CheckedContinuation<Void, any Error>

  private struct State {
    var queue: FairQueue<Lane>
    var idle: [PostgresConnection] = []
    var waiters: [Int: Waiter] = [:]
    var lastTicket = 0
    var isClosed = false
  }

  private let state: Locked<State>
  private let clock: Clock
  private let waitLimit: Duration
  private let connect: @Sendable () throws -> PostgresConnection

  /// - Parameters:
  ///   - waitLimit: the time that a transaction waits for a connection.
  ///   - connect: opens a connection. Runs on a thread that no task needs.
  init(size: Int, waitLimit: Duration, clock: Clock, connect: @escaping @Sendable () throws -> PostgresConnection) {
    let queue = FairQueue<Lane>(capacity: size) { lane in
      if case .writing = lane { 1 } else { max(1, size / 2) }
    }
    state = Locked(State(queue: queue))
    (self.clock, self.waitLimit, self.connect) = (clock, waitLimit, connect)
  }

  /// Runs a closure with a connection that no one else uses, on a thread that no task needs.
  /// - Throws: the error of the closure; ``PostgresError``; ``ServerError`` with `busy` after the limit, or after
  ///   ``close()``.
  func withConnection<Result: Sendable>(
    _ lane: Lane, _ body: @escaping @Sendable (PostgresConnection) throws -> Result
  ) async throws -> Result {
    try await enter(lane)
    return try await offload { [self] in
      defer { leave(lane) }
      let connection = try state.withLock({ $0.idle.popLast() }) ?? connect()
      defer { keep(connection) }
      return try body(connection)
    }
  }

  /// The use of the pool now.
  var usage: StorageUsage {
    state.withLock { state in
      StorageUsage(
        .connections, open: state.idle.count + state.queue.total, used: state.queue.total, waiting: state.waiters.count,
        limit: state.queue.capacity)
    }
  }

  private func enter(_ lane: Lane) async throws {
    let ticket = state.withLock { state in
      state.lastTicket += 1
      return state.lastTicket
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (waiter: Waiter) in
        let isClosed = state.withLock { state in
          guard !state.isClosed else { return true }
          state.queue.add(ticket, to: lane)
          state.waiters[ticket] = waiter
          return false
        }
        if isClosed { return waiter.resume(throwing: Self.isStopping) }
        admit()
        guard state.withLock({ $0.waiters[ticket] != nil }) else { return }
        startTask { [weak self, clock, waitLimit] in
          try await clock.sleep(waitLimit)
          self?.cancel(ticket, lane, ServerError(.busy, "no connection to the database became free"))
        }
        if Task.isCancelled { cancel(ticket, lane, CancellationError()) }
      }
    } onCancel: {
      cancel(ticket, lane, CancellationError())
    }
  }

  /// Gives free connections to waiting transactions.
  private func admit() {
    while true {
      let waiter = state.withLock { state in state.queue.next().flatMap { state.waiters.removeValue(forKey: $0) } }
      guard let waiter else { return }
      waiter.resume()
    }
  }

  private func cancel(_ ticket: Int, _ lane: Lane, _ error: any Error) {
    let waiter = state.withLock { state in
      state.queue.remove(ticket, from: lane) ? state.waiters.removeValue(forKey: ticket) : nil
    }
    waiter?.resume(throwing: error)
  }

  private func leave(_ lane: Lane) {
    state.withLock { $0.queue.finish(lane) }
    admit()
  }

  private func keep(_ connection: PostgresConnection) {
    // After one lost connection the others are likely lost as well, and they cost a failed transaction each.
    let lost = state.withLock { state -> [PostgresConnection] in
      if connection.isIdle, !state.isClosed {
        state.idle.append(connection)
        return []
      }
      guard !connection.isUsable || state.isClosed else { return [] }
      defer { state.idle = [] }
      return state.idle
    }
    withExtendedLifetime(lost) {}
  }

  private static var isStopping: ServerError { ServerError(.busy, "the server is stopping") }

  /// Closes idle connections, and admits no further transaction. The connections in use close with their transactions.
  func close() {
    let (waiters, connections) = state.withLock { state in
      state.isClosed = true
      defer { (state.waiters, state.idle) = ([:], []) }
      return (Array(state.waiters.values), state.idle)
    }
    for waiter in waiters { waiter.resume(throwing: Self.isStopping) }
    withExtendedLifetime(connections) {}
  }
}
