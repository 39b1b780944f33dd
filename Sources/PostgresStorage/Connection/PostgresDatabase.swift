import CipherSQL
import Platform
import SchemaModel
import ServerStorage

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The database that all nodes of a server share.
public final class PostgresDatabase: Sendable {
  let settings: PostgresSettings
  package let environment: Environment
  let pool: ConnectionPool
  let tokens: TokenCache
  /// The UUID of the server, which stays the same for the life of the data.
  public let serverUuid: String

  /// Connects, and brings the tables up to date.
  /// - Throws: ``ServerError`` with `badDatabase` for a wrong address, password or right, for an old PostgreSQL, and for
  ///   tables of a newer program.
  public convenience init(_ settings: PostgresSettings) throws { try self.init(settings, environment: .system) }

  package init(_ settings: PostgresSettings, environment: Environment) throws {
    (self.settings, self.environment) = (settings, environment)
    let clock = environment.clock
    tokens = TokenCache(clock: clock)
    pool = ConnectionPool(
      size: settings.connections, waitLimit: .seconds(settings.lockSeconds), clock: clock,
      connect: { try Self.connect(settings, clock) })
    serverUuid = try Self.setUp(settings, clock) { try DatabaseSetup(environment).apply(to: $0) }
  }

  /// Checks that a node of this program could use a database, without changing it.
  /// - Parameter new: the schemas to add to the served ones.
  /// - Returns: the schemas that the node would serve.
  /// - Throws: ``ServerError`` with `badDatabase` as in ``init(_:)``, or with `schemas`.
  public static func check(
    _ settings: PostgresSettings, adding new: [(source: SchemaSource, schema: Schema)], shipped: [Schema]
  ) throws -> [Schema] {
    let environment: Environment = .system
    if let url = settings.listenURL {
      try setUp(settings, environment.clock, url: url) { _ in }
    }
    return try setUp(settings, environment.clock) { connection in
      let hasTables = try DatabaseSetup(environment).check(connection)
      let known = hasTables ? try PostgresDirectory.storedSchemas(connection) : []
      return try ServedSchemas(known, adding: new, shipped: shipped).schemas
    }
  }

  /// Runs a part of the start of a program on a connection of its own.
  static func setUp<Result>(
    _ settings: PostgresSettings, _ clock: Clock, url: String? = nil, _ body: (PostgresConnection) throws -> Result
  ) throws -> Result {
    do {
      return try body(PostgresConnection(settings, clock: clock, url: url))
    } catch let error as PostgresError {
      throw setupFailure(error)
    }
  }

  func setUp<Result>(_ body: (PostgresConnection) throws -> Result) throws -> Result {
    try Self.setUp(settings, environment.clock, body)
  }

  private static func connect(_ settings: PostgresSettings, _ clock: Clock) throws -> PostgresConnection {
    let connection = try PostgresConnection(settings, clock: clock)
    guard let current = try connection.run(Incarnation.current()).first({ Incarnation($0) }) else { return connection }
    connection.incarnation = current
    connection.incarnationNumber = try current.adopt(connection)
    return connection
  }

  private static func setupFailure(_ error: PostgresError) -> ServerError {
    switch error.sqlState {
    case "42501":
      ServerError(
        .badDatabase, "the role lacks a right in the database: \(error.message)",
        hint: "let the role own the database")
    default:
      ServerError(
        .badDatabase, "the database cannot be used: \(error)",
        hint: "the address has the form postgresql://user@host/name")
    }
  }

  /// Runs a transaction, and repeats it after a failure that another attempt may not have.
  /// - Parameter body: begins and commits the transaction. It may run several times.
  func transaction<Result: Sendable>(
    _ lane: ConnectionPool.Lane, _ body: @escaping @Sendable (PostgresConnection) throws -> Result
  ) async throws -> Result {
    let clock = environment.clock
    let deadline = clock.instant() + .seconds(settings.retrySeconds)
    var pause = Duration.milliseconds(20)
    while true {
      do {
        return try await pool.withConnection(lane) { try Self.run(body, on: $0) }
      } catch let error as PostgresError where error.isRepeatable && clock.instant() + pause < deadline {
        try await clock.sleep(pause * (0.5 + environment.jitter()))
        pause = min(pause * 2, .seconds(1))
      } catch let error as PostgresError {
        throw ServerError(error)
      }
    }
  }

  private static func run<Result>(
    _ body: (PostgresConnection) throws -> Result, on connection: PostgresConnection
  ) throws -> Result {
    do {
      return try body(connection)
    } catch {
      // A connection that cannot roll back is closed, which rolls back.
      if connection.isUsable { _ = try? connection.run(TransactionStatements.rollback()) }
      throw error
    }
  }

  private static let size = Statement("SELECT pg_database_size(current_database())")

  /// Returns the size of the whole database in bytes.
  public func size() async throws -> Int64 {
    try await pool.withConnection(.other) { connection in
      try connection.run(Self.size()).first { $0.integer(0) } ?? 0
    }
  }

  /// Closes all connections.
  public func close() { pool.close() }
}

extension ServerError {
  /// A failure of the database in the middle of the work of a node.
  init(_ error: PostgresError) {
    let text = "the database failed: \(error)"
    if error.isRepeatable || error.isTimeout {
      self.init(.busy, text)
    } else if error.isOutOfSpace {
      self.init(.disk, text)
    } else {
      self.init(.system, text)
    }
  }
}

extension PostgresDatabase {
  /// Applies all pending files of FieldVault to the tables of the database, and those of the schemas to each account, also while
  /// nodes run. A node does the same at its start and at the first request of an account; each account is locked meanwhile, as by
  /// a request that writes. Older nodes refuse an account that has new files.
  /// - Parameters:
  ///   - named: schemas to serve in addition, or newer files of served ones.
  ///   - log: receives each failure that concerns no account.
  ///   - done: receives each result. An account that fails does not stop the others.
  /// - Throws: ``ServerError`` with `badDatabase` or `schemas`, and with `system` or `disk` if the database fails.
  public static func migrate(
    _ settings: PostgresSettings, adding named: [(source: SchemaSource, schema: Schema)], shipped: [Schema],
    log: @escaping @Sendable (String) -> Void, _ done: (DataMigration) throws -> Void
  ) async throws {
    let environment: Environment = .system
    let before = try setUp(settings, environment.clock) { try DatabaseSetup(environment).appliedCount($0) }
    let database = try PostgresDatabase(settings)
    defer { database.close() }
    let directory = PostgresDirectory(database)
    let schemas = try directory.schemas(adding: named, shipped: shipped)
    try done(DataMigration(account: nil, files: PostgresLayout.records(after: before), problem: nil))
    let storage = try PostgresStorage(database, schemas: schemas, log: log)
    defer { storage.close() }
    for account in try directory.accounts() {
      let result: Result<[MigrationRecord], any Error>
      do { result = .success(try await storage.migrate(account)) } catch { result = .failure(error) }
      if let migration = try migration(of: account, result) { try done(migration) }
    }
    try await storage.viewsAreCreated()
  }

  /// Tries the files of ``migrate(_:adding:shipped:log:_:)`` in transactions that are rolled back, one for each account, which is locked
  /// meanwhile. Pending files of FieldVault lock the tables of the database in each of these transactions.
  /// - Throws: as the migration.
  public static func tryMigration(
    _ settings: PostgresSettings, adding named: [(source: SchemaSource, schema: Schema)], shipped: [Schema],
    _ done: (DataMigration) throws -> Void
  ) throws {
    let environment: Environment = .system
    try setUp(settings, environment.clock) { connection in
      let setup = DatabaseSetup(environment)
      let before = try setup.appliedCount(connection)
      try done(DataMigration(account: nil, files: PostgresLayout.records(after: before), problem: nil))
      guard before > 0 else { return }
      let (known, accounts) = try setup.trying(on: connection) {
        connection.incarnationNumber = try Incarnation.storedNumber(connection)
        return (try PostgresDirectory.storedSchemas(connection), try PostgresDirectory.accounts(connection))
      }
      let schemas = try ServedSchemas(known, adding: named, shipped: shipped).schemas
      let update = AccountUpdate(
        try AccountSchema(schemas, environment: environment), environment, keys: settings.sealKeys)
      for account in accounts {
        let result = Result {
          try setup.trying(on: connection) { try update.apply(to: account, on: connection, begins: false).files }
        }
        if let migration = try migration(of: account, result) { try done(migration) }
      }
    }
  }

  /// Returns the result for an account; `nil` if it was deleted meanwhile.
  /// - Throws: a failure of the database, which concerns all accounts.
  private static func migration(
    of account: AccountName, _ result: Result<[MigrationRecord], any Error>
  ) throws -> DataMigration? {
    switch result {
    case .success(let files): return DataMigration(account: account, files: files, problem: nil)
    case .failure(let error as PostgresError): throw ServerError(error)
    case .failure(let error as ServerError) where [.system, .disk].contains(error.code): throw error
    case .failure(let error as ServerError) where error.code == .deleted: return nil
    case .failure(let error): return DataMigration(account: account, files: [], problem: "\(error)")
    }
  }
}

extension PostgresLayout {
  /// Returns the files of FieldVault after the first ones.
  fileprivate static func records(after count: Int) -> [MigrationRecord] {
    migrations.dropFirst(count).map { migration in
      MigrationRecord(
        of: "fieldvault",
        MigrationFile(
          version: migration.version, name: migration.name, sql: migration.statements.joined(separator: ";\n")))
    }
  }
}
