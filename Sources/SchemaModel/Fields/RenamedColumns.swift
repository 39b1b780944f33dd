import CipherSQL
import SyncModel

/// The columns of synced tables that a schema file has renamed. Stored JSON names columns, so it has to follow.
package struct RenamedColumns {
  /// The renames by entity, in their order.
  package let names: [String: [ColumnRename]]

  /// Reads the renames of a file that has run: those of its statements, and those that it declares by rows of
  /// `SyncedColumnRename` because it has created a table again.
  package init(of file: MigrationFile, on connection: Connection) throws {
    guard try Self.hasTables(connection) else {
      names = [:]
      return
    }
    let tables = try connection.fetchRows(
      "SELECT tableName, entityType FROM SyncedEntity", as: String.self, String.self)
    let types = Dictionary(tables.map { ($0.0.lowercased(), $0.1) }) { first, _ in first }
    var names: [String: [ColumnRename]] = [:]
    for rename in ColumnRename.all(in: file.sql) {
      if let type = types[rename.table.lowercased()] { names[type, default: []].append(rename) }
    }
    let declared = try connection.fetchRows(
      """
      SELECT entityType, tableName, oldName, newName FROM SyncedColumnRename JOIN SyncedEntity USING (entityType)
      """, as: String.self, String.self, String.self, String.self)
    for (type, table, from, to) in declared {
      names[type, default: []].append(ColumnRename(table: table, from: from, to: to))
    }
    self.names = names
  }

  /// Renames the columns that the records list as edited by users, and removes the rows by which the file has declared
  /// renames.
  package func follow(on connection: WriteConnection) throws {
    guard !names.isEmpty else { return }
    let entities = try Entities.read(from: connection)
    for (type, renames) in names.sorted(by: { $0.key < $1.key }) {
      let entity = try entities.entity(type)
      guard entity.table.column(Entity.userEditsColumn) != nil else { continue }
      let (table, key, edits) = (SQL.quoted(entity.table.name), SQL.quoted(entity.key), Entity.userEditsColumn)
      let rows = try connection.fetchRows(
        SQL(raw: "SELECT \(key), \(edits) FROM \(table) WHERE \(edits) <> '[]' AND json_valid(\(edits))"),
        as: Int64.self, String.self)
      for (row, json) in rows {
        let old = try SyncValue(parsing: json)
        let new = old.renaming(renames)
        guard new != old else { continue }
        try connection.execute("UPDATE \(raw: table) SET \(raw: edits) = \(new.json) WHERE \(raw: key) = \(row)")
      }
    }
    try connection.execute("DELETE FROM SyncedColumnRename")
  }

  private static func hasTables(_ connection: Connection) throws -> Bool {
    try connection.fetchOne(
      """
      SELECT count(*) = 2 FROM sqlite_schema WHERE type = 'table' AND name IN ('SyncedEntity', 'SyncedColumnRename')
      """, as: Bool.self) ?? false
  }
}

extension SyncValue {
  /// Returns an object with its members, or an array of names with its elements, under other names. A member is not renamed
  /// if the object already has one of the new name.
  package func renaming(_ renames: [ColumnRename]) -> SyncValue {
    renames.reduce(self) { value, rename in
      switch value {
      case .array(let elements): return .array(elements.map { $0 == .text(rename.from) ? .text(rename.to) : $0 })
      case .object(var object):
        if let member = object[rename.from], object[rename.to] == nil {
          object[rename.from] = nil
          object[rename.to] = member
        }
        return .object(object)
      default: return value
      }
    }
  }
}
