import CipherSQL
import Platform
import VaultKeys

/// The result of salvaging one table.
public struct SalvagedTable: Sendable, Hashable {
  /// The name of the table in both vaults.
  public let name: String
  /// The number of rows in the new vault that were read from the damaged one.
  public internal(set) var rows = 0
  /// The ranges of rowids that could not be read. They may include rowids without a row.
  public internal(set) var lost: [ClosedRange<Int64>] = []
  /// Whether rows with unknown rowids were lost.
  public internal(set) var hasUnknownLoss = false
  /// The number of rows that were inserted by the schema files because the damaged table lacks them.
  public internal(set) var reseeded = 0
  /// The number of rows that were read but violate a constraint of the table.
  public internal(set) var refused = 0

  init(_ name: String) { self.name = name }

  /// Whether every row was saved.
  public var isWhole: Bool { lost.isEmpty && !hasUnknownLoss && refused == 0 }
}

/// The result of salvaging a damaged vault.
public struct SalvageReport: Sendable {
  /// The path of the new vault.
  public let vault: String
  /// The tables, with the saved and lost rows of each.
  public let tables: [SalvagedTable]
  /// Descriptions of the problems of the new vault, such as references to lost records and unreadable definitions.
  public let problems: [String]
  /// The number of copied files of the attachments folder.
  public let attachments: Int
}

/// Copies the readable data of a damaged vault into a new vault beside it. The new vault has the same keyring and
/// opens with the same secrets. The damaged vault is never changed.
struct Salvage {
  let layout: VaultLayout
  let keys: UnlockedKeyring
  let schemas: [Schema]
  let environment: Environment
  let report: (String) throws -> Void

  private var source: DatabaseAccess {
    DatabaseAccess(
      path: layout.database(generation: keys.keyring.generation.number), key: GuardedKey(bytes: keys.databaseKey),
      environment: environment)
  }

  /// Returns the name of a vault without the suffix `.vault`.
  static func stem(of name: String) -> String { name.hasSuffix(".vault") ? String(name.dropLast(6)) : name }

  /// Returns the first free path for the new vault.
  static func target(for layout: VaultLayout) throws -> VaultLayout {
    for number in 1..<1000 {
      let name = "\(stem(of: layout.folder)).salvaged\(number == 1 ? "" : "-\(number)").vault"
      if !Files.exists(name) { return VaultLayout(folder: name) }
    }
    throw VaultError(.alreadyExists, "too many salvaged vaults beside \(layout.folder)", hint: "remove some")
  }

  /// Creates the new vault.
  /// - Throws: ``VaultError`` with `damaged` when no table definition can be read or the new vault fails its check;
  ///   `SQLError` when the new vault cannot be written. No file remains after an error.
  func run() throws -> SalvageReport {
    let target = try Self.target(for: layout)
    let draft = try StagedVault(for: target)
    do {
      let filled = try fill(draft.layout)
      let attachments = try copyAttachments(to: draft.layout)
      let problems = filled.problems + attachments.unreadable
      try draft.publish()
      return SalvageReport(
        vault: target.folder, tables: filled.tables, problems: problems, attachments: attachments.count)
    } catch {
      draft.abandon()
      throw error
    }
  }

  private func fill(_ draft: VaultLayout) throws -> (tables: [SalvagedTable], problems: [String]) {
    let generation = keys.keyring.generation.number
    let target = DatabaseAccess(
      path: draft.database(generation: generation), key: source.key, environment: environment)
    try Files.makeFolder(draft.generation(generation))
    try Files.makeFile(target.path)
    try report("Recreating the tables")
    let definitions = try Definitions.read(source, known: schemas)
    var outcome = try target.withDatabase { database in
      try definitions.makeTables(in: database)
      let filler = SalvageFiller(source: source, target: database, definitions: definitions, report: report)
      let tables = try filler.run()
      let problems = try definitions.makeTheRest(in: database)
      try database.withWriter { _ = try $0.checkpoint() }
      return (tables: tables, problems: definitions.problems + problems)
    }
    outcome.problems += try check(target)
    try KeyringFile.create(keys.keyring, at: draft.keyring)
    try Files.syncFile(target.path)
    try Files.syncFolder(draft.generation(generation))
    return outcome
  }

  private func check(_ target: DatabaseAccess) throws -> [String] {
    try report("Checking the new vault")
    let broken = try target.withDatabase { database in
      try database.read { try $0.problems(found: .pages, limit: 1) + $0.problems(found: .structure, limit: 1) }
    }
    if let problem = broken.first {
      throw VaultError(.damaged, "the new vault failed verification: \(problem)", hint: "check the disk")
    }
    return try target.withDatabase { try $0.read { try $0.problems(found: .references) } }
  }

  private func copyAttachments(to draft: VaultLayout) throws -> (count: Int, unreadable: [String]) {
    guard Files.isFolder(layout.attachments) else { return (0, []) }
    try report("Copying the attachments")
    return try copyTree(layout.attachments, draft.attachments)
  }

  /// Copies a folder. Skips an unreadable file, because the other files are worth having without it.
  private func copyTree(_ source: String, _ target: String) throws -> (count: Int, unreadable: [String]) {
    var (count, unreadable) = (0, [String]())
    for name in try Files.names(in: source) {
      let (from, to) = (source + "/" + name, target + "/" + name)
      if Files.isFolder(from) {
        try Files.makeFolder(to)
        let below = try copyTree(from, to)
        count += below.count
        unreadable += below.unreadable
        try Files.syncFolder(to)
      } else {
        do throws(FileError) {
          try Files.copy(from, to: to)
          count += 1
        } catch {
          guard error.code == .unreadable else { throw error }
          unreadable.append(error.message)
          try Files.removeTree(to)
        }
      }
    }
    return (count, unreadable)
  }
}

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
        .damaged, "no records can be saved: the beginning of the database, with the list of its tables, is damaged",
        hint: "restore a backup")
    }
    definitions.problems.append(
      "the recorded schema files could not be read; used the schema files of this program instead")
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
          problems.append("could not create the \(item.type) \(item.name): \(error.message)")
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
