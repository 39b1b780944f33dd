import CipherSQL
import RecordStore
import SchemaModel
import ServerStorage

/// A read-only view of the records of each entity, with the name and the columns of its table in the schema, for reports in
/// SQL. The local id is the server id.
enum RecordViews {
  /// Replaces all views.
  static func create(of map: EntityMap, on connection: WriteConnection) throws {
    for name in try connection.fetch("SELECT name FROM sqlite_schema WHERE type = 'view'", as: String.self) {
      try connection.execute("DROP VIEW \(identifier: name)")
    }
    for (_, table) in map.tables.sorted(by: { $0.key < $1.key }) {
      try connection.execute(SQL(raw: statement(table)))
    }
  }

  private static func statement(_ table: RecordTable) -> String {
    let columns = table.entity.table.columns.compactMap { column in
      expression(column, table).map { "\($0) AS \(SQL.quoted(column.name))" }
    }
    return """
      CREATE VIEW IF NOT EXISTS \(SQL.quoted(table.entity.table.name)) AS
      SELECT \(columns.joined(separator: ",\n  "))
      FROM ServerRecord AS record WHERE entityType = \(quoted(table.entity.type))
      """
  }

  /// Returns SQL for a column; `nil` for a column that the server does not know.
  private static func expression(_ column: Catalog.Column, _ table: RecordTable) -> String? {
    switch column.name {
    case table.entity.key, "serverId": return "record.serverId"
    case "uuid": return "record.entityUuid"
    case "createdAt", "updatedAt": return time("record.\(column.name)")
    case "lastSyncedAt": return time("record.storedAt")
    case "isDeleted": return "record.isDeleted"
    case "syncVersion": return "record.version"
    case "syncStatus": return "'synced'"
    case "isDirty": return "0"
    case Entity.userEditsColumn: return "record.userEditedFields"
    default: break
    }
    guard let place = table.places[column.name] else { return nil }
    let value = member(column.name, of: "record")
    guard let reference = table.columns[place].reference, reference.key != "uuid" else { return value }
    let isId = table.keys.contains { $0.columns == [column.name] && $0.parent.key == reference.key }
    let target = isId ? "target.serverId" : member(reference.key, of: "target")
    return """
      (SELECT \(target) FROM ServerRecord AS target
        WHERE target.entityType = \(quoted(reference.entityType)) AND target.entityUuid = \(value))
      """
  }

  private static func time(_ milliseconds: String) -> String {
    "strftime('%Y-%m-%dT%H:%M:%fZ', \(milliseconds) / 1000.0, 'unixepoch')"
  }

  /// Returns SQL for a member of the fields.
  private static func member(_ name: String, of row: String) -> String {
    // A path cannot name a member with a quotation mark.
    guard !name.contains("\"") else {
      return "(SELECT value FROM json_each(\(row).fields) WHERE key = \(quoted(name)))"
    }
    return "json_extract(\(row).fields, \(quoted("$.\"\(name)\"")))"
  }
}

/// Returns a text as an SQL literal.
private func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }
