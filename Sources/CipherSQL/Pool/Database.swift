import CSQLCipher
import Dispatch
import Platform
import Synchronization

/// An encrypted database: one connection that writes and a pool of connections that read.
///
/// Reads run concurrently. Each reads from one snapshot: the state of the last commit before its beginning. Writes run
/// one after the other, each in one transaction. A process waits for a write of another process
/// (``Configuration/busyTimeout``).
///
/// ```swift
/// let database = try Database(path: "/data/notes.db", key: key)
/// let titles = try await database.read { db in try db.fetch("SELECT title FROM note", as: String.self) }
/// ```
///
/// - After a crash, the effect of every `write` that returned exists. Writes in progress have no effect.
/// - All functions may be called from any thread or task.
public final class Database: Sendable {
  /// The path of the file; `nil` for a database in memory.
  public var path: String? { file.withLock { $0.path } }
  /// The configuration with which the database was opened.
  public let configuration: Configuration
  let writer: ConnectionPool<WriteConnection>
  /// `nil` if reads and writes share one connection; see ``Configuration/readerCount``.
  let readers: ConnectionPool<Connection>?
  let hub = ChangeHub()
  let otherProcesses = DataVersionMonitor()
  private let file: Locked<Connections>
  private let holding: (any Sendable)?

  /// Opens or creates an encrypted database file.
  /// - Throws: ``SQLError``: `notADatabase` for a wrong key or another kind of file, `cannotOpen`,
  ///   `unsuitableLibrary`.
  /// - Parameter holding: an object that is retained as long as this value exists, such as a lock on the file.
  public convenience init(
    path: String, key: any EncryptionKey, configuration: Configuration = Configuration(),
    holding: (any Sendable)? = nil
  ) throws {
    try self.init(path: path, anyKey: key, configuration: configuration, holding: holding)
  }

  /// Creates a database in memory, unencrypted and private to this value. Reads and writes share one connection.
  public static func inMemory(configuration: Configuration = Configuration()) throws -> Database {
    try Database(path: nil, anyKey: nil, configuration: configuration, holding: nil)
  }

  private init(
    path: String?, anyKey key: (any EncryptionKey)?, configuration: Configuration, holding: (any Sendable)?
  ) throws {
    self.holding = holding
    self.configuration = configuration
    let connections = Connections(path: path, key: key, configuration: configuration)
    file = Locked(connections)
    let nesting = NestingGuard()
    writer = ConnectionPool(capacity: 1, nesting: nesting, open: connections.writer)
    readers = configuration.readerLimit(of: path).map {
      ConnectionPool(capacity: $0, nesting: nesting, open: connections.reader)
    }
    // The first read of the file verifies the key before any other use.
    _ = try writer.withConnection(for: "write") { try $0.pragmaText("SELECT count(*) FROM sqlite_schema") }
  }

  /// The settings for opening connections to a file.
  private struct Connections: Sendable {
    let path: String?
    let key: (any EncryptionKey)?
    let configuration: Configuration

    @Sendable func writer() throws -> WriteConnection {
      try WriteConnection(path: path, key: key, configuration: configuration)
    }

    @Sendable func reader() throws -> Connection {
      let connection = try Connection(path: path, key: key, configuration: configuration, isToExist: true)
      try connection.pragma("PRAGMA query_only = ON")
      // Opens the write-ahead log as well, so that the file may lose its name from now on.
      _ = try connection.pragmaText("SELECT count(*) FROM sqlite_schema")
      return connection
    }
  }

  /// Continues with another file with the same content, such as a copy under another key.
  ///
  /// The closure receives a separate connection that reads from one snapshot. No process writes in the meantime. Reads
  /// continue, unless they share the connection of the writes (``Configuration/readerCount``). If the closure returns
  /// a path and key, later reads and writes use that file. Running reads finish on the old file, whose name may
  /// already be removed. If it returns `nil` or throws, nothing changes.
  /// - Throws: the errors of `body`; ``SQLError`` with `busy` if another process holds the lock too long, with `misuse`
  ///   for a database in memory.
  @available(*, noasync, message: "call this from a dedicated thread in asynchronous code")
  public func replaceFile(
    _ body: (Connection) throws -> (path: String, key: any EncryptionKey)?
  ) throws {
    try writer.withConnection(for: "write") { writer in
      try writer.control("BEGIN IMMEDIATE")
      defer { writer.rollBack() }
      guard let target = try streamingReader().inSnapshot(body) else { return }
      let connections = Connections(path: target.path, key: target.key, configuration: configuration)
      file.withLock { $0 = connections }
      self.writer.replaceConnections(opening: connections.writer)
      readers?.replaceConnections(opening: connections.reader)
    }
  }

  /// Opens a separate connection for one scan of the whole file, with a small cache.
  func streamingReader() throws -> Connection {
    let connections = file.withLock { $0 }
    guard connections.path != nil else { throw SQLError(.misuse, "a database in memory has no file") }
    let reader = try connections.reader()
    try reader.pragma("PRAGMA cache_size = -2048")
    return reader
  }

  /// Closes the connections. Running calls finish; later calls are refused.
  ///
  /// Without running calls, the files are closed when this function returns: they can be copied, moved or removed.
  /// - Parameter limit: the time that this thread waits for running calls. Inside a read or a write of this database a
  ///   wait never succeeds.
  /// - Returns: whether the files are closed. A connection that a call still uses is closed when that call ends.
  @discardableResult
  public func close(waitingAtMost limit: Duration = .zero) -> Bool {
    readers?.close()
    writer.close()
    hub.finish()
    let end = DispatchTime.now() + .milliseconds(Int(clamping: limit.milliseconds))
    let areReadersClosed = readers?.waitUntilClosed(until: end) ?? true
    return writer.waitUntilClosed(until: end) && areReadersClosed
  }

  // MARK: Reading

  /// Reads on the calling thread from one unchanging snapshot.
  /// - Throws: the errors of `body`; ``SQLError`` if no connection can be opened, with `nestedAccess` within a read
  ///   or write of this database.
  @available(*, noasync, message: "use 'await' in asynchronous code")
  public func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    guard let readers else { return try readOnWriter(body) }
    return try readers.withConnection(for: "read") { try $0.inSnapshot(body) }
  }

  /// Reads from one unchanging snapshot without blocking the caller. Cancelling the task interrupts the running
  /// statement.
  /// - Throws: the errors of `body`; `CancellationError` if the task was cancelled.
  public func read<Result: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Result) async throws -> Result {
    try await read(counting: nil, body)
  }

  /// Reads as ``read(_:)`` without blocking does, and reports how many rows the scans of whole tables have visited.
  /// - Parameter report: called on the thread of the read, again and again, with the number since its beginning.
  ///   Rows that are found by an index, or in a range of keys, are not counted.
  package func read<Result: Sendable>(
    reportingVisits report: @escaping @Sendable (Int) -> Void,
    _ body: @escaping @Sendable (Connection) throws -> Result
  ) async throws -> Result {
    try await read(counting: VisitCount(report), body)
  }

  private func read<Result: Sendable>(
    counting visits: VisitCount?, _ body: @escaping @Sendable (Connection) throws -> Result
  ) async throws -> Result {
    guard let readers else {
      return try await writer.perform(for: "read", counting: visits) { try $0.inReadOnlySnapshot(body) }
    }
    return try await readers.perform(for: "read", counting: visits) { try $0.inSnapshot(body) }
  }

  /// Reads from one unchanging snapshot on the writing connection, which is open already. A reading connection would
  /// parse the schema again when it opens.
  @available(*, noasync, message: "use 'await' in asynchronous code")
  package func readOnWriter<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    try writer.withConnection(for: "read") { try $0.inReadOnlySnapshot(body) }
  }

  // MARK: Writing

  /// Writes on the calling thread in one transaction. It commits when `body` returns, and rolls back if it throws.
  /// - Throws: the errors of `body`; ``SQLError`` with `busy` if another process holds the lock too long, with
  ///   `constraint` if a deferred rule fails at the commit, or with `inputOutput` or `diskFull`. A commit that fails
  ///   because of the disk is undone, unless the process ends before its next commit (see `flushFailedCommits()`). With
  ///   `nestedAccess` within a read or write of this database.
  @available(*, noasync, message: "use 'await' in asynchronous code")
  @discardableResult
  public func write<Result>(_ body: (WriteConnection) throws -> Result) throws -> Result {
    try writer.withConnection(for: "write") { try self.transaction(on: $0, body) }
  }

  /// Writes in one transaction without blocking the caller. Cancelling the task before the commit interrupts the
  /// running statement and rolls back.
  /// - Throws: the errors of the synchronous form; `CancellationError` if the task was cancelled.
  @discardableResult
  public func write<Result: Sendable>(
    _ body: @escaping @Sendable (WriteConnection) throws -> Result
  ) async throws -> Result {
    try await writer.perform(for: "write") { try self.transaction(on: $0, body) }
  }

  /// Runs a closure on the writing connection outside a transaction, for statements that SQLite refuses within one,
  /// such as a checkpoint.
  @available(*, noasync, message: "use 'await' in asynchronous code")
  @discardableResult
  public func withWriter<Result>(_ body: (WriteConnection) throws -> Result) throws -> Result {
    try writer.withConnection(for: "write") { connection in
      let isWatching = beginWatching(connection)
      // Each statement commits separately, including those before one that fails.
      defer { endWatching(connection, isWatching) }
      return try body(connection)
    }
  }

  private func transaction<Result>(
    on connection: WriteConnection, _ body: (WriteConnection) throws -> Result
  ) throws -> Result {
    let isWatching = beginWatching(connection)
    defer { connection.watchedChanges = nil }
    let result = try connection.inTransaction { try body(connection) }
    endWatching(connection, isWatching)
    connection.checkpointIfDue(limit: configuration.walLimitBytes)
    return result
  }

  /// Begins to note changes if the database has an observer.
  private func beginWatching(_ connection: WriteConnection) -> Bool {
    let isWatching = hub.hasObservers
    connection.changes.begin(watching: isWatching, on: connection.handle)
    connection.watchedChanges = isWatching ? connection.changes : nil
    return isWatching
  }

  /// Notifies observers of the commits since ``beginWatching(_:)``.
  private func endWatching(_ connection: WriteConnection, _ isWatching: Bool) {
    connection.watchedChanges = nil
    if isWatching {
      hub.publish(connection.changes.region(on: connection.handle), after: connection)
    } else if hub.hasObservers {
      // An observer came meanwhile, without the changes being watched.
      hub.publish(ChangedRegion(isEverything: true), after: connection)
    }
  }
}
