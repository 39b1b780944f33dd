import CipherSQL

/// The definitions of the tables of a damaged database.
struct Definitions {
  /// An entry of the catalogue (`sqlite_schema`).
  struct Item: Hashable {
    let type: String
    let name: String
    let table: String
    let sql: String
  }

  /// The readable entries of the catalogue, in its order.
  var items: [Item] = []
  /// The schemas that create the tables, FieldVault's core schema first.
  var schemas: [Schema] = []
  /// Descriptions of the definitions that could not be read.
  var problems: [String] = []

  /// Reads the definitions of a damaged database.
  /// - Throws: ``VaultError`` with `damaged` when neither recorded schema files nor the catalogue can be read.
  static func read(_ source: DatabaseAccess, known: [Schema]) throws -> Definitions {
    var definitions = Definitions()
    if !definitions.readItems(source) {
      definitions.problems.append("a part of the list of tables could not be read")
    }
    if let records = try? MigrationRecord.all(in: source.openDamaged()), !records.isEmpty {
      definitions.schemas = Self.schemas(of: records)
      return definitions
    }
    guard !definitions.items.isEmpty else {
      throw VaultError(
        .damaged, "nothing can be saved: the beginning of the database, with the list of its tables, is damaged",
        hint: "restore a backup")
    }
    definitions.problems.append(
      "the recorded schema files could not be read; the tables are made from those of this program")
    definitions.schemas = [CoreSchema.schema] + (try known.filter(definitions.hasTables))
    return definitions
  }

  /// Returns whether the catalogue contains the table of a synced entity of a schema.
  private func hasTables(of schema: Schema) throws -> Bool {
    let rebuilt = try Database.inMemory()
    try Migrator(schemas: [CoreSchema.schema, schema]).apply(to: rebuilt)
    let own = try rebuilt.read { connection in
      try connection.fetch(
        "SELECT tableName FROM SyncedEntity WHERE schemaName = \(schema.name)", as: String.self)
    }
    return items.contains { own.contains($0.name) }
  }

  /// Reads the catalogue from the front and, after a failure, from the back. Returns `false` if entries in between
  /// may be missing.
  private mutating func readItems(_ source: DatabaseAccess) -> Bool {
    let isWhole = read("rowid", source) { self.items.append($0) }
    if isWhole { return true }
    var rest: [Item] = []
    _ = read("rowid DESC", source) { rest.append($0) }
    items += rest.reversed().filter { !items.contains($0) }
    return false
  }

  private func read(_ order: String, _ source: DatabaseAccess, _ body: (Item) -> Void) -> Bool {
    do {
      try source.openDamaged().forEach(
        SQL(raw: "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY \(order)")
      ) { row in
        body(
          Item(
            type: try row.decode(String.self, at: 0), name: try row.decode(String.self, at: 1),
            table: try row.decode(String.self, at: 2), sql: try row.decode(String.self, at: 3)))
      }
      return true
    } catch {
      return false
    }
  }

  /// Returns the schemas as recorded in the database.
  private static func schemas(of records: [MigrationRecord]) -> [Schema] {
    // In the order of their first application, because a later schema may reference tables of an earlier one.
    let order = records.sorted { $0.appliedAt < $1.appliedAt }.map(\.schema)
    var names = [CoreSchema.schema.name]
    for name in order where !names.contains(name) { names.append(name) }
    return names.map { name in
      Schema(name: name, migrations: records.filter { $0.schema == name }.map(\.file))
    }
  }

  /// Runs a write transaction that may also change objects that belong to schemas.
  static func write<Result>(to database: Database, _ body: (WriteConnection) throws -> Result) throws -> Result {
    try database.write { connection in try connection.asMigration { try body(connection) } }
  }

  /// Creates the tables, those of the schemas first, and drops all triggers.
  func makeTables(in database: Database) throws {
    try Migrator(schemas: schemas).apply(to: database)
    try Self.write(to: database) { connection in
      let present = try Self.names(in: connection)
      let virtual = items.filter { $0.type == "table" && $0.sql.uppercased().hasPrefix("CREATE VIRTUAL") }
      for item in items where item.type == "table" && !present.contains(item.name) && !item.name.hasPrefix("sqlite_") {
        // SQLite creates the shadow tables of a virtual table with it.
        if virtual.contains(where: { item.name != $0.name && item.name.hasPrefix($0.name + "_") }) { continue }
        try connection.execute(SQL(raw: item.sql))
      }
      for name in try connection.fetch("SELECT name FROM sqlite_schema WHERE type = 'trigger'", as: String.self) {
        try connection.execute("DROP TRIGGER \(identifier: name)")
      }
    }
  }

  /// Creates the objects that must wait until the rows are copied: indexes, views, triggers and full-text search.
  /// - Returns: descriptions of the objects that could not be created.
  func makeTheRest(in database: Database) throws -> [String] {
    var problems: [String] = []
    try Self.write(to: database) { connection in
      let present = try Self.names(in: connection)
      for item in try laterItems() where !present.contains(item.name) {
        do {
          try connection.savepoint { _ = try connection.execute(SQL(raw: item.sql)) }
        } catch let error as SQLError {
          problems.append("the \(item.type) \(item.name) could not be made: \(error.message)")
        }
      }
      // This also rebuilds full-text search.
      try VaultTriggers.create(in: connection)
      // The salvage may have saved an operation without its record, or a record without its operation.
      if try Self.names(in: connection).contains("OfflineSyncQueue") {
        try VaultInvariants.restore(SyncCatalog(try Entities.read(from: connection)), on: connection)
      }
    }
    return problems
  }

  /// Returns the indexes first and the triggers last. Derived triggers are excluded because they are created
  /// automatically. Triggers that are missing from a damaged catalogue come from the schemas.
  private func laterItems() throws -> [Item] {
    let rebuilt = try Database.inMemory()
    try Migrator(schemas: schemas).apply(to: rebuilt)
    let triggers = try rebuilt.read { connection in
      try connection.fetchRows(
        "SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'trigger'", as: String.self, String.self,
        String.self
      ).map { Item(type: "trigger", name: $0, table: $1, sql: $2) }
    }
    let known = items + triggers.filter { trigger in !items.contains { $0.name == trigger.name } }
    return ["index", "view", "trigger"].flatMap { type in
      known.filter { $0.type == type && !$0.name.hasPrefix(DerivedTriggers.prefix) }
    }
  }

  static func names(in connection: Connection) throws -> Set<String> {
    Set(try connection.fetch("SELECT name FROM sqlite_schema", as: String.self))
  }
}
