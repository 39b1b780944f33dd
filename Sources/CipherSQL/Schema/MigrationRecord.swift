#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A row of the table `SchemaMigration`: one file of a schema that was applied.
public struct MigrationRecord: Sendable, Hashable {
  static let table = "SchemaMigration"

  /// The name of the schema.
  public let schema: String
  /// The number of the file.
  public let version: Int
  /// The description in the file's name.
  public let name: String
  /// SHA-256 of the file, in hexadecimal digits.
  public let checksum: String
  /// The content of the file, so that the schema can be verified without the file.
  public let sql: String
  /// The time when the file was applied.
  public let appliedAt: Date
  /// The duration in milliseconds.
  public let durationMilliseconds: Int64

  /// Creates the table unless it exists.
  package static func createTable(in connection: WriteConnection) throws {
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS SchemaMigration (
        schema TEXT NOT NULL,
        version INTEGER NOT NULL CHECK (version > 0),
        name TEXT NOT NULL,
        checksum TEXT NOT NULL,
        sql TEXT NOT NULL,
        appliedAt TEXT NOT NULL,
        durationMilliseconds INTEGER NOT NULL,
        PRIMARY KEY (schema, version)
      ) STRICT, WITHOUT ROWID
      """)
  }

  /// Adds the row.
  package func insert(into connection: WriteConnection) throws {
    try connection.execute(
      """
      INSERT INTO SchemaMigration (schema, version, name, checksum, sql, appliedAt, durationMilliseconds)
      VALUES (\(schema), \(version), \(name), \(checksum), \(sql), \(appliedAt), \(durationMilliseconds))
      """)
  }

  /// Returns all applied files, by schema and version; empty for a database that was never migrated.
  public static func all(in connection: Connection) throws -> [MigrationRecord] {
    let exists = try connection.fetchOne(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'SchemaMigration'", as: Int.self)
    guard exists == 1 else { return [] }
    return try connection.fetchRows(
      """
      SELECT schema, version, name, checksum, sql, appliedAt, durationMilliseconds FROM SchemaMigration
      ORDER BY schema, version
      """, as: String.self, Int.self, String.self, String.self, String.self, Date.self, Int64.self
    ).map {
      MigrationRecord(
        schema: $0.0, version: $0.1, name: $0.2, checksum: $0.3, sql: $0.4, appliedAt: $0.5, durationMilliseconds: $0.6)
    }
  }
}

extension MigrationRecord {
  /// The applied file.
  package var file: MigrationFile { MigrationFile(version: version, name: name, sql: sql) }

  /// Creates a row about a file that was applied elsewhere, at an unknown time.
  package init(of schema: String, _ file: MigrationFile) {
    self.init(
      schema: schema, version: file.version, name: file.name, checksum: file.checksum, sql: file.sql,
      appliedAt: Date(timeIntervalSince1970: 0), durationMilliseconds: 0)
  }
}
