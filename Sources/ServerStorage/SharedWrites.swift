import Platform

/// Lets writes of one account that wait for each other share a transaction, and so the cost of its commit.
///
/// Each write takes effect alone all the same: if the shared transaction fails, every write of it is repeated in a transaction
/// of its own, and only those that fail again throw their error.
package final class SharedWrites: Sendable {
  private struct Write: Sendable {
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

  package init() {}

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
    do {
      try await transaction(account) { writer in
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
