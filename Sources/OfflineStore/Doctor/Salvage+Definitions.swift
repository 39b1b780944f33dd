import CipherSQL

/// How the tables of a damaged database were made.
struct Definitions {
  /// An entry of the catalogue.
  struct Item: Hashable {
    let type: String
    let name: String
    let table: String
    let sql: String
  }

  /// What could be read of the catalogue, in its order.
  var items: [Item] = []
  /// The schemas that make the tables, FieldVault's own first.
  var schemas: [Schema] = []
  /// What is wrong with them, in words.
  var problems: [String] = []

  /// - Throws: ``VaultError`` with `damaged` when there is nothing to begin with.
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

  /// Whether the catalogue has a table of a schema.
  private func hasTables(of schema: Schema) throws -> Bool {
    let rebuilt = try Database.inMemory()
    try Migrator(schemas: [CoreSchema.schema, schema]).apply(to: rebuilt)
    let own = try rebuilt.read { connection in
      try connection.fetch(
        "SELECT tableName FROM SyncedEntity WHERE schemaName = \(schema.name)", as: String.self)
    }
    return items.contains { own.contains($0.name) }
  }

  /// From the front, and from the back when that meets damage. False when something between is missing.
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

  /// The schemas as they were recorded.
  private static func schemas(of records: [MigrationRecord]) -> [Schema] {
    // In the order in which they came into the vault: a later one may refer to tables of an earlier one.
    let order = records.sorted { $0.appliedAt < $1.appliedAt }.map(\.schema)
    var names = [CoreSchema.schema.name]
    for name in order where !names.contains(name) { names.append(name) }
    return names.map { name in
      Schema(name: name, migrations: records.filter { $0.schema == name }.map(\.file))
    }
  }

  /// Writes what belongs to schemas as well.
  static func write<Result>(to database: Database, _ body: (WriteConnection) throws -> Result) throws -> Result {
    try database.write { connection in try connection.asMigration { try body(connection) } }
  }

  /// Makes the tables, those of the schemas first, and takes the triggers out of the way.
  func makeTables(in database: Database) throws {
    try Migrator(schemas: schemas).apply(to: database)
    try Self.write(to: database) { connection in
      let present = try Self.names(in: connection)
      let virtual = items.filter { $0.type == "table" && $0.sql.uppercased().hasPrefix("CREATE VIRTUAL") }
      for item in items where item.type == "table" && !present.contains(item.name) && !item.name.hasPrefix("sqlite_") {
        // The tables behind a virtual one come with it.
        if virtual.contains(where: { item.name != $0.name && item.name.hasPrefix($0.name + "_") }) { continue }
        try connection.execute(SQL(raw: item.sql))
      }
      for name in try connection.fetch("SELECT name FROM sqlite_schema WHERE type = 'trigger'", as: String.self) {
        try connection.execute("DROP TRIGGER \(identifier: name)")
      }
    }
  }

  /// Makes what has to wait until the rows are there: indexes, views and triggers, and full-text search.
  /// - Returns: what could not be made, in words.
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
      // This makes full-text search anew as well.
      try DerivedTriggers.create(in: connection)
      // Operations may have been saved whose records have not, and records whose operations have not.
      if try Self.names(in: connection).contains("OfflineSyncQueue") {
        try SyncInvariants.restore(SyncCatalog(try Entities.read(from: connection)), on: connection)
      }
    }
    return problems
  }

  /// Indexes first, triggers last; triggers that are derived are made by themselves. Where the catalogue is not whole
  /// the schemas tell what was in it.
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
