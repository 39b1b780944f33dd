import CipherSQL

/// A synced table that a later version of a schema adds: its SQL and its kind of record.
package struct AddedTable {
  package let sql: String
  package let kind: Kind

  /// - Parameters:
  ///   - parent: the kind that its records belong to.
  ///   - cascades: whether its records are deleted with their parent.
  package init(_ entity: String, below parent: Kind, cascades: Bool, schemaName: String) {
    let lines =
      [
        "\"extraId\" INTEGER PRIMARY KEY", "title TEXT", "amount REAL NOT NULL DEFAULT 1",
        "\"parentId\" INTEGER\(cascades ? " NOT NULL" : "") REFERENCES \(SQL.quoted(parent.table)) "
          + "(\(SQL.quoted(parent.key))) ON DELETE \(cascades ? "CASCADE" : "SET NULL")",
      ] + GeneratedTable.commonFields("INTEGER")
    let literal = GeneratedColumn.literal
    sql = """
      CREATE TABLE \(SQL.quoted(entity)) (
        \(lines.joined(separator: ",\n  "))
      ) STRICT;
      INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority, conflictPolicy) VALUES
        (\(literal(entity)), \(literal(entity)), \(literal(schemaName)), 1, 'last_write_wins');

      """
    kind = Kind(
      entity: entity, table: entity, key: "extraId", marker: "title",
      others: [("amount", [.real(1), .real(-0.25), .real(1e300)])],
      references: [Kind.Reference(["parentId"], parent.entity, isOptional: !cascades)], weight: 10, required: [])
  }
}
