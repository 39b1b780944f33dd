import CipherSQL
import ServerStorage

/// The ``RecordView`` of each entity in the database of an account.
enum RecordViews {
  /// Replaces all views.
  static func create(of map: EntityMap, on connection: WriteConnection) throws {
    for name in try connection.fetch("SELECT name FROM sqlite_schema WHERE type = 'view'", as: String.self) {
      try connection.execute("DROP VIEW \(identifier: name)")
    }
    for view in map.views { try connection.execute(SQL(raw: statement(view))) }
  }

  private static func statement(_ view: RecordView) -> String {
    let columns = view.columns.map { "\(expression($0)) AS \(SQL.quoted($0.name))" }
    return """
      CREATE VIEW IF NOT EXISTS \(SQL.quoted(view.name)) AS
      SELECT \(columns.joined(separator: ",\n  "))
      FROM ServerRecord AS record WHERE entityType = \(quoted(view.entityType))
      """
  }

  private static func expression(_ column: RecordView.Column) -> String {
    switch column.source {
    case .serverId: "record.serverId"
    case .uuid: "record.entityUuid"
    case .createdAt: time("record.createdAt")
    case .updatedAt: time("record.updatedAt")
    case .storedAt: time("record.storedAt")
    case .isDeleted: "record.isDeleted"
    case .version: "record.version"
    case .syncStatus: "'synced'"
    case .isDirty: "0"
    case .userEditedFields: "record.userEditedFields"
    case .field: member(column.name, of: "record")
    case .referencedId(let type): referenced("target.serverId", type, by: column)
    case .referencedField(let type, let name, _): referenced(member(name, of: "target"), type, by: column)
    }
  }

  private static func referenced(_ value: String, _ entityType: String, by column: RecordView.Column) -> String {
    """
    (SELECT \(value) FROM ServerRecord AS target
      WHERE target.entityType = \(quoted(entityType)) AND target.entityUuid = \(member(column.name, of: "record")))
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
private func quoted(_ text: String) -> String { "'\(text.replacingQuotes)'" }
