import CipherSQL
import SchemaModel
import ServerStorage

extension ServerDirectory {
  /// Adds schemas to the served ones, and returns all. Without any named schema, all schemas of the program are
  /// served.
  ///
  /// The directory keeps the files of every schema that comes from a folder. A server that was moved or restored on
  /// another machine therefore serves without the folder, and continues with a folder at another place that has the
  /// same statements.
  /// - Parameter shipped: the schemas of the program.
  /// - Throws: ``ServerError`` with `schemas` if one is missing, or if another source has other statements.
  public func schemas(
    adding new: [(source: SchemaSource, schema: Schema)], shipped: [Schema]
  ) throws -> [Schema] {
    try database.write { connection in
      let isFirst = try connection.fetchOne("SELECT count(*) FROM ServedSchema", as: Int.self) == 0
      let usual = shipped.map { SchemaSource(name: $0.name, folder: nil) }
      for source in isFirst && new.isEmpty ? usual : new.map(\.source) {
        try connection.execute(
          "INSERT INTO ServedSchema (name, folder) VALUES (\(source.name), \(source.folder.sqlArgument)) ON CONFLICT DO NOTHING"
        )
      }
      let known = try connection.fetchRows(
        "SELECT name, folder FROM ServedSchema ORDER BY position", as: String.self, Optional<String>.self)
      return try known.map { name, folder in
        let stored = try Self.storedFiles(of: name, in: connection)
        if let named = new.first(where: { $0.source.name == name }) {
          return try Self.take(named, servedFrom: folder, stored, in: connection)
        }
        if let folder { return try Self.load(name, from: folder, stored, in: connection) }
        guard let schema = shipped.first(where: { $0.name == name }) else {
          throw ServerError(.schemas, "this program does not contain the schema \(name)", hint: "use a newer program")
        }
        return schema
      }
    }
  }

  /// Serves a schema from the source that the operator named.
  private static func take(
    _ named: (source: SchemaSource, schema: Schema), servedFrom folder: String?, _ stored: [MigrationFile],
    in connection: WriteConnection
  ) throws -> Schema {
    let (source, schema) = named
    if source.folder != folder {
      guard source.folder != nil, folder != nil, !stored.isEmpty else {
        throw ServerError(
          .schemas, "the schema \(source.name) is served from \(folder ?? "the program itself")",
          hint: "omit it, or rename the new schema")
      }
      if let file = stored.first(where: { !schema.continues($0) }) {
        throw ServerError(
          .schemas,
          "\(source.folder ?? "") has other statements in \(file.fileName) than the served schema \(source.name)",
          hint: "name the folder of the served schema, or rename the new schema")
      }
      try connection.execute(
        "UPDATE ServedSchema SET folder = \(source.folder.sqlArgument) WHERE name = \(source.name)")
    }
    if source.folder != nil { try store(schema, insteadOf: stored, in: connection) }
    return schema
  }

  /// Reads a schema from its folder, or from the directory if the folder is missing.
  private static func load(
    _ name: String, from folder: String, _ stored: [MigrationFile], in connection: WriteConnection
  ) throws -> Schema {
    if !stored.isEmpty, !Files.isFolder(folder) { return Schema(name: name, migrations: stored) }
    let schema = try Schema.load(folder: folder, name: name)
    try store(schema, insteadOf: stored, in: connection)
    return schema
  }

  private static func storedFiles(of name: String, in connection: Connection) throws -> [MigrationFile] {
    try connection.fetchRows(
      "SELECT version, name, sql FROM ServedSchemaFile WHERE schemaName = \(name) ORDER BY version",
      as: Int.self, String.self, String.self
    ).map { MigrationFile(version: $0.0, name: $0.1, sql: $0.2) }
  }

  private static func store(
    _ schema: Schema, insteadOf stored: [MigrationFile], in connection: WriteConnection
  ) throws {
    guard schema.migrations != stored else { return }
    try connection.execute("DELETE FROM ServedSchemaFile WHERE schemaName = \(schema.name)")
    for file in schema.migrations {
      try connection.execute(
        """
        INSERT INTO ServedSchemaFile (schemaName, version, name, sql)
        VALUES (\(schema.name), \(file.version), \(file.name), \(file.sql))
        """)
    }
  }
}

extension Schema {
  /// Returns whether the schema has a file with the same statements.
  fileprivate func continues(_ file: MigrationFile) -> Bool {
    migrations.contains { $0.version == file.version && $0.name == file.name && $0.firstChange(since: file.sql) == nil }
  }
}
