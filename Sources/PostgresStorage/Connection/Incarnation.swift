/// One continuous life of the database. A standby that was promoted may lack the last changes of its primary, and a restored
/// backup lacks later changes. Each account then begins a new epoch, so that devices send the missing changes again.
struct Incarnation: Equatable, Sendable {
  /// The number that `initdb` gave the cluster.
  let system: String
  /// The timeline, which each promotion and each restore to a point in time changes.
  let timeline: String
  /// The number of the database, which differs after `pg_restore` into a new one.
  let database: Int64

  /// Reads the incarnation that a connection sees.
  static let current = Statement(
    """
    SELECT (SELECT system_identifier FROM pg_control_system())::text,
      left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
      (SELECT oid FROM pg_database WHERE datname = current_database())::bigint
    """)

  init(_ row: PostgresRow) { (system, timeline, database) = (row.text(0), row.text(1), row.integer(2)) }

  private static let stored = Statement(
    """
    SELECT system_identifier, timeline, database_oid, incarnation FROM fieldvault.server FOR UPDATE
    """)
  private static let begin = Statement(
    """
    UPDATE fieldvault.server
    SET system_identifier = $1::text, timeline = $2::text, database_oid = $3::bigint, incarnation = incarnation + 1
    """)

  /// Returns the number of the stored incarnation.
  static func storedNumber(_ connection: PostgresConnection) throws -> Int64 {
    try connection.run(storedNumber()).first { $0.integer(0) } ?? 0
  }

  private static let storedNumber = Statement("SELECT incarnation FROM fieldvault.server")

  /// Returns the number of the incarnation, which is one more if the stored one differs.
  func adopt(_ connection: PostgresConnection) throws -> Int64 {
    _ = try connection.run(TransactionStatements.begin())
    let found = try connection.run(Self.stored())
    let (known, number) = found.first { (Incarnation($0), $0.integer(3)) } ?? (self, 0)
    guard known != self else {
      _ = try connection.run(TransactionStatements.commit())
      return number
    }
    _ = try connection.run([
      Self.begin(.text(system), .text(timeline), .integer(database)), TransactionStatements.commit(),
    ])
    return number + 1
  }
}
