import CipherSQL
import SchemaModel
import ServerStorage

extension ServerDirectory {
  /// Adds schemas to the served ones, and returns all.
  public func schemas(
    adding new: [(source: SchemaSource, schema: Schema)], shipped: [Schema]
  ) throws -> [Schema] {
    try database.write { connection in
      let known = try Self.storedSchemas(in: connection)
      let served = try ServedSchemas(known, adding: new, shipped: shipped)
      for row in served.rows where !known.contains(row) { try Self.store(row, in: connection) }
      return served.schemas
    }
  }

  /// Returns the served schemas.
  /// - Parameter hasFiles: whether the directory has the table of files, which earlier versions lack.
  static func storedSchemas(in connection: Connection, hasFiles: Bool = true) throws -> [ServedSchemas.Row] {
    try connection.fetchRows(
      "SELECT name, folder FROM ServedSchema ORDER BY position", as: String.self, Optional<String>.self
    ).map { name, folder in
      ServedSchemas.Row(
        name: name, folder: folder, files: hasFiles ? try storedFiles(of: name, in: connection) : [])
    }
  }

  private static func storedFiles(of name: String, in connection: Connection) throws -> [MigrationFile] {
    try connection.fetchRows(
      "SELECT version, name, sql FROM ServedSchemaFile WHERE schemaName = \(name) ORDER BY version",
      as: Int.self, String.self, String.self
    ).map { MigrationFile(version: $0.0, name: $0.1, sql: $0.2) }
  }

  private static func store(_ row: ServedSchemas.Row, in connection: WriteConnection) throws {
    try connection.execute(
      """
      INSERT INTO ServedSchema (name, folder) VALUES (\(row.name), \(row.folder.sqlArgument))
      ON CONFLICT (name) DO UPDATE SET folder = excluded.folder
      """)
    try connection.execute("DELETE FROM ServedSchemaFile WHERE schemaName = \(row.name)")
    for file in row.files {
      try connection.execute(
        """
        INSERT INTO ServedSchemaFile (schemaName, version, name, sql)
        VALUES (\(row.name), \(file.version), \(file.name), \(file.sql))
        """)
    }
  }
}
