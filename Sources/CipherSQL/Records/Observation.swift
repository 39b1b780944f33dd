import Synchronization

/// The results of a query, now and after each transaction that changed them.
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

  /// Begins to observe. Each iterator has its own observation, which yields the present result first.
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
