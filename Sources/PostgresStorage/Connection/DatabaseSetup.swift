import CPostgres
import Platform
import ServerStorage

/// Creates the tables of a database, or brings them up to date.
struct DatabaseSetup {
  private let environment: Environment

  init(_ environment: Environment) { self.environment = environment }

  /// The number of the lock that lets one node at a time change tables or users.
  static let lock: Int64 = 0x4656_4C54

  /// The oldest PostgreSQL, which is the one that the tests run with.
  private static let oldestServer = 150_000

  /// Applies missing migrations in one transaction.
  /// - Returns: the UUID of the server.
  /// - Throws: ``ServerError`` with `badDatabase`; ``PostgresError``.
  func apply(to connection: PostgresConnection) throws -> String {
    try checkServer(connection)
    do {
      _ = try connection.run([
        TransactionStatements.begin(), Statement("SET LOCAL lock_timeout = 0")(),
        Statement("SET LOCAL statement_timeout = 0")(),
        Statement("SELECT pg_advisory_xact_lock($1::bigint)")(.integer(Self.lock)),
      ])
      let server = try migrate(connection)
      _ = try connection.run(TransactionStatements.commit())
      return server
    } catch {
      if connection.isUsable { _ = try? connection.run(TransactionStatements.rollback()) }
      throw error
    }
  }

  /// Checks that this program can use a database, without changing it.
  /// - Returns: whether the database has tables, of this or an earlier version.
  /// - Throws: ``ServerError`` with `badDatabase`; ``PostgresError``.
  func check(_ connection: PostgresConnection) throws -> Bool { try appliedCount(connection) > 0 }

  /// Returns the number of applied migrations; 0 for a database without tables. Changes nothing.
  /// - Throws: as ``check(_:)``.
  func appliedCount(_ connection: PostgresConnection) throws -> Int {
    try checkServer(connection)
    return try hasSchema(connection) ? newestMigration(connection) : 0
  }

  /// Runs a closure on tables that are up to date, in a transaction that is rolled back.
  func trying<Result>(on connection: PostgresConnection, _ body: () throws -> Result) throws -> Result {
    _ = try connection.run([TransactionStatements.begin(), Statement("SET LOCAL statement_timeout = 0")()])
    // A connection that cannot roll back is closed, which rolls back.
    defer { if connection.isUsable { _ = try? connection.run(TransactionStatements.rollback()) } }
    if try newestMigration(connection) < PostgresLayout.migrations.count {
      _ = try connection.run(Statement("SELECT pg_advisory_xact_lock($1::bigint)")(.integer(Self.lock)))
      _ = try migrate(connection)
    }
    return try body()
  }

  private func checkServer(_ connection: PostgresConnection) throws {
    guard connection.serverVersion >= Self.oldestServer else {
      throw ServerError(
        .badDatabase,
        "the database server has PostgreSQL \(connection.serverVersion / 10_000), and 15 or later is needed",
        hint: "upgrade PostgreSQL, or use another server")
    }
    let encoding = try connection.run(Statement("SHOW server_encoding")()).first { $0.text(0) } ?? ""
    guard encoding == "UTF8" else {
      throw ServerError(
        .badDatabase, "the database has the encoding \(encoding), and UTF8 is needed",
        hint: "create a database with ENCODING 'UTF8' TEMPLATE template0")
    }
  }

  private func hasSchema(_ connection: PostgresConnection) throws -> Bool {
    try connection.run(Statement("SELECT to_regnamespace('fieldvault') IS NOT NULL")()).first { $0.flag(0) } == true
  }

  /// Returns the number of applied migrations, which this program must know.
  private func newestMigration(_ connection: PostgresConnection) throws -> Int {
    let known = PostgresLayout.migrations.count
    let newest =
      try connection.run(Statement("SELECT coalesce(max(version), 0) FROM fieldvault.migration")())
      .first { Int($0.integer(0)) } ?? 0
    guard newest <= known else {
      throw ServerError(
        .badDatabase,
        "the tables of the database are at version \(newest), but this program supports versions up to \(known)",
        hint: "use a newer program; nothing was changed")
    }
    return newest
  }

  private func migrate(_ connection: PostgresConnection) throws -> String {
    if try !hasSchema(connection) {
      _ = try connection.run([
        Statement("CREATE SCHEMA fieldvault")(),
        Statement(
          """
          CREATE TABLE fieldvault.migration (
            version bigint PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL -- in milliseconds since 1970
          )
          """)(),
      ])
    }
    let newest = try newestMigration(connection)
    let note = Statement(
      "INSERT INTO fieldvault.migration (version, name, applied_at) VALUES ($1::bigint, $2::text, $3::bigint)")
    for migration in PostgresLayout.migrations.dropFirst(newest) {
      for statement in migration.statements { _ = try connection.run(Statement(statement)()) }
      _ = try connection.run(
        note(.integer(Int64(migration.version)), .text(migration.name), .integer(environment.now)))
    }
    return try serverUuid(connection)
  }

  /// Returns the UUID of the server, which a new database gets.
  private func serverUuid(_ connection: PostgresConnection) throws -> String {
    let found = Statement("SELECT server_uuid FROM fieldvault.server")
    if let known = try connection.run(found()).first({ $0.text(0) }) { return known }
    let current = try connection.run(Incarnation.current()).first { Incarnation($0) }
    let uuid = environment.uuids.next().sqlText
    _ = try connection.run(
      Statement(
        """
        INSERT INTO fieldvault.server (server_uuid, system_identifier, timeline, database_oid, incarnation)
        VALUES ($1::text, $2::text, $3::text, $4::bigint, 1)
        """)(
          .text(uuid), .text(current?.system ?? ""), .text(current?.timeline ?? ""), .integer(current?.database ?? 0)))
    return uuid
  }
}
