import CSQLCipher
import Dispatch
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
  public var path: String? { place.withLock { $0 } }
  /// How it was opened.
  public let configuration: Configuration
  let writer: ConnectionPool<WriteConnection>
  let readers: ConnectionPool<Connection>?
  let hub = ChangeHub()
  let otherProcesses = DataVersionMonitor()
  private let place: Locked<String?>
  private let holding: (any Sendable)?

  /// Opens or creates an encrypted database file.
  /// - Throws: ``SQLError``: `notADatabase` for a wrong key or another kind of file, `cannotOpen`,
  ///   `unsuitableLibrary`.
  /// - Parameter holding: kept for as long as this value lives, such as a lock on the file.
  public convenience init(
    path: String, key: any EncryptionKey, configuration: Configuration = Configuration(),
    holding: (any Sendable)? = nil
  ) throws {
    try self.init(path: path, anyKey: key, configuration: configuration, holding: holding)
  }

  /// A database in memory, unencrypted and private to this value; reads and writes share one connection.
  public static func inMemory(configuration: Configuration = Configuration()) throws -> Database {
    try Database(path: nil, anyKey: nil, configuration: configuration, holding: nil)
  }

  private init(
    path: String?, anyKey key: (any EncryptionKey)?, configuration: Configuration, holding: (any Sendable)?
  ) throws {
    self.holding = holding
    place = Locked(path)
    self.configuration = configuration
    let connections = Connections(path: path, key: key, configuration: configuration)
    let nesting = NestingGuard()
    writer = ConnectionPool(capacity: 1, nesting: nesting, open: connections.writer)
    readers =
      path == nil
      ? nil
      : ConnectionPool(
        capacity: min(max(configuration.readerCount, 1), 64), nesting: nesting, open: connections.reader)
    // The first look at the file proves the key before anybody works with it.
    _ = try writer.withConnection(for: "write") { try $0.pragmaText("SELECT count(*) FROM sqlite_schema") }
  }

  /// How the connections to a file are opened.
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

  /// Goes on with another file that holds the same content, such as a copy under another key.
  ///
  /// The body receives a connection of its own that reads from one snapshot. Nobody writes meanwhile, here or in another
  /// process; reads go on. When the body returns a place, reads and writes that begin from then on use that file; reads
  /// that are under way finish on the old one, whose name may be removed already. When it returns nil or throws,
  /// everything stays as it was.
  /// - Throws: what `body` throws; ``SQLError`` with `busy` when another process kept the lock too long, with `misuse`
  ///   for a database in memory.
  @available(*, noasync, message: "use a thread of your own in asynchronous code")
  public func replaceFile(
    _ body: (Connection) throws -> (path: String, key: any EncryptionKey)?
  ) throws {
    try writer.withConnection(for: "write") { writer in
      try writer.control("BEGIN IMMEDIATE")
      defer { writer.rollBack() }
      guard let target = try streamingReader().inSnapshot(body) else { return }
      let connections = Connections(path: target.path, key: target.key, configuration: configuration)
      place.withLock { $0 = target.path }
      self.writer.replaceConnections(opening: connections.writer)
      readers?.replaceConnections(opening: connections.reader)
    }
  }

  /// A connection of its own for going through the whole file once; a large cache would only be memory.
  func streamingReader() throws -> Connection {
    guard let readers else { throw SQLError(.misuse, "a database in memory has no file") }
    let reader = try readers.openOwn()
    try reader.pragma("PRAGMA cache_size = -2048")
    return reader
  }

  /// Closes the connections. Calls under way finish; later ones are refused.
  ///
  /// When no call is under way, the files are closed when this function returns: they can be copied, moved or removed.
  /// - Parameter limit: how long this thread waits for the calls under way. Inside a read or a write of this database a
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

  /// Reads on this thread, from one unchanging snapshot.
  /// - Throws: what `body` throws; ``SQLError`` when no connection can be opened, with `nestedAccess` inside a read or
  ///   write of this database.
  @available(*, noasync, message: "use 'await' in asynchronous code")
  public func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    guard let readers else { return try writer.withConnection(for: "read") { try $0.inSnapshot(body) } }
    return try readers.withConnection(for: "read") { try $0.inSnapshot(body) }
  }

  /// Reads from one unchanging snapshot without blocking the caller. Cancelling the task interrupts the
  /// statement that runs.
  /// - Throws: what `body` throws; `CancellationError` when the task was cancelled.
  public func read<Result: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Result) async throws -> Result {
    guard let readers else { return try await writer.perform(for: "read") { try $0.inSnapshot(body) } }
    return try await readers.perform(for: "read") { try $0.inSnapshot(body) }
  }

  // MARK: Writing

  /// Writes on this thread in one transaction: it commits when `body` returns and leaves no trace when it
  /// throws.
  /// - Throws: what `body` throws; ``SQLError`` with `busy` when another process kept the lock too long, with
  ///   `constraint` when a deferred rule fails at the commit, with `inputOutput` or `diskFull` when the disk fails: a
  ///   commit that fails so is undone, unless the process ends before its next one (see `flushFailedCommits()`); with
  ///   `nestedAccess` inside a read or write of this database.
  @available(*, noasync, message: "use 'await' in asynchronous code")
  @discardableResult
  public func write<Result>(_ body: (WriteConnection) throws -> Result) throws -> Result {
    try writer.withConnection(for: "write") { try self.transaction(on: $0, body) }
  }

  /// Writes in one transaction without blocking the caller. Cancelling the task before the commit interrupts
  /// the statement that runs and rolls back.
  /// - Throws: as the synchronous form; `CancellationError` when the task was cancelled.
  @discardableResult
  public func write<Result: Sendable>(
    _ body: @escaping @Sendable (WriteConnection) throws -> Result
  ) async throws -> Result {
    try await writer.perform(for: "write") { try self.transaction(on: $0, body) }
  }

  /// Runs a body on the writing connection outside of a transaction, for what SQLite refuses inside one, such as a
  /// checkpoint.
  @available(*, noasync, message: "use 'await' in asynchronous code")
  @discardableResult
  public func withWriter<Result>(_ body: (WriteConnection) throws -> Result) throws -> Result {
    try writer.withConnection(for: "write") { connection in
      let isWatching = beginWatching(connection)
      // Each statement commits by itself, also those before one that fails.
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

  /// Begins to note changes when there is an observer.
  private func beginWatching(_ connection: WriteConnection) -> Bool {
    let isWatching = hub.hasObservers
    connection.changes.begin(watching: isWatching, on: connection.handle)
    connection.watchedChanges = isWatching ? connection.changes : nil
    return isWatching
  }

  /// Tells observers what was committed since ``beginWatching(_:)``.
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
