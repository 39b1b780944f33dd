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
  /// The files that made the tables; empty when they cannot be read.
  var records: [MigrationRecord] = []
  /// What is wrong with them, in words.
  var problems: [String] = []

  /// - Throws: ``VaultError`` with `damaged` when there is nothing to begin with.
  static func read(_ source: DatabaseAccess) throws -> Definitions {
    var definitions = Definitions()
    let isWhole = definitions.readItems(source)
    definitions.records = (try? MigrationRecord.all(in: source.openDamaged())) ?? []
    if !isWhole { definitions.problems.append("a part of the list of tables could not be read") }
    if definitions.records.isEmpty {
      definitions.problems.append("the recorded schema files could not be read; the tables are made from the catalogue")
    }
    guard !definitions.items.isEmpty || !definitions.records.isEmpty else {
      throw VaultError(
        .damaged, "nothing can be saved: the beginning of the database, with the list of its tables, is damaged",
        hint: "restore a backup")
    }
    return definitions
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

  /// The schemas as they were recorded, FieldVault's own first.
  private var schemas: [Schema] {
    let others = Set(records.map(\.schema)).subtracting([CoreSchema.schema.name])
    // In the order in which they came into the vault: a later one may refer to tables of an earlier one.
    let order = records.sorted { $0.appliedAt < $1.appliedAt }.map(\.schema).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
    return ([CoreSchema.schema.name] + order.filter(others.contains)).map { name in
      Schema(name: name, migrations: records.filter { $0.schema == name }.map(\.file))
    }
  }

  /// Makes the tables, from the recorded files where there are any, and takes the triggers out of the way.
  func makeTables(in database: Database) throws {
    if !records.isEmpty { try Migrator(schemas: schemas).apply(to: database) }
    try database.write { connection in
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
    try database.write { connection in
      let present = try Self.names(in: connection)
      for item in try laterItems() where !present.contains(item.name) {
        do {
          try connection.savepoint { _ = try connection.execute(SQL(raw: item.sql)) }
        } catch let error as SQLError {
          problems.append("the \(item.type) \(item.name) could not be made: \(error.message)")
        }
      }
      try DerivedTriggers.create(in: connection)
      for index in try SearchIndexes.all(in: connection) where index.hasContentTable {
        try SearchIndexes.rebuild(index, on: connection)
      }
    }
    return problems
  }

  /// Indexes first, triggers last; triggers that are derived are made by themselves. Where the catalogue is not whole
  /// the recorded files tell what was in it.
  private func laterItems() throws -> [Item] {
    var known = items
    if !records.isEmpty {
      let rebuilt = try Database.inMemory()
      try Migrator(schemas: schemas).apply(to: rebuilt)
      known += try rebuilt.read { connection in
        try connection.fetchRows(
          "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE type = 'trigger'", as: String.self, String.self,
          String.self, String.self
        ).map { Item(type: $0, name: $1, table: $2, sql: $3) }
      }.filter { trigger in !items.contains { $0.name == trigger.name } }
    }
    return ["index", "view", "trigger"].flatMap { type in
      known.filter { $0.type == type && !$0.name.hasPrefix(DerivedTriggers.prefix) }
    }
  }

  static func names(in connection: Connection) throws -> Set<String> {
    Set(try connection.fetch("SELECT name FROM sqlite_schema", as: String.self))
  }
}
