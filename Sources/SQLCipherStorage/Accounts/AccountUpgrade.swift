import CipherSQL
import SchemaModel
import ServerStorage

/// Brings the tables and the records of an account up to date with the program and the schemas of the server.
struct AccountUpgrade {
  private let schema: AccountSchema

  init(_ schema: AccountSchema) { self.schema = schema }

  /// - Throws: `SQLError` with `migration` if a schema file fails or was changed, or if the data are from later schemas.
  func apply(to database: Database) throws {
    try Migrator(schemas: [BookkeepingSchema.schema]).apply(to: database)
    let migrator = Migrator(schemas: schema.allSchemas)
    if try !hasPendingRecords(in: database, migrator) { return }
    try database.writeAsMigration { connection in
      let wasTyped = try TypedAccount.move(on: connection)
      let applied = try MigrationRecord.all(in: connection)
      let pending = try migrator.pending(after: applied)
      let writer = try AccountWriter(EmbeddedRowsWriter(connection), schema, connection.environment)
      let now = connection.environment.now
      var records: [MigrationRecord] = []
      if pending.isEmpty {
        if wasTyped { try writer.rebuild() }
      } else if try writer.hasRecords {
        records = try writer.upgrade(from: Self.schemas(of: applied), at: now)
      } else {
        records = schema.records
        try writer.adoptSeeds(at: now)
      }
      for record in records
      where pending.contains(where: { $0.schema == record.schema && $0.file.version == record.version }) {
        try record.insert(into: connection)
      }
      _ = try writer.finish()
      try RecordViews.create(of: schema.map, on: connection)
    }
  }

  /// Returns whether an upgrade would change the account.
  func isPending(in database: Database) throws -> Bool {
    let own = Migrator(schemas: [BookkeepingSchema.schema])
    if try !database.readOnWriter({ try own.pending(in: $0).isEmpty }) { return true }
    return try hasPendingRecords(in: database, Migrator(schemas: schema.allSchemas))
  }

  private func hasPendingRecords(in database: Database, _ migrator: Migrator) throws -> Bool {
    try database.readOnWriter { connection in
      let isTyped = try connection.fetchOne(
        "SELECT 1 FROM sqlite_schema WHERE name = 'TypedRecord'", as: Int.self)
      return try isTyped != nil || !migrator.pending(in: connection).isEmpty
    }
  }

  /// Returns the schemas with the files that an account has, in the order in which they were applied.
  private static func schemas(of applied: [MigrationRecord]) -> [Schema] {
    let own = Dictionary(grouping: applied.filter { $0.schema != BookkeepingSchema.schema.name }, by: \.schema)
    let names = own.sorted { left, right in
      (left.value[0].appliedAt, left.key) < (right.value[0].appliedAt, right.key)
    }.map(\.key)
    return names.map { name in Schema(name: name, migrations: own[name, default: []].map(\.file)) }
  }
}
