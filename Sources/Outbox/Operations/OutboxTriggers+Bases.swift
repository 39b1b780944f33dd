import CipherSQL
import RecordStore
import SchemaModel

/// The triggers that store the bases of records before a user changes them.
extension OutboxTriggers {
  /// A reference that travels as a UUID, with the shared columns of its entity.
  struct Referring {
    let key: Dependency
    let columns: [SharedColumn]
  }

  static func referring(to entity: Entity, in entities: Entities) -> [Referring] {
    entities.dependencies(on: entity).compactMap { key in
      guard key.key.columns.count == 1, ![entity.key, "uuid"].contains(key.key.columns[0].to), key.child.sync != nil,
        key.child.hasCommonFields
      else { return nil }
      return Referring(key: key, columns: key.child.sharedColumns(in: entities))
    }
  }

  /// Stores the base before the first change of a clean record. It runs before the row changes, because another
  /// trigger may change the row again. An unchanged row at version 0 is a seed row, which the server has as well.
  ///
  /// `OR IGNORE` may leave a base of a record that did not change. That base is valid until the record has another
  /// version.
  var base: String {
    let isEdited = watched.isEmpty ? "" : "\(isEdited) OR "
    let isDeleted = """
      CASE OLD.isDeleted WHEN 0 THEN 0 ELSE NOT EXISTS (SELECT 1 FROM SyncCascade WHERE \(ofRecord) AND isGone = 0) END
      """
    return trigger(
      "base", "BEFORE UPDATE OF \((watched.map(SQL.quoted) + ["isDeleted"]).joined(separator: ", "))",
      when: """
        OLD.isDirty = 0 AND (OLD.syncVersion > 0 OR OLD.isDeleted = 0)
          AND (\(isEdited)NEW.isDeleted <> OLD.isDeleted AND NOT \(isUnderWay)) AND \(byUser)
        """,
      [storedBase(of: entity, columns, row: "OLD", isDeleted: isDeleted)])
  }

  /// Stores the bases of clean records that reference a value of the record by a single column, before the value changes.
  /// The action ON UPDATE changes these records afterwards, when the old value no longer leads to the UUID of the record.
  var basesOfReferring: String? {
    let targets = Set(referring.map { $0.key.key.columns[0].to }).sorted()
    if targets.isEmpty { return nil }
    func isChanged(_ name: String) -> String { "NEW.\(SQL.quoted(name)) IS NOT OLD.\(SQL.quoted(name))" }
    return trigger(
      "base_of_referring", "BEFORE UPDATE OF \(targets.map(SQL.quoted).joined(separator: ", "))",
      when: "(\(targets.map(isChanged).joined(separator: " OR "))) AND \(byUser)",
      referring.map { referring in
        let child = referring.key.child
        let source = """
          FROM \(SQL.quoted(child.table.name)) AS child
              WHERE \(referring.key.isReferring(child: "child", parent: "OLD"))
                AND \(isChanged(referring.key.key.columns[0].to)) AND child.isDirty = 0 AND child.isDeleted = 0
          """
        return storedBase(of: child, referring.columns, row: "child", isDeleted: "0", from: source)
      })
  }

  /// - Parameters:
  ///   - row: the prefix of the columns of the records.
  ///   - isDeleted: the expression for whether the server has the record as deleted.
  ///   - source: the clauses of a SELECT from FROM on; `nil` for the row of the trigger.
  private func storedBase(
    of entity: Entity, _ columns: [SharedColumn], row: String, isDeleted: String, from source: String? = nil
  ) -> String {
    let edits = entity.table.column(Entity.userEditsColumn) == nil ? "NULL" : "\(row).\(Entity.userEditsColumn)"
    let values = """
      '\(entity.type.replacingQuotes)', \(row).\(SQL.quoted(entity.key)), \(RowJSON.object(columns, row: row)), \(isDeleted),
            \(row).syncVersion, \(row).updatedAt, \(edits)
      """
    return """
        INSERT INTO SyncBase (entityType, entityId, fields, isDeleted, syncVersion, updatedAt, userEditedFields)
          \(source.map { "SELECT \(values)\n    \($0)" } ?? "VALUES (\(values))")
          ON CONFLICT (entityId, entityType) DO UPDATE SET fields = excluded.fields, isDeleted = excluded.isDeleted,
            syncVersion = excluded.syncVersion, updatedAt = excluded.updatedAt,
            userEditedFields = excluded.userEditedFields
            WHERE syncVersion <> excluded.syncVersion;
      """
  }
}
