import CipherSQL

/// The triggers, and the indexes for their work, that FieldVault derives from a schema, so that a write through SQL or the sqlcipher shell follows
/// the same rules as one through Swift: deletion marks, changes are stamped, the contents of attachments are known,
/// full-text search is kept up.
///
/// They use built-in functions only, because the shell has no others, and do not rely on recursive triggers, which
/// the shell has switched off.
enum DerivedTriggers {
  static let prefix = "fieldvault_"

  /// Takes them out of the way of a migration.
  static func drop(in connection: WriteConnection) throws {
    let names = try connection.fetch(
      "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB \(prefix + "*")", as: String.self)
    for name in names { try connection.execute("DROP TRIGGER \(identifier: name)") }
    let indexes = try connection.fetch(
      "SELECT name FROM sqlite_schema WHERE type = 'index' AND name GLOB \(prefix + "*")", as: String.self)
    for name in indexes { try connection.execute("DROP INDEX \(identifier: name)") }
  }

  /// Makes them for the tables as they are now, and queues what a migration wrote and brings full-text search up to date with it
  /// while they were away.
  static func create(in connection: WriteConnection) throws {
    let known = try connection.fetchOne(
      """
      SELECT count(*) FROM sqlite_schema
      WHERE type = 'table' AND name IN ('SyncedEntity', 'WriteContext', 'OfflineSyncQueue')
      """, as: Int.self)
    // FieldVault's own tables come before all others, so no record is written without its triggers.
    guard known == 3 else { return }
    let entities = try Entities.read(from: connection)
    try RecordTable.checkComputations(of: entities, in: connection)
    try UserEditMarks.check(entities)
    for sql in statements(for: entities) { try connection.execute(SQL(raw: sql)) }
    try RouteTriggers.replace(for: entities, in: connection)
    for entity in entities.all {
      if let outbox = OutboxTriggers(entity, in: entities) { try outbox.queueMissing(on: connection) }
    }
    if let attachments = AttachmentTriggers(entities) { try attachments.addMissing(on: connection) }
    for table in entities.catalog.tables where table.contentTable != nil {
      let name = SQL.quoted(table.name)
      try connection.execute(SQL(raw: "INSERT INTO \(name) (\(name)) VALUES ('rebuild')"))
    }
  }

  /// The text of all triggers and indexes, in a stable order.
  static func statements(for entities: Entities) -> [String] {
    var statements: [String] = []
    for entity in entities.all where entity.marksDeletion {
      statements.append(deletion(of: entity))
      if let cascade = cascade(from: entity, in: entities) { statements.append(cascade) }
      if let outbox = OutboxTriggers(entity, in: entities) {
        statements += outbox.statements
        statements.append(deletedIndex(of: entity))
        if let revival = revival(of: entity, in: entities) { statements.append(revival) }
        if let computed = ComputedColumns(entity) { statements += computed.statements }
      } else if let stamp = stamp(of: entity) {
        statements.append(stamp)
      }
    }
    if let attachments = AttachmentTriggers(entities) { statements += attachments.statements }
    for table in entities.catalog.tables { statements += search(table, in: entities.catalog) }
    return statements
  }

  /// Finds the few marked rows without reading all others, each time that sync looks which may go.
  private static func deletedIndex(of entity: Entity) -> String {
    """
    CREATE INDEX \(prefix)deleted_\(entity.table.name) ON \(SQL.quoted(entity.table.name)) (isDirty) WHERE isDeleted = 1
    """
  }

  /// A DELETE marks the row, unless it comes from the purge.
  private static func deletion(of entity: Entity) -> String {
    let table = SQL.quoted(entity.table.name)
    let key = SQL.quoted(entity.key)
    return """
      CREATE TRIGGER \(prefix)delete_\(entity.table.name) BEFORE DELETE ON \(table)
      WHEN (SELECT mode FROM WriteContext) <> 'purge'
      BEGIN
        UPDATE \(table) SET isDeleted = 1 WHERE \(key) = OLD.\(key) AND isDeleted = 0;
        SELECT RAISE(IGNORE);
      END
      """
  }

  /// Marking a row marks what would be deleted with it.
  private static func cascade(from entity: Entity, in entities: Entities) -> String? {
    let cascades = entities.cascades(from: entity)
    guard !cascades.isEmpty else { return nil }
    let table = SQL.quoted(entity.table.name)
    let key = SQL.quoted(entity.key)
    var owners = "SELECT NEW.\(key)"
    if let own = cascades.first(where: { $0.entity == entity }) {
      // A trigger does not fire itself, so a tree is walked here and not by recursion.
      let parent = SQL.quoted(own.column)
      owners = """
        WITH RECURSIVE branch (id) AS (
            SELECT NEW.\(key) UNION SELECT child.\(key) FROM \(table) AS child JOIN branch ON child.\(parent) = branch.id
          ) SELECT id FROM branch
        """
    }
    let updates = cascades.map { child, column in
      let condition = "\(SQL.quoted(column)) IN (\(owners)) AND isDeleted = 0"
      return "  UPDATE \(SQL.quoted(child.table.name)) SET isDeleted = 1 WHERE \(condition);"
    }
    // The branches of a tree are looked for before they are marked.
    let ordered =
      updates.filter { !$0.hasPrefix("  UPDATE \(table) ") } + updates.filter { $0.hasPrefix("  UPDATE \(table) ") }
    return """
      CREATE TRIGGER \(prefix)cascade_\(entity.table.name) AFTER UPDATE OF isDeleted ON \(table)
      WHEN NEW.isDeleted = 1 AND OLD.isDeleted = 0 AND (SELECT mode FROM WriteContext) IN ('person', 'import')
      BEGIN
        UPDATE WriteContext SET cascadeDepth = cascadeDepth + 1,
          rootType = CASE cascadeDepth WHEN 0 THEN '\(entity.type.replacingQuotes)' ELSE rootType END,
          rootId = CASE cascadeDepth WHEN 0 THEN NEW.\(key) ELSE rootId END;
      \(ordered.joined(separator: "\n"))
        UPDATE WriteContext SET cascadeDepth = cascadeDepth - 1;
      END
      """
  }

  /// What a deletion took along comes back with the record that it was meant for.
  private static func revival(of entity: Entity, in entities: Entities) -> String? {
    let followers = entities.followers(of: entity).filter { $0.sync != nil && $0.hasCommonFields }
    guard !followers.isEmpty else { return nil }
    let key = SQL.quoted(entity.key)
    let type = "'\(entity.type.replacingQuotes)'"
    let updates = followers.map { follower in
      """
        UPDATE \(SQL.quoted(follower.table.name)) SET isDeleted = 0 WHERE isDeleted = 1 AND \(SQL.quoted(follower.key)) IN (
            SELECT entityId FROM SyncCascade
            WHERE rootId = NEW.\(key) AND rootType = \(type) AND entityType = '\(follower.type.replacingQuotes)'
              AND isAnswered = 0);
      """
    }
    return """
      CREATE TRIGGER \(prefix)revive_\(entity.table.name) AFTER UPDATE OF isDeleted ON \(SQL.quoted(entity.table.name))
      WHEN NEW.isDeleted = 0 AND OLD.isDeleted = 1
        AND (SELECT mode IN ('person', 'import') AND cascadeDepth = 0 FROM WriteContext)
      BEGIN
        UPDATE WriteContext SET cascadeDepth = 1;
      \(updates.joined(separator: "\n"))
        UPDATE WriteContext SET cascadeDepth = 0;
      END
      """
  }

  /// A change by a person sets `updatedAt`, where the person's program has not done so, and what sync needs to know.
  private static func stamp(of entity: Entity) -> String? {
    let names = entity.table.columns.map(\.name)
    guard Set(names).isSuperset(of: ["updatedAt", "isDirty", "syncStatus"]) else { return nil }
    let watched = names.filter { name in
      name == "isDeleted" || !entity.isKept(name) && !entity.localColumns.contains(name)
    }
    let table = SQL.quoted(entity.table.name)
    let key = SQL.quoted(entity.key)
    return """
      CREATE TRIGGER \(prefix)stamp_\(entity.table.name)
      AFTER UPDATE OF \(watched.map(SQL.quoted).joined(separator: ", ")) ON \(table)
      WHEN (NEW.updatedAt IS OLD.updatedAt OR NEW.isDirty = 0) AND (SELECT mode FROM WriteContext) = 'person'
      BEGIN
        UPDATE \(table) SET
          updatedAt = CASE WHEN NEW.updatedAt IS OLD.updatedAt THEN strftime('%Y-%m-%dT%H:%M:%fZ', 'now') ELSE NEW.updatedAt END,
          isDirty = 1,
          syncStatus = CASE NEW.syncStatus WHEN 'conflict' THEN 'conflict' ELSE 'pending' END
        WHERE \(key) = NEW.\(key);
      END
      """
  }

  /// Keeps a full-text table that has another table's content up to date, as https://sqlite.org/fts5.html#external_content_tables
  /// describes it.
  private static func search(_ search: Catalog.Table, in catalog: Catalog) -> [String] {
    guard let content = search.contentTable, let key = search.contentRowID else { return [] }
    let table = SQL.quoted(content)
    let index = SQL.quoted(search.name)
    let columns = search.columns.map { SQL.quoted($0.name) }
    let list = (["rowid"] + columns).joined(separator: ", ")
    func values(_ row: String) -> String {
      ([SQL.quoted(key)] + columns).map { "\(row).\($0)" }.joined(separator: ", ")
    }
    let remove = "  INSERT INTO \(index) (\(index), \(list)) VALUES ('delete', \(values("OLD")));"
    let add = "  INSERT INTO \(index) (\(list)) VALUES (\(values("NEW")));"
    func trigger(_ name: String, _ event: String, _ body: [String]) -> String {
      """
      CREATE TRIGGER \(prefix)search_\(name)_\(search.name) AFTER \(event) ON \(table)
      BEGIN
      \(body.joined(separator: "\n"))
      END
      """
    }
    return [
      trigger("insert", "INSERT", [add]),
      trigger("delete", "DELETE", [remove]),
      trigger("update", "UPDATE OF \(columns.joined(separator: ", "))", [remove, add]),
    ]
  }
}
