import CipherSQL
import SchemaModel

/// The triggers that refuse `INSERT OR REPLACE` and `UPDATE OR REPLACE` if another row would be replaced. SQLite
/// removes that row without firing a trigger, so the server, its dependents and full-text search would miss the
/// removal.
///
/// A trigger cannot see the conflict clause of the statement that fired it, but its own statements follow that
/// clause. So it inserts a duplicate value into `SyncTakenValue`. Only with REPLACE, this changes a row. `ON CONFLICT
/// DO UPDATE`, OR IGNORE and plain statements work as usual.
struct ReplaceTriggers {
  private let entity: Entity
  private let indexes: [Catalog.UniqueIndex]
  private let isSynced: Bool

  init(_ entity: Entity, in entities: Entities) {
    self.entity = entity
    indexes = entity.table.uniqueIndexes
    isSynced = entity.isSynced
  }

  var statements: [String] { [insertion, update].compactMap { $0 } }

  /// - Throws: `SchemaViolation` for a table whose own constraints replace rows.
  static func check(_ entities: Entities) throws {
    for entity in entities.all where entity.marksDeletion && entity.table.replacesOnConflict {
      throw SchemaViolation(
        "\(entity.table.name) has a constraint with ON CONFLICT REPLACE, which bypasses triggers",
        at: entity.table.name, remedy: "remove ON CONFLICT REPLACE")
    }
  }

  private var table: String { SQL.quoted(entity.table.name) }
  private var key: String { SQL.quoted(entity.key) }

  private var insertion: String {
    let isRowTaken = "EXISTS (SELECT 1 FROM \(table) WHERE \(key) = NEW.\(key))"
    return trigger("replace_insert", "INSERT", ([isRowTaken] + indexes.map { isTaken($0) }).joined(separator: " OR "))
  }

  /// The keys without the UUID and the local id, which a user cannot change.
  private var update: String? {
    let fixed = isSynced ? [entity.key, "uuid"] : []
    let changing = indexes.filter { $0.columns.contains { !fixed.contains($0) } }
    let columns = entity.table.columns.filter { column in
      !fixed.contains(column.name) && !column.isGenerated
        && changing.contains { $0.columns.contains(column.name) || $0.namesGenerated(in: entity.table) }
    }.map { SQL.quoted($0.name) }
    guard !columns.isEmpty else { return nil }
    let isChanged = columns.map { "NEW.\($0) IS NOT OLD.\($0)" }.joined(separator: " OR ")
    let taken = changing.map { isTaken($0, besides: " AND \(key) <> OLD.\(key)") }
    return trigger(
      "replace", "UPDATE OF \(columns.joined(separator: ", "))",
      "(\(isChanged)) AND (\(taken.joined(separator: " OR ")))")
  }

  /// Returns the condition that another row has the values of the new row.
  private func isTaken(_ index: Catalog.UniqueIndex, besides: String = "") -> String {
    // The columns of the new row, under the names that the index expressions use.
    let row = index.columns.map { "NEW.\(SQL.quoted($0)) AS \(SQL.quoted($0))" }.joined(separator: ", ")
    func ofNew(_ expression: String) -> String { "(SELECT \(expression) FROM (SELECT \(row)) AS \(table))" }
    let equal = index.terms.map { term in
      let value = term.column == nil ? ofNew(term.expression) : "NEW.\(term.expression)"
      return "\(term.expression) = \(value) COLLATE \(SQL.quoted(term.collation))"
    }
    let condition = index.condition.map { " AND (\($0))" } ?? ""
    let applies = index.condition.map { " AND \(ofNew($0))" } ?? ""
    return "EXISTS (SELECT 1 FROM \(table) WHERE \(equal.joined(separator: " AND "))\(condition)\(besides))\(applies)"
  }

  private func trigger(_ name: String, _ event: String, _ condition: String) -> String {
    """
    CREATE TRIGGER \(DerivedTriggers.name(name, of: entity)) BEFORE \(event) ON \(table)
    WHEN \(condition)
    BEGIN
      INSERT OR IGNORE INTO SyncTakenValue (value, isReplaced) VALUES (1, 1);
      SELECT RAISE(ABORT, 'OR REPLACE would remove another \(entity.type.replacingQuotes): use UPDATE, or INSERT ... ON CONFLICT DO UPDATE')
        FROM SyncTakenValue WHERE isReplaced = 1;
    END
    """
  }
}

extension Catalog.UniqueIndex {
  /// Whether the key depends on generated columns.
  fileprivate func namesGenerated(in table: Catalog.Table) -> Bool {
    columns.contains { table.column($0)?.isGenerated == true }
  }
}

extension Catalog.Table {
  /// Whether one of its constraints contains ON CONFLICT REPLACE.
  fileprivate var replacesOnConflict: Bool { contains("conflict", "replace") }

  /// Whether SQLite checks one of its foreign keys at the end of a transaction only.
  var defersForeignKeys: Bool { contains("initially", "deferred") }

  /// Whether two lower-case words follow each other in its text.
  private func contains(_ first: String, _ second: String) -> Bool {
    // Few tables contain the word at all, and splitting the text takes long.
    guard sql.lowercased().contains(second) else { return false }
    let bytes = Array(sql.utf8)
    let words = SQLText.tokens(of: bytes).filter { $0.kind != .space && $0.kind != .comment }.map {
      $0.kind == .word ? String(decoding: bytes[$0.range], as: UTF8.self).lowercased() : ""
    }
    return zip(words, words.dropFirst()).contains { $0 == first && $1 == second }
  }
}
