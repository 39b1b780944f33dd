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
  public var path: String? { place.withLock { $0 } }
  /// How it was opened.
  public let configuration: Configuration
  let writer: ConnectionPool<WriteConnection>
  let readers: ConnectionPool<Connection>?
  let hub = ChangeHub()
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
    writer = ConnectionPool(capacity: 1, name: "write", open: connections.writer)
    readers =
      path == nil
      ? nil
      : ConnectionPool(
        capacity: min(max(configuration.readerCount, 1), 64), name: "read", open: connections.reader)
    // The first look at the file proves the key before anybody works with it.
    let lease = try writer.acquire()
    defer { writer.release(lease) }
    _ = try lease.connection.pragmaText("SELECT count(*) FROM sqlite_schema")
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
    try onWriter { writer in
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
      return try await writer.perform { try $0.inSnapshot(body) }
    }
    return try await readers.perform { try $0.inSnapshot(body) }
  }

  // MARK: Writing

  /// Writes on this thread in one transaction: it commits when `body` returns and leaves no trace when it
  /// throws.
  /// - Throws: what `body` throws; ``SQLError`` with `busy` when another process kept the lock too long, with
  ///   `constraint` when a deferred rule fails at the commit, with `inputOutput` or `diskFull` when the disk fails: a
  ///   commit that fails so is undone, unless the process ends before its next one (see ``buryFailedCommits()``).
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
    try await writer.perform { connection in try self.transaction(on: connection, body) }
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
    connection.checkpointIfDue(limit: configuration.walLimitBytes)
    return result
  }
}
