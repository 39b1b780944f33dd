import CipherSQL
import SchemaModel

/// The triggers of one entity that apply the foreign keys of its dependents when a record is marked as deleted, and
/// restore them with it. A key may reference any unique columns.
///
/// One traversal finds all dependents before any is marked, so that trees and cycles end. They become rows of
/// `SyncCascade`, with `isUnderWay` set until the statement ends. It signals to the triggers of a dependent that the
/// root is queued instead of the dependent.
package struct CascadeTriggers {
  private let entity: Entity
  private let dependents: [Entity]
  /// The foreign keys to records of this entity, by their action.
  private let keys: [Dependency]

  package init(_ entity: Entity, in entities: Entities) {
    self.entity = entity
    dependents = entities.dependents(of: entity)
    let parents = dependents.contains(entity) ? dependents : [entity] + dependents
    // Rows of tables without `isDeleted` are left to the foreign key itself, when the row of the parent is removed.
    keys = parents.flatMap { entities.dependencies(on: $0) }.filter {
      $0.child.marksDeletion && $0.parent.marksDeletion
    }
  }

  package var statements: [String] {
    (keys.isEmpty ? [] : [cascade]) + (dependents.isEmpty ? [] : [restoration])
  }

  /// The condition that the running statement deletes or restores a record by a cascade.
  package static func isUnderWay(_ entity: Entity, row: String) -> String {
    """
    EXISTS (SELECT 1 FROM SyncCascade WHERE entityId = \(row).\(SQL.quoted(entity.key)) \
    AND entityType = '\(entity.type.replacingQuotes)' AND isUnderWay = 1)
    """
  }

  private var table: String { SQL.quoted(entity.table.name) }
  private var key: String { SQL.quoted(entity.key) }
  private var type: String { "'\(entity.type.replacingQuotes)'" }
  private var ofRoot: String { "rootId = NEW.\(key) AND rootType = \(type)" }

  private var cascade: String {
    let referring = keys.filter { $0.key.onDelete != .cascade }
    let emptied = referring.filter { $0.key.onDelete == .setNull || $0.key.onDelete == .setDefault }
    var body = [
      // The record itself is one of the found records while the trigger runs.
      insertion("VALUES (\(type), NEW.\(key), \(type), NEW.\(key), 1)")
    ]
    if !dependents.isEmpty { body.append(insertion(traversal)) }
    body += dependents.map(marking)
    body += emptied.compactMap(refusalOfDefault)
    body += emptied.map(emptying)
    body += referring.filter { $0.key.onDelete != .setNull }.map(refusal)
    body += [
      "  DELETE FROM SyncCascade WHERE entityId = NEW.\(key) AND entityType = \(type);",
      "  UPDATE SyncCascade SET isUnderWay = 0 WHERE \(ofRoot) AND isUnderWay = 1;",
    ]
    return trigger(
      "cascade",
      """
      NEW.isDeleted = 1 AND OLD.isDeleted = 0 AND \(WriteMode.isByUser)
        AND NOT \(Self.isUnderWay(entity, row: "NEW"))
      """, body)
  }

  private func insertion(_ rows: String) -> String {
    """
      INSERT INTO SyncCascade (entityType, entityId, rootType, rootId, isUnderWay)
        \(rows)
        ON CONFLICT (entityId, entityType) DO UPDATE SET rootType = excluded.rootType, rootId = excluded.rootId,
          isAnswered = 0, isUnderWay = 1, isGone = 0;
    """
  }

  /// Returns the query for the records that are deleted with this one, each once.
  private var traversal: String {
    let steps = keys.filter(\.cascades).map { dependency in
      """
      UNION SELECT '\(dependency.child.type.replacingQuotes)', child.\(SQL.quoted(dependency.child.key))
              FROM fieldvault_gone AS gone CROSS JOIN \(join(dependency, id: "gone.id"))
              WHERE gone.type = '\(dependency.parent.type.replacingQuotes)' AND child.isDeleted = 0
      """
    }
    return """
      WITH RECURSIVE fieldvault_gone (type, id) AS (
            SELECT \(type), NEW.\(key)
            \(steps.joined(separator: "\n      "))
          )
          SELECT type, id, \(type), NEW.\(key), 1 FROM fieldvault_gone WHERE NOT (type = \(type) AND id = NEW.\(key))
      """
  }

  /// Returns the query for the rows of a child, as `child`, that reference the parent with a local id.
  private func join(_ dependency: Dependency, id: String) -> String {
    let child = "\(SQL.quoted(dependency.child.table.name)) AS child"
    if let column = dependency.rowIDColumn { return "\(child) ON child.\(SQL.quoted(column)) = \(id)" }
    let parent = SQL.quoted(dependency.parent.table.name)
    return """
      \(parent) AS parent ON parent.\(SQL.quoted(dependency.parent.key)) = \(id) \
      CROSS JOIN \(child) ON \(dependency.isReferring(child: "child", parent: "parent"))
      """
  }

  private func marking(_ dependent: Entity) -> String {
    """
      UPDATE \(SQL.quoted(dependent.table.name)) SET isDeleted = 1
        WHERE isDeleted = 0 AND \(SQL.quoted(dependent.key)) IN (SELECT entityId FROM SyncCascade
          WHERE \(ofRoot) AND entityType = '\(dependent.type.replacingQuotes)' AND isUnderWay = 1);
    """
  }

  /// Returns the query for the rows of a child, as `child`, that are not deleted and reference a deleted record.
  private func referring(_ dependency: Dependency) -> String {
    """
    FROM SyncCascade AS gone CROSS JOIN \(join(dependency, id: "gone.entityId"))
          WHERE gone.rootId = NEW.\(key) AND gone.rootType = \(type)
            AND gone.entityType = '\(dependency.parent.type.replacingQuotes)' AND gone.isUnderWay = 1 AND child.isDeleted = 0
    """
  }

  /// ON DELETE SET NULL and SET DEFAULT are edits of the child, which stays.
  private func emptying(_ dependency: Dependency) -> String {
    let values = dependency.key.columns.map { pair in
      "\(SQL.quoted(pair.from)) = \(dependency.replacement(of: pair))"
    }
    let key = SQL.quoted(dependency.child.key)
    return """
        UPDATE \(SQL.quoted(dependency.child.table.name)) SET \(values.joined(separator: ", "))
          WHERE \(key) IN (SELECT child.\(key) \(referring(dependency)));
      """
  }

  /// The condition that the default references a deleted record.
  private func refusalOfDefault(_ dependency: Dependency) -> String? {
    guard dependency.key.onDelete == .setDefault else { return nil }
    let values = dependency.key.columns.map { (SQL.quoted($0.to), dependency.replacement(of: $0)) }
    if values.contains(where: { $0.1 == "NULL" }) { return nil }
    return """
        SELECT \(failure(dependency)) WHERE EXISTS (SELECT 1 FROM \(SQL.quoted(dependency.parent.table.name))
            WHERE isDeleted = 1 AND \(values.map { "\($0.0) = \($0.1)" }.joined(separator: " AND ")))
          AND EXISTS (SELECT 1 \(referring(dependency)));
      """
  }

  private func refusal(_ dependency: Dependency) -> String {
    "  SELECT \(failure(dependency)) WHERE EXISTS (SELECT 1 \(referring(dependency)));"
  }

  private func failure(_ dependency: Dependency) -> String {
    let columns = dependency.key.columns.map(\.from).joined(separator: ", ")
    let message = """
      FOREIGN KEY constraint failed: a \(dependency.child.type) refers to the \(dependency.parent.type) by \(columns)
      """
    return "RAISE(ABORT, '\(message.replacingQuotes)')"
  }

  /// Restores the dependents that were deleted with the record, unless the server has deleted them as well.
  private var restoration: String {
    let updates = dependents.map { dependent in
      """
        UPDATE \(SQL.quoted(dependent.table.name)) SET isDeleted = 0 WHERE isDeleted = 1 AND \(SQL.quoted(dependent.key)) IN (
            SELECT entityId FROM SyncCascade
            WHERE \(ofRoot) AND entityType = '\(dependent.type.replacingQuotes)' AND isUnderWay = 1);
      """
    }
    return trigger(
      "revive",
      """
      NEW.isDeleted = 0 AND OLD.isDeleted = 1 AND \(WriteMode.isByUser)
        AND NOT \(Self.isUnderWay(entity, row: "NEW"))
      """,
      ["  UPDATE SyncCascade SET isUnderWay = 1 WHERE \(ofRoot) AND isAnswered = 0;"] + updates + [
        "  DELETE FROM SyncCascade WHERE \(ofRoot) AND isUnderWay = 1;"
      ])
  }

  private func trigger(_ name: String, _ condition: String, _ body: [String]) -> String {
    """
    CREATE TRIGGER \(DerivedTriggers.name(name, of: entity)) AFTER UPDATE OF isDeleted ON \(table)
    WHEN \(condition)
    BEGIN
    \(body.joined(separator: "\n"))
    END
    """
  }
}

extension Dependency {
  /// Returns the expression that a column of the child is set to when the parent is deleted.
  package func replacement(of pair: Catalog.ForeignKey.Pair) -> String {
    guard key.onDelete == .setDefault else { return "NULL" }
    return child.table.column(pair.from)?.defaultSQL.map { "(\($0))" } ?? "NULL"
  }
}
