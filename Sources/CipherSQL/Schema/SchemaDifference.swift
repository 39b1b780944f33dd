/// A difference between the tables of a database and those of its schema files.
public struct SchemaDifference: Sendable, Hashable {
  /// The kind of difference.
  public enum Kind: String, Sendable {
    /// The files create the object, but the database lacks it.
    case missing
    /// The database has the object, but no file creates it.
    case unexpected
    /// Both have the object, but its definition differs.
    case changed
  }

  /// The kind of difference.
  public let kind: Kind
  /// The type of the object: `table`, `index`, `view` or `trigger`.
  public let type: String
  /// The name of the table, index, view or trigger.
  public let name: String
  /// The definition in the files; `nil` for `unexpected`.
  public let expected: String?
  /// The definition in the database; nil for `missing`.
  public let found: String?
}

extension Migrator {
  /// Rebuilds the schema in memory from the files that the database records and compares every definition.
  public func verify(_ database: Database) throws -> [SchemaDifference] {
    let (records, found) = try database.read { connection in
      (try MigrationRecord.all(in: connection), try Self.definitions(in: connection))
    }
    let known = schemas.map(\.name)
    let names = known.filter { name in records.contains { $0.schema == name } }
    let rest = Set(records.map(\.schema)).subtracting(known).sorted()
    let rebuilt = try Database.inMemory()
    try Migrator(
      schemas: (names + rest).map { name in
        Schema(
          name: name,
          migrations: records.filter { $0.schema == name }.map {
            MigrationFile(version: $0.version, name: $0.name, sql: $0.sql)
          })
      }, willApply: willApply, didApply: didApply, derive: derive
    ).apply(to: rebuilt, isDraft: true)
    try database.read { connection in try rebuilt.write { try didRebuild(connection, $0) } }
    return Self.compare(expected: try rebuilt.read { try Self.definitions(in: $0) }, found: found)
  }

  private struct Definition: Hashable {
    let type: String
    let name: String
  }

  private static func definitions(in connection: Connection) throws -> [Definition: String] {
    // Leaves out the objects that SQLite creates automatically and the tables of the migrations.
    let rows = try connection.fetchRows(
      """
      SELECT type, name, sql FROM sqlite_schema
      WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> 'SchemaMigration'
      """, as: String.self, String.self, String.self)
    return Dictionary(rows.map { (Definition(type: $0.0, name: $0.1), $0.2) }) { first, _ in first }
  }

  private static func compare(
    expected: [Definition: String], found: [Definition: String]
  ) -> [SchemaDifference] {
    var differences: [SchemaDifference] = []
    for key in Set(expected.keys).union(found.keys) {
      let (wanted, present) = (expected[key], found[key])
      if wanted == present { continue }
      let kind: SchemaDifference.Kind = present == nil ? .missing : wanted == nil ? .unexpected : .changed
      differences.append(
        SchemaDifference(kind: kind, type: key.type, name: key.name, expected: wanted, found: present))
    }
    return differences.sorted { ($0.type, $0.name) < ($1.type, $1.name) }
  }
}
