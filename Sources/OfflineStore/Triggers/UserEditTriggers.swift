import CipherSQL

/// The SQL by which a record keeps the names of the fields that a person has edited: columns whose owner is `user_edited`.
///
/// A name comes in when an UPDATE by a person gives the column another value, and never goes out again, whatever is written
/// into `userEditedFields`. Values that a record is made with are not edits: they are what a machine has read, until a
/// person corrects it. A program that lets a person type them says so in the INSERT.
struct UserEditTriggers {
  /// In the order of their names.
  let columns: [String]

  /// Nil for a table that keeps no such names.
  init?(_ entity: Entity) {
    guard let rules = entity.sync?.rules, entity.table.column(RecordTable.userEditsColumn) != nil else { return nil }
    columns = entity.table.columns.map(\.name).filter { rules[$0].ownership == .userEdited }.sorted()
    if columns.isEmpty { return nil }
  }

  /// The value of `userEditedFields` after an UPDATE by a user, over `OLD` and `NEW`: unchanged, to the letter, when no name is
  /// new; else in the order in which sync writes it.
  /// - Parameter now: its value now, to which another trigger may have added since `NEW`.
  func value(now: String) -> String {
    let kept = RecordTable.userEditsColumn
    let unchanged = ([kept] + columns).map { "NEW.\(SQL.quoted($0)) IS OLD.\(SQL.quoted($0))" }
    let edited = columns.map { name in
      let column = SQL.quoted(name)
      return "UNION SELECT '\(name.replacingQuotes)' WHERE NEW.\(column) IS NOT OLD.\(column)"
    }
    return """
      CASE WHEN \(unchanged.joined(separator: " AND ")) THEN \(now) ELSE (SELECT json_group_array(name) FROM (
          SELECT value AS name FROM json_each(OLD.\(kept)) UNION SELECT value FROM json_each(\(now))
          \(edited.joined(separator: "\n      ")) ORDER BY 1)) END
      """
  }

  /// - Throws: ``VaultError`` with `refused` that names a column whose owner is `user_edited` in a table that cannot keep that.
  static func check(_ entities: Entities) throws {
    for entity in entities.all where entity.table.column(RecordTable.userEditsColumn) == nil {
      guard let rules = entity.sync?.rules,
        let name = entity.table.columns.map(\.name).first(where: { rules[$0].ownership == .userEdited })
      else { continue }
      throw VaultError(
        .refused, "\(entity.type).\(name) is user_edited, and nothing tells when a user has edited it",
        hint:
          "\(entity.table.name) needs userEditedFields TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(userEditedFields))")
    }
  }
}
