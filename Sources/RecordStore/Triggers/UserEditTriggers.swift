import CipherSQL
import SchemaModel

/// SQL that keeps the names of the fields that a user has edited: columns whose owner is `user_edited`.
///
/// A name is added when an UPDATE by a user changes the column, and is never removed, even if a program overwrites
/// `userEditedFields`. The values of a new record are not edits: a device has measured them, until a user corrects
/// them. A program that lets a user type them names them in the INSERT.
package struct UserEditTriggers {
  /// The columns, ordered by name.
  package let columns: [String]
  private let entity: Entity

  /// Returns `nil` for a table without `userEditedFields`.
  package init?(_ entity: Entity) {
    guard let rules = entity.sync?.rules, entity.table.column(Entity.userEditsColumn) != nil else { return nil }
    self.entity = entity
    columns = entity.table.columns.map(\.name).filter { rules[$0].ownership == .userEdited }.sorted()
    if columns.isEmpty { return nil }
  }

  /// Returns the expression for `userEditedFields` after an UPDATE by a user, over `OLD` and `NEW`. Without a new
  /// name the text stays unchanged. Otherwise it has the order in which sync writes it.
  /// - Parameter now: the current value, to which another trigger may have added a name since `NEW`.
  package func value(now: String) -> String {
    let kept = Entity.userEditsColumn
    let unchanged = ([kept] + columns).map { "NOT \(entity.isChanged($0))" }
    let edited = columns.map { "UNION SELECT '\($0.replacingQuotes)' WHERE \(entity.isChanged($0))" }
    return """
      CASE WHEN \(unchanged.joined(separator: " AND ")) THEN \(now) ELSE (SELECT json_group_array(name) FROM (
          SELECT value AS name FROM json_each(OLD.\(kept)) UNION SELECT value FROM json_each(\(now))
          \(edited.joined(separator: "\n      ")) ORDER BY 1)) END
      """
  }

  /// - Throws: `SchemaViolation` that names a column whose owner is `user_edited` in a table without
  ///   `userEditedFields`.
  package static func check(_ entities: Entities) throws {
    for entity in entities.all where entity.table.column(Entity.userEditsColumn) == nil {
      guard let rules = entity.sync?.rules,
        let name = entity.table.columns.map(\.name).first(where: { rules[$0].ownership == .userEdited })
      else { continue }
      throw SchemaViolation(
        "\(entity.type).\(name) is user_edited, but its table does not record user edits",
        at: entity.table.name, column: name,
        remedy:
          "\(entity.table.name) needs userEditedFields TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(userEditedFields))")
    }
  }
}
