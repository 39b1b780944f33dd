import CStatementPolicy
import CipherSQL
import SchemaModel

/// The triggers, and their indexes, that FieldVault derives from a schema. Modules above this one add theirs. A write through SQL or the sqlcipher shell
/// follows the same rules as a write through Swift: a deletion marks the row, changes are stamped and queued,
/// contents of attachments are known, and full-text search is up to date.
///
/// They use built-in functions only, because the shell has no others. They do not rely on recursive triggers, which
/// the shell has switched off.
package enum DerivedTriggers {
  package static let prefix = FIELDVAULT_DERIVED_PREFIX

  /// Returns the quoted name of a trigger or index of an entity.
  package static func name(_ name: String, of entity: Entity) -> String {
    SQL.quoted("\(prefix)\(name)_\(entity.table.name)")
  }

  /// The triggers of the modules above.
  package struct Additions: Sendable {
    /// Returns the statements for one entity whose records are marked as deleted.
    let ofEntity: @Sendable (Entity, Entities) -> [String]
    /// Returns the statements for all entities together.
    let ofAll: @Sendable (Entities) -> [String]
    /// Runs after the triggers were created, for the records that a migration wrote without them.
    let afterwards: @Sendable (Entities, WriteConnection) throws -> Void

    /// Creates additions; see the properties.
    package init(
      ofEntity: @escaping @Sendable (Entity, Entities) -> [String], ofAll: @escaping @Sendable (Entities) -> [String],
      afterwards: @escaping @Sendable (Entities, WriteConnection) throws -> Void
    ) {
      (self.ofEntity, self.ofAll, self.afterwards) = (ofEntity, ofAll, afterwards)
    }

    /// An empty set of additions, for tables without an outbox.
    package static let none = Additions(ofEntity: { _, _ in [] }, ofAll: { _ in [] }, afterwards: { _, _ in })
  }

  /// Whether the connection sees triggers of a schema or a program too, which may change any record.
  package static func hasOthers(in connection: WriteConnection) throws -> Bool {
    func exist(in table: SQL) throws -> Bool {
      try connection.fetchOne(
        "SELECT 1 FROM \(table) WHERE type = 'trigger' AND name NOT GLOB \(prefix + "*")", as: Int.self) != nil
    }
    // A vault has hundreds of triggers.
    let stored = try connection.ofSchema("other triggers") { try exist(in: "sqlite_schema") }
    return try stored || exist(in: "sqlite_temp_schema")
  }

  /// Drops the triggers before a migration.
  package static func drop(in connection: WriteConnection) throws {
    let names = try connection.fetch(
      "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB \(prefix + "*")", as: String.self)
    try connection.asMigration { for name in names { try connection.execute("DROP TRIGGER \(identifier: name)") } }
    let indexes = try connection.fetch(
      "SELECT name FROM sqlite_schema WHERE type = 'index' AND name GLOB \(prefix + "*")", as: String.self)
    try connection.asMigration { for name in indexes { try connection.execute("DROP INDEX \(identifier: name)") } }
  }

  /// Whether FieldVault's own tables exist. They come before all others, so no record is written without its triggers.
  static func areKnown(in connection: Connection) throws -> Bool {
    try connection.fetchOne(
      """
      SELECT count(*) FROM sqlite_schema
      WHERE type = 'table' AND name IN ('SyncedEntity', 'OfflineSyncQueue', 'SyncTakenValue')
      """, as: Int.self) == 3
  }

  /// Creates the triggers for the current tables, and updates full-text search.
  package static func create(in connection: WriteConnection, adding additions: Additions = .none) throws {
    guard try areKnown(in: connection) else { return }
    // A file may have tried to set a write mode. Its writes had no triggers anyway. The stored value of a user's write
    // stays 'person', because applied SQL never changes.
    try connection.execute("UPDATE WriteContext SET mode = 'person' WHERE mode <> 'person'")
    let entities = try Entities.read(from: connection)
    try connection.asMigration {
      for sql in statements(for: entities, adding: additions) { try connection.execute(SQL(raw: sql)) }
    }
    try additions.afterwards(entities, connection)
    for table in entities.catalog.tables where table.contentTable != nil {
      let name = SQL.quoted(table.name)
      try connection.execute(SQL(raw: "INSERT INTO \(name) (\(name)) VALUES ('rebuild')"))
    }
  }

  /// Returns the text of all triggers and indexes, in a stable order.
  package static func statements(for entities: Entities, adding additions: Additions = .none) -> [String] {
    var statements = ["UPDATE", "INSERT"].map(writeContext)
    for entity in entities.all where entity.marksDeletion {
      statements.append(deletion(of: entity))
      statements += CascadeTriggers(entity, in: entities).statements
      statements += ReplaceTriggers(entity, in: entities).statements
      statements += additions.ofEntity(entity, entities)
      if entity.isSynced {
        statements.append(deletedIndex(of: entity))
        statements += SyncBaseIndex.statements(for: entity, entity.sharedColumns(in: entities))
        if let computed = ComputedColumns(entity) { statements += computed.statements }
      } else if let stamp = stamp(of: entity) {
        statements.append(stamp)
      }
    }
    statements += additions.ofAll(entities)
    for table in entities.catalog.tables { statements += search(table, in: entities.catalog) }
    return statements
  }

  /// Protects the row, so that no SQL can switch the triggers off for later writes.
  private static func writeContext(_ event: String) -> String {
    """
    CREATE TRIGGER \(prefix)write_context_\(event.lowercased()) BEFORE \(event) ON WriteContext
    WHEN NEW.mode <> 'person'
    BEGIN
      SELECT RAISE(ABORT, 'the write mode cannot be set by SQL; only a purge removes deleted records permanently');
    END
    """
  }

  /// An index that finds the few deleted rows without a scan. Each sync looks for rows to remove.
  private static func deletedIndex(of entity: Entity) -> String {
    """
    CREATE INDEX \(name("deleted", of: entity)) ON \(SQL.quoted(entity.table.name)) (isDirty) WHERE isDeleted = 1
    """
  }

  /// A DELETE marks the row, unless rows are purged.
  private static func deletion(of entity: Entity) -> String {
    let table = SQL.quoted(entity.table.name)
    let key = SQL.quoted(entity.key)
    return """
      CREATE TRIGGER \(name("delete", of: entity)) BEFORE DELETE ON \(table)
      WHEN \(WriteMode.isNoPurge)
      BEGIN
        UPDATE \(table) SET isDeleted = 1 WHERE \(key) = OLD.\(key) AND isDeleted = 0;
        SELECT RAISE(IGNORE);
      END
      """
  }

  /// A change by a user sets `updatedAt`, unless the user's program has set it, and the columns that sync needs.
  private static func stamp(of entity: Entity) -> String? {
    let names = entity.table.columns.map(\.name)
    guard Set(names).isSuperset(of: ["updatedAt", "isDirty", "syncStatus"]) else { return nil }
    let watched = names.filter { name in
      name == "isDeleted" || !entity.isKept(name) && !entity.localColumns.contains(name)
    }
    let table = SQL.quoted(entity.table.name)
    let key = SQL.quoted(entity.key)
    return """
      CREATE TRIGGER \(name("stamp", of: entity))
      AFTER UPDATE OF \(watched.map(SQL.quoted).joined(separator: ", ")) ON \(table)
      WHEN (NEW.updatedAt IS OLD.updatedAt OR NEW.isDirty = 0) AND \(WriteMode.isTyped)
      BEGIN
        UPDATE \(table) SET
          updatedAt = CASE WHEN NEW.updatedAt IS OLD.updatedAt THEN strftime('%Y-%m-%dT%H:%M:%fZ', 'now') ELSE NEW.updatedAt END,
          isDirty = 1,
          syncStatus = CASE NEW.syncStatus WHEN 'conflict' THEN 'conflict' ELSE 'pending' END
        WHERE \(key) = NEW.\(key);
      END
      """
  }

  /// Keeps a full-text table with external content up to date; see
  /// https://sqlite.org/fts5.html#external_content_tables.
  ///
  /// A trigger of the schema or of a program may change the row again within the statement, before the triggers that follow
  /// the first change. So each of them reads the row as it is, and the table of lengths, which has the indexed rows.
  private static func search(_ search: Catalog.Table, in catalog: Catalog) -> [String] {
    guard let content = search.contentTable, let key = search.contentRowID else { return [] }
    let table = SQL.quoted(content)
    let index = SQL.quoted(search.name)
    let columns = search.columns.map { SQL.quoted($0.name) }
    let list = (["rowid"] + columns).joined(separator: ", ")
    func values(_ row: String) -> String {
      ([SQL.quoted(key)] + columns).map { "\(row).\($0)" }.joined(separator: ", ")
    }
    // A full-text table with the option has no such table.
    let hasLengths = !search.sql.lowercased().contains("columnsize")
    func isIndexed(_ row: String) -> String {
      hasLengths
        ? "EXISTS (SELECT 1 FROM \(SQL.quoted(search.name + "_docsize")) WHERE id = \(row).\(SQL.quoted(key)))" : "1"
    }
    func current(_ row: String) -> String {
      "FROM \(table) AS current WHERE current.\(SQL.quoted(key)) = \(row).\(SQL.quoted(key))"
    }
    let removal = "  INSERT INTO \(index) (\(index), \(list))"
    let remove = "\(removal) SELECT 'delete', \(values("current")) \(current("OLD")) AND \(isIndexed("OLD"));"
    let removeDeleted = "\(removal) SELECT 'delete', \(values("OLD")) WHERE \(isIndexed("OLD"));"
    let isMissing = hasLengths ? "NOT \(isIndexed("NEW"))" : "1"
    let add = "  INSERT INTO \(index) (\(list)) SELECT \(values("current")) \(current("NEW")) AND \(isMissing);"
    func trigger(_ name: String, _ event: String, _ body: String) -> String {
      """
      CREATE TRIGGER \(SQL.quoted("\(prefix)search_\(name)_\(search.name)")) \(event) ON \(table)
      BEGIN
      \(body)
      END
      """
    }
    // A generated column changes with other columns.
    let isGenerated = search.columns.contains { catalog.table(content)?.column($0.name)?.isGenerated == true }
    let update = isGenerated ? "UPDATE" : "UPDATE OF \(columns.joined(separator: ", "))"
    return [
      trigger("insert", "AFTER INSERT", add), trigger("delete", "AFTER DELETE", removeDeleted),
      trigger("change", "BEFORE \(update)", remove), trigger("update", "AFTER \(update)", add),
    ]
  }
}
