/// A mistake in a schema file, with its place.
public struct SchemaProblem: Error, Sendable {
  /// The schema.
  public let schema: String
  /// The file.
  public let file: MigrationFile
  /// The line, counted from 1.
  public let line: Int
  /// The problem.
  public let message: String
}

/// A database in memory to which schemas are applied file by file, for tools that examine the result.
public struct DryRun {
  /// The database, with all schemas applied.
  public let database: Database

  /// Applies the schemas.
  /// - Parameter didApply: receives the connection after each file.
  /// - Throws: ``SchemaProblem`` for the first mistake.
  public init(_ schemas: [Schema], didApply: (Schema, MigrationFile, Connection) throws -> Void) throws {
    database = try Database.inMemory()
    let migrator = Migrator(schemas: schemas)
    try database.withMigrationWriter { connection in
      try connection.withoutForeignKeys {
        for schema in schemas {
          for file in schema.migrations {
            _ = try connection.inTransaction { try migrator.run(file, of: schema.name, on: connection, derives: true) }
            try didApply(schema, file, connection)
          }
        }
      }
    }
  }
}
