import CipherSQL
import SchemaModel

/// The rules of sync that the tables of a schema must meet. A schema that breaks one is refused when a device or a
/// server loads it.
package enum SchemaRules {
  /// Returns a migrator with the rules.
  package static func checking(_ migrator: Migrator) -> Migrator {
    var migrator = migrator
    migrator.check = check
    return migrator
  }

  /// - Parameter isLast: whether the file is the last one of its schema. Earlier files may leave work to it.
  /// - Throws: `SchemaViolation` for the first broken rule.
  private static func check(_ connection: WriteConnection, after file: MigrationFile, isLast: Bool) throws {
    guard try DerivedTriggers.areKnown(in: connection) else { return }
    let entities = try Entities.read(from: connection)
    try ReplaceTriggers.check(entities)
    try RecordTable.checkComputations(of: entities, in: connection)
    try UserEditTriggers.check(entities)
    // A vault that an earlier version accepted takes the files of FieldVault itself.
    if CoreSchema.schema.migrations.contains(file) { return }
    let registered = try connection.fetchRows(
      "SELECT entityType, tableName FROM SyncedEntity ORDER BY rowid", as: String.self, String.self)
    try checkTypes(registered.map(\.0))
    try checkLocalIds(entities)
    guard isLast else { return }
    try checkCase(registered, entities, connection)
    try checkCycles(entities)
    try checkMemberships(entities)
  }

  // MARK: Entity names

  private static func checkTypes(_ types: [String]) throws {
    var known: [String: String] = [:]
    for type in types {
      if let twin = known.updateValue(type, forKey: type.lowercased()) {
        throw SchemaViolation(
          SchemaViolation.twins("entities", twin, type), atText: type, remedy: SchemaViolation.remedyOfTwins)
      }
      guard [".", ".."].contains(type) || type.utf8.contains(where: isUnsendable) else { continue }
      throw SchemaViolation(
        "the entity name '\(type)' cannot be part of the path of a request", atText: type,
        remedy: "use a name without slashes, backslashes and control characters, other than '.' and '..'")
    }
  }

  private static func isUnsendable(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
  }

  // MARK: Local ids

  /// The outbox and the bases name a record by its local id, which is an integer that never changes.
  private static func checkLocalIds(_ entities: Entities) throws {
    for entity in entities.all where entity.isSynced && !entity.table.columns.contains(where: \.isRowID) {
      throw SchemaViolation(
        "the synced table \(entity.table.name) has no local id", at: entity.table.name,
        remedy:
          "its only primary key must be one column, \(localId(of: entity)) INTEGER PRIMARY KEY, and the table must "
          + "have a rowid. Declare other keys as UNIQUE")
    }
  }

  private static func localId(of entity: Entity) -> String {
    (entity.type.first?.lowercased() ?? "") + entity.type.dropFirst() + "Id"
  }

  // MARK: The case of names

  /// SQLite ignores the case of ASCII letters in names. FieldVault does not, so a name in another case would silently
  /// have no effect.
  private static func checkCase(_ registered: [(String, String)], _ entities: Entities, _ connection: Connection) throws
  {
    for (type, table) in registered where entities.catalog.table(table) == nil {
      guard let name = other(than: table, among: entities.catalog.tables.map(\.name)) else { continue }
      throw SchemaViolation(
        "SyncedEntity names the table of \(type) '\(table)', but it is '\(name)'", atText: table,
        remedy: "write '\(name)'")
    }
    let common = Entity.keptColumns.union(["uuid", Entity.userEditsColumn]).sorted()
    for entity in entities.all where entity.sync != nil {
      let columns = entity.table.columns.map(\.name)
      for field in common where !columns.contains(field) {
        guard let name = other(than: field, among: columns) else { continue }
        throw SchemaViolation(
          "the column '\(name)' of the synced table \(entity.table.name) must be named '\(field)'",
          at: entity.table.name, column: name,
          remedy: "ALTER TABLE ... RENAME COLUMN in a new file corrects a released file")
      }
    }
    let special = try connection.fetchRows(
      "SELECT entityType, columnName FROM SyncedColumn", as: String.self, String.self)
    for (type, column) in special {
      guard let table = entities.all.first(where: { $0.sync != nil && $0.type == type })?.table,
        table.column(column) == nil, let name = other(than: column, among: table.columns.map(\.name))
      else { continue }
      throw SchemaViolation(
        "SyncedColumn names the column of \(type) '\(column)', but it is '\(name)'", atText: column,
        remedy: "write '\(name)'")
    }
  }

  private static func other(than name: String, among names: [String]) -> String? {
    names.first { $0 != name && $0.lowercased() == name.lowercased() }
  }

  // MARK: Cycles

  /// A record is pushed after the records that it references. In a cycle, a reference that accepts NULL is left empty
  /// at first; without one, no record of the cycle could be the first.
  private static func checkCycles(_ entities: Entities) throws {
    let synced = entities.all.filter(\.isSynced).sorted { $0.table.name < $1.table.name }
    let required = synced.flatMap { entities.dependencies(on: $0) }.filter(isRequired)
    for start in synced {
      guard let cycle = path(from: start.type, to: start.type, required), let first = cycle.first else { continue }
      let names = cycle.map { key in
        "\(key.child.table.name).\(key.key.columns.map(\.from).joined(separator: "+")) -> \(key.parent.table.name)"
      }
      throw SchemaViolation(
        "the references \(names.joined(separator: ", ")) form a cycle in which none accepts NULL, so no record of it can "
          + "be sent first", at: first.child.table.name, column: first.key.columns.first?.from,
        remedy: "remove NOT NULL from one of them")
    }
  }

  /// Whether each record of the child needs a record of the parent on the server. A key with a NULL references nothing.
  private static func isRequired(_ dependency: Dependency) -> Bool {
    let child = dependency.child
    return child.isSynced
      && dependency.key.columns.allSatisfy { pair in
        child.table.column(pair.from)?.isNotNull == true && !child.localColumns.contains(pair.from)
      }
  }

  /// Returns the keys that lead from an entity to another one, one key after the other.
  private static func path(from start: String, to end: String, _ keys: [Dependency]) -> [Dependency]? {
    var open: [[Dependency]] = keys.filter { $0.child.type == start }.map { [$0] }
    var seen: Set<String> = []
    while !open.isEmpty {
      let path = open.removeFirst()
      guard let last = path.last?.parent.type else { continue }
      if last == end { return path }
      guard seen.insert(last).inserted else { continue }
      open += keys.filter { $0.child.type == last }.map { path + [$0] }
    }
    return nil
  }

  // MARK: Membership

  /// A record makes the user that one of its columns references a member of the project that it belongs to.
  private static func checkMemberships(_ entities: Entities) throws {
    let tables = Dictionary(
      entities.all.compactMap { entity in RecordTable(entity, in: entities).map { (entity.type, $0) } },
      uniquingKeysWith: { $1 })
    let ways = ProjectPaths(tables).references
    for (type, name) in entities.memberColumns.sorted(by: { $0.key < $1.key }) {
      guard let table = tables[type] else {
        throw SchemaViolation(
          "SyncedMembership names '\(type)', which is no synced entity", atText: type,
          remedy: "the entities are \(tables.keys.sorted().joined(separator: ", "))")
      }
      guard let column = table.columns.first(where: { $0.name == name }), let reference = column.reference,
        reference.entityType != ProjectPaths.projectType
      else {
        throw SchemaViolation(
          "'\(name)' of \(type) in SyncedMembership references no record of a user", atText: name,
          remedy: "name a synced column with a reference to the entity of the users")
      }
      guard ways[type]?.contains(where: { $0.column != name }) == true else {
        throw SchemaViolation(
          "the records of \(type) in SyncedMembership belong to no project", atText: type,
          remedy: "add a NOT NULL column that references a \(ProjectPaths.projectType)")
      }
    }
  }
}
