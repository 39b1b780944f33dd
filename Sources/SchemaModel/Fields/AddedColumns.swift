import CipherSQL
import SyncModel

/// The table `SyncedColumnDefault`: the columns of synced tables that a later schema file added, with their constant
/// defaults.
package enum AddedColumns {
  /// Stores the columns that a schema file has added, inside its transaction.
  /// - Parameter renames: the columns that the file has renamed.
  package static func follow(
    _ file: MigrationFile, _ renames: RenamedColumns, on connection: WriteConnection
  ) throws {
    guard try hasTable(connection) else { return }
    let entities = try Entities.read(from: connection)
    let isCore = CoreSchema.schema.migrations.contains(file)
    let isFirst = try connection.fetchOne("SELECT 1 FROM SyncedColumnDefault LIMIT 1", as: Int.self) == nil
    if isCore, isFirst, entities.all.contains(where: { $0.sync != nil }) {
      // The tables are older than this one, so their files show how they were created.
      return try replay(on: connection)
    }
    for entity in entities.all where entity.sync != nil {
      try follow(renames.names[entity.type] ?? [], of: entity, on: connection)
      try noteColumns(of: entity, in: entities, on: connection)
    }
  }

  /// Returns the queries of the rows that ``defaults(in:)`` reads.
  static func queries(in connection: Connection) throws -> [SQL] { try hasTable(connection) ? [defaultQuery] : [] }
  private static let defaultQuery: SQL =
    "SELECT entityType, columnName, addedDefault FROM SyncedColumnDefault WHERE addedDefault IS NOT NULL"

  /// Returns the defaults that digests omit, by entity and column.
  package static func defaults(in connection: Connection) throws -> [String: [String: SyncValue]] {
    guard try hasTable(connection) else { return [:] }
    var defaults: [String: [String: SyncValue]] = [:]
    let rows = try connection.fetchRows(defaultQuery, as: String.self, String.self, String.self)
    for (type, column, json) in rows { defaults[type, default: [:]][column] = try SyncValue(parsing: json) }
    return defaults
  }

  private static func hasTable(_ connection: Connection) throws -> Bool {
    try connection.fetchOne(
      "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'SyncedColumnDefault'", as: Int.self) != nil
  }

  /// Renames columns of stored defaults. A renamed column keeps its stored default.
  private static func follow(_ renames: [ColumnRename], of entity: Entity, on connection: WriteConnection) throws {
    for rename in renames
    where entity.table.column(rename.to) != nil && entity.table.column(rename.from) == nil {
      try connection.execute(
        """
        UPDATE OR IGNORE SyncedColumnDefault SET columnName = \(rename.to)
        WHERE entityType = \(entity.type) AND columnName = \(rename.from)
        """)
    }
  }

  private static func noteColumns(of entity: Entity, in entities: Entities, on connection: WriteConnection) throws {
    let known = try Set(
      connection.fetch(
        "SELECT columnName FROM SyncedColumnDefault WHERE entityType = \(entity.type)", as: String.self))
    let columns = entity.sharedColumns(in: entities)
    for name in known.subtracting(columns.map(\.name)) {
      try connection.execute(
        "DELETE FROM SyncedColumnDefault WHERE entityType = \(entity.type) AND columnName = \(name)")
    }
    for column in columns where !known.contains(column.name) {
      let value = known.isEmpty ? nil : try addedDefault(of: column, in: connection)
      try connection.execute(
        """
        INSERT INTO SyncedColumnDefault (entityType, columnName, addedDefault)
        VALUES (\(entity.type), \(column.name), \((value?.json).sqlArgument))
        """)
    }
  }

  /// - Returns: `nil` for a default that is not constant.
  private static func addedDefault(of column: SharedColumn, in connection: Connection) throws -> SyncValue? {
    guard let text = column.column.defaultSQL else { return .null }
    let isConstant = !text.hasPrefix("(") && !text.uppercased().hasPrefix("CURRENT_")
    guard isConstant, column.reference == nil else { return nil }
    let value = try connection.fetchOne(SQL(raw: "SELECT \(column.stored(text))"), as: SQLArgument.self) ?? .null
    return try column.value(of: value)
  }

  /// Applies the files of the database again, to an empty one.
  private static func replay(on connection: WriteConnection) throws {
    let records = try MigrationRecord.all(in: connection).filter { $0.schema != CoreSchema.schema.name }
    let names = Dictionary(grouping: records, by: \.schema).sorted { left, right in
      (left.value[0].appliedAt, left.key) < (right.value[0].appliedAt, right.key)
    }.map(\.key)
    let schemas = names.map { name in
      Schema(name: name, migrations: records.filter { $0.schema == name }.map(\.file))
    }
    let trial = try Database.inMemory()
    defer { trial.close() }
    let migrator = Migrator(
      schemas: [CoreSchema.schema] + schemas, willApply: { _ in },
      didApply: { connection, file in
        let renames = try RenamedColumns(of: file, on: connection)
        try follow(file, renames, on: connection)
        try renames.follow(on: connection)
      })
    try migrator.apply(to: trial)
    let rows = try trial.read { trial in
      try trial.fetchRows(
        "SELECT entityType, columnName, addedDefault FROM SyncedColumnDefault", as: String.self, String.self,
        Optional<String>.self)
    }
    for (type, column, json) in rows {
      try connection.execute(
        """
        INSERT INTO SyncedColumnDefault (entityType, columnName, addedDefault)
        VALUES (\(type), \(column), \(json.sqlArgument))
        """)
    }
  }
}
