import Platform

/// The times of a transaction that changes an account.
public struct WriteTimes: Sendable {
  /// How long each write of the transaction waited for it.
  public let waits: [Duration]
  /// How long the transaction kept other writes of the account waiting.
  public let hold: Duration

  package init(waits: [Duration], hold: Duration) { (self.waits, self.hold) = (waits, hold) }
}

/// How much of its limits a storage uses.
public struct StorageUsage: Sendable, Equatable {
  /// A resource of which a storage has a limited number.
  public enum Resource: Sendable {
    /// Accounts whose databases are open.
    case accounts
    /// Connections to a database.
    case connections
  }

  /// The counted resource.
  public let resource: Resource
  /// The number that is open.
  public let open: Int
  /// The number of these that a transaction uses.
  public let used: Int
  /// The number of transactions that wait for one.
  public let waiting: Int
  /// The number that stays open without a request, or the greatest number.
  public let limit: Int

  /// Creates a use from its parts.
  public init(_ resource: Resource, open: Int, used: Int, waiting: Int, limit: Int) {
    (self.resource, self.open, self.used, self.waiting, self.limit) = (resource, open, used, waiting, limit)
  }
}

/// Lets writes of one account that wait for each other share a transaction, and so the cost of its commit.
///
/// Each write takes effect alone all the same: if the shared transaction fails, every write of it is repeated in a transaction
/// of its own, and only those that fail again throw their error.
package final class SharedWrites: Sendable {
  private struct Write: Sendable {
    let begin: ContinuousClock.Instant
    let run: @Sendable (AccountWriter) throws -> Void
    let continuation: CheckedContinuation<Void, any Error>
  }

  /// Runs a closure in one transaction of an account.
  package typealias Transaction =
    @Sendable (AccountName, _ body: @escaping @Sendable (AccountWriter) throws -> Void) async throws -> Void

  /// The writes that wait, of the accounts with a running transaction.
  private let waiting = Locked<[AccountName: [Write]]>([:])

  /// The number of writes that share a transaction at most, so that the first ones need not wait long for their commit.
  private static let limit = 8

  private let clock: Clock
  private let measured: @Sendable (WriteTimes) -> Void

  /// - Parameter measured: receives the times of each transaction.
  package init(clock: Clock, measured: @escaping @Sendable (WriteTimes) -> Void) {
    (self.clock, self.measured) = (clock, measured)
  }

  /// Changes an account.
  /// - Parameters:
  ///   - transaction: runs a transaction of an account. It may run its closure several times.
  ///   - body: the changes. It may run several times, and the last run takes effect.
  package func write<Result: Sendable>(
    _ account: AccountName, in transaction: @escaping Transaction,
    _ body: @escaping @Sendable (AccountWriter) throws -> Result
  ) async throws -> Result {
    let result = Locked<Result?>(nil)
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      let write = Write(
        begin: clock.instant(),
        run: { writer in
          let value = try body(writer)
          result.withLock { $0 = value }
        }, continuation: continuation)
      let isFirst = waiting.withLock { waiting in
        defer { waiting[account, default: []].append(write) }
        return waiting[account] == nil
      }
      if isFirst { startTask { await self.run(account, transaction) } }
    }
    guard let value = result.withLock({ $0 }) else {
      throw ServerError(.system, "a transaction ended without a result")
    }
    return value
  }

  private func run(_ account: AccountName, _ transaction: Transaction) async {
    while true {
      let writes = waiting.withLock { waiting in
        let some = waiting[account]?.prefix(Self.limit) ?? []
        if some.isEmpty { waiting[account] = nil } else { waiting[account]?.removeFirst(some.count) }
        return Array(some)
      }
      if writes.isEmpty { return }
      await run(writes, of: account, transaction)
    }
  }

  private func run(_ writes: [Write], of account: AccountName, _ transaction: Transaction) async {
    let (clock, begin) = (clock, Locked<ContinuousClock.Instant?>(nil))
    defer {
      if let begin = begin.withLock({ $0 }) {
        measured(
          WriteTimes(waits: writes.map { $0.begin.duration(to: begin) }, hold: begin.duration(to: clock.instant())))
      }
    }
    do {
      try await transaction(account) { writer in
        begin.withLock { $0 = clock.instant() }
        for write in writes {
          writer.author = nil
          try write.run(writer)
        }
      }
      for write in writes { write.continuation.resume() }
    } catch {
      // Without the storage, the others would only wait longer for the same error.
      if writes.count == 1 || (error as? ServerError)?.code == .busy {
        for write in writes { write.continuation.resume(throwing: error) }
        return
      }
      for write in writes { await run([write], of: account, transaction) }
    }
  }
}
