import CSQLCipher
import Synchronization

/// An encrypted database: one connection that writes and a pool of connections that read.
///
/// Reads run side by side and see the state of the last commit before they began, unchanged until they end,
/// whatever is written meanwhile. Writes run one after the other, each in one transaction; a process that finds
/// another one writing waits for it (``Configuration/busyTimeout``).
///
/// ```swift
/// let database = try Database(path: "/data/notes.db", key: key)
/// let titles = try await database.read { db in try db.fetch("SELECT title FROM note", as: String.self) }
/// ```
///
/// - After a crash: what a `write` had returned from is there; what was under way is not.
/// - Threads: all functions may be called from any thread or task.
public final class Database: Sendable {
  /// The file, or nil for a database in memory.
  public let path: String?
  /// How it was opened.
  public let configuration: Configuration
  let writer: ConnectionPool<WriteConnection>
  let readers: ConnectionPool<Connection>?
  let hub = ChangeHub()

  /// Opens or creates an encrypted database file.
  /// - Throws: ``SQLError``: `notADatabase` for a wrong key or another kind of file, `cannotOpen`,
  ///   `unsuitableLibrary`.
  public convenience init(path: String, key: any EncryptionKey, configuration: Configuration = Configuration()) throws {
    try self.init(path: path, anyKey: key, configuration: configuration)
  }

  /// A database in memory, unencrypted and private to this value; reads and writes share one connection.
  public static func inMemory(configuration: Configuration = Configuration()) throws -> Database {
    try Database(path: nil, anyKey: nil, configuration: configuration)
  }

  private init(path: String?, anyKey key: (any EncryptionKey)?, configuration: Configuration) throws {
    self.path = path
    self.configuration = configuration
    writer = ConnectionPool(capacity: 1, name: "write") {
      try WriteConnection(path: path, key: key, configuration: configuration)
    }
    readers =
      path == nil
      ? nil
      : ConnectionPool(capacity: min(max(configuration.readerCount, 1), 64), name: "read") {
        let connection = try Connection(path: path, key: key, configuration: configuration)
        try connection.pragma("PRAGMA query_only = ON")
        return connection
      }
    // The first look at the file proves the key before anybody works with it.
    let lease = try writer.acquire()
    defer { writer.release(lease) }
    _ = try lease.connection.pragmaText("SELECT count(*) FROM sqlite_schema")
  }

  /// Closes the connections. Calls under way finish; later ones are refused.
  public func close() {
    readers?.close()
    writer.close()
    hub.finish()
  }

  // MARK: Reading

  /// Reads on this thread, from one unchanging snapshot.
  /// - Throws: what `body` throws; ``SQLError`` when no connection can be opened.
  @available(*, noasync, message: "use 'await' in asynchronous code")
  public func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    guard let readers else {
      return try onWriter { try $0.inSnapshot(body) }
    }
    let lease = try readers.acquire()
    defer { readers.release(lease) }
    return try readers.marking { try lease.connection.inSnapshot(body) }
  }

  /// Reads from one unchanging snapshot without blocking the caller. Cancelling the task interrupts the
  /// statement that runs.
  /// - Throws: what `body` throws; `CancellationError` when the task was cancelled.
  public func read<Result: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Result) async throws -> Result {
    guard let readers else {
      return try await perform(on: writer) { try $0.inSnapshot(body) }
    }
    return try await perform(on: readers) { try $0.inSnapshot(body) }
  }

  // MARK: Writing

  /// Writes on this thread in one transaction: it commits when `body` returns and leaves no trace when it
  /// throws.
  /// - Throws: what `body` throws; ``SQLError`` with `busy` when another process kept the lock too long, with
  ///   `constraint` when a deferred rule fails at the commit.
  @available(*, noasync, message: "use 'await' in asynchronous code")
  public func write<Result>(_ body: (WriteConnection) throws -> Result) throws -> Result {
    try onWriter { connection in try self.transaction(on: connection, body) }
  }

  /// Writes in one transaction without blocking the caller. Cancelling the task before the commit interrupts
  /// the statement that runs and rolls back.
  /// - Throws: as the synchronous form; `CancellationError` when the task was cancelled.
  public func write<Result: Sendable>(
    _ body: @escaping @Sendable (WriteConnection) throws -> Result
  ) async throws -> Result {
    try await perform(on: writer) { connection in try self.transaction(on: connection, body) }
  }

  /// Runs a body on the writing connection outside of a transaction, for what SQLite refuses inside one
  /// (settings, `VACUUM`, checkpoints).
  @available(*, noasync, message: "use 'await' in asynchronous code")
  public func withWriter<Result>(_ body: (WriteConnection) throws -> Result) throws -> Result {
    try onWriter(body)
  }

  private func onWriter<Result>(_ body: (WriteConnection) throws -> Result) throws -> Result {
    let lease = try writer.acquire()
    defer { writer.release(lease) }
    return try writer.marking { try body(lease.connection) }
  }

  private func transaction<Result>(
    on connection: WriteConnection, _ body: (WriteConnection) throws -> Result
  ) throws -> Result {
    let watching = hub.hasObservers
    let changes = connection.changes
    changes.begin(watching: watching, on: connection.handle)
    connection.watchedChanges = watching ? changes : nil
    defer { connection.watchedChanges = nil }
    let result = try connection.inTransaction { try body(connection) }
    if watching {
      hub.publish(changes.region(on: connection.handle), after: connection)
    } else if hub.hasObservers {
      // An observer came while this transaction ran, without its changes being watched.
      hub.publish(ChangedRegion(isEverything: true), after: connection)
    }
    try connection.checkpointIfDue(limit: configuration.walLimitBytes)
    return result
  }

  // MARK: Asynchronous execution

  private func perform<Member: Connection, Result: Sendable>(
    on pool: ConnectionPool<Member>, _ body: @escaping @Sendable (Member) throws -> Result
  ) async throws -> Result {
    let lease = try await pool.acquire()
    let call = CancellableCall()
    do {
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Result, any Error>) in
          lease.connection.queue.async {
            let outcome = Swift.Result {
              try call.begin(on: lease.connection)
              defer { call.end(on: lease.connection) }
              return try pool.marking { try body(lease.connection) }
            }
            pool.release(lease)
            continuation.resume(with: outcome)
          }
        }
      } onCancel: {
        call.cancel()
      }
    } catch let error as SQLError where error.code == .interrupted && Task.isCancelled {
      throw CancellationError()
    }
  }
}
