import CipherSQL
import ServerStorage

/// The ``RecordView`` of each entity in the schema `fieldvault_report`, with the columns' types in PostgreSQL and the name of
/// the account in the first column. A value that its column's type cannot have is NULL there.
struct ReportViews {
  private let map: EntityMap
  private let set: SchemaSet

  init(_ map: EntityMap, _ set: SchemaSet) { (self.map, self.set) = (map, set) }

  /// The column with the name of the account.
  static let accountColumn = "fieldvault_account"

  private static let known = Statement("SELECT view_set FROM fieldvault.server")
  private static let note = Statement("UPDATE fieldvault.server SET view_set = $1::text")
  private static let names = Statement(
    "SELECT viewname::text FROM pg_views WHERE schemaname = 'fieldvault_report' ORDER BY 1")
  private static let savepoint = Statement("SAVEPOINT view")
  private static let release = Statement("RELEASE view")
  private static let undo = Statement("ROLLBACK TO view")

  /// Creates the views, unless the database has those of the same or of newer schemas.
  /// - Parameter log: receives why a view stays as it is, for example because another view depends on it.
  func create(on connection: PostgresConnection, log: (String) -> Void) throws {
    try begin(connection)
    if try isNeeded(connection) {
      try set.save(to: connection)
      let views = map.views
      try removeAll(except: Set(views.map(\.name)), on: connection, log: log)
      for view in views { try replace(view, on: connection, log: log) }
      _ = try connection.run(Self.note(.text(set.digest)))
    }
    _ = try connection.run(TransactionStatements.commit())
  }

  /// Removes all views, because values are sealed.
  /// - Parameter log: receives why a view stays.
  func remove(on connection: PostgresConnection, log: (String) -> Void) throws {
    try begin(connection)
    try removeAll(except: [], on: connection, log: log)
    _ = try connection.run([Self.note(.null), TransactionStatements.commit()])
  }

  private func begin(_ connection: PostgresConnection) throws {
    _ = try connection.begin(
      TransactionStatements.begin, [Statement("SELECT pg_advisory_xact_lock($1::bigint)")(.integer(DatabaseSetup.lock))]
    )
  }

  private func removeAll(except kept: Set<String>, on connection: PostgresConnection, log: (String) -> Void) throws {
    for name in try connection.run(Self.names()).map({ $0.text(0) }) where !kept.contains(name) {
      try attempt(["DROP VIEW fieldvault_report.\(SQL.quoted(name))"], on: connection) {
        log("the view fieldvault_report.\(name), which is no longer valid, cannot be removed: \($0)")
      }
    }
  }

  private func isNeeded(_ connection: PostgresConnection) throws -> Bool {
    guard let known = try connection.run(Self.known()).first({ $0.optionalText(0) }) ?? nil else { return true }
    if known == set.digest { return false }
    do {
      return try set.continues(SchemaSet.read(known, from: connection))
    } catch let error as ServerError where error.code == .busy {
      // A newer node has created them.
      return false
    }
  }

  /// Replaces a view. One with the same first columns keeps its rights and the views that depend on it.
  private func replace(_ view: RecordView, on connection: PostgresConnection, log: (String) -> Void) throws {
    let name = "fieldvault_report.\(SQL.quoted(view.name))"
    let creation = "VIEW \(name) AS \(Self.query(view))"
    if try attempt(["CREATE OR REPLACE \(creation)"], on: connection, otherwise: { _ in }) { return }
    try attempt(["DROP VIEW IF EXISTS \(name)", "CREATE \(creation)"], on: connection) {
      log("the view fieldvault_report.\(view.name) cannot be replaced: \($0)")
    }
  }

  /// Runs statements, or none of them.
  /// - Returns: whether they succeeded.
  @discardableResult
  private func attempt(
    _ statements: [String], on connection: PostgresConnection, otherwise: (PostgresError) -> Void
  ) throws -> Bool {
    _ = try connection.run(Self.savepoint())
    do {
      for statement in statements { _ = try connection.run(Statement(statement)()) }
      _ = try connection.run(Self.release())
      return true
    } catch let error as PostgresError where error.sqlState != nil && connection.isUsable {
      _ = try connection.run(Self.undo())
      otherwise(error)
      return false
    }
  }

  // MARK: Text of a view

  static func query(_ view: RecordView) -> String {
    let account = "account.name AS \(SQL.quoted(accountColumn))"
    let columns = view.columns.map { "\(expression($0)) AS \(SQL.quoted($0.name))" }
    return """
      SELECT \(([account] + columns).joined(separator: ",\n  "))
      FROM fieldvault.record AS record
      JOIN fieldvault.account AS account ON account.account_id = record.account_id
      CROSS JOIN LATERAL (SELECT fieldvault.report_fields(record.fields) AS value OFFSET 0) AS fields
      WHERE record.entity_type = \(quoted(view.entityType))
      """
  }

  private static func expression(_ column: RecordView.Column) -> String {
    let name = quoted(column.name)
    return switch column.source {
    case .serverId: "record.server_id"
    case .uuid: "record.entity_uuid"
    case .createdAt: time("record.created_at")
    case .updatedAt: time("record.updated_at")
    case .storedAt: time("record.stored_at")
    case .isDeleted: "record.is_deleted"
    case .version: "record.version"
    case .syncStatus: "'synced'::text"
    case .isDirty: "false"
    case .userEditedFields: "record.user_edited_fields::jsonb"
    case .field(let type): typed(name, of: "fields.value", type)
    case .referencedId(let type): referenced("target.server_id", type, by: name)
    case .referencedField(let type, let field, let columnType):
      referenced(typed(quoted(field), of: "fieldvault.report_fields(target.fields)", columnType), type, by: name)
    }
  }

  private static func typed(_ name: String, of fields: String, _ type: Catalog.ColumnType) -> String {
    let value = "\(fields) -> \(name)"
    return switch type {
    case .integer: "fieldvault.report_integer(\(value))"
    case .real: "fieldvault.report_real(\(value))"
    case .bool: "fieldvault.report_boolean(\(value))"
    case .timestamp: "fieldvault.report_time(\(value))"
    case .day: "fieldvault.report_day(\(value))"
    case .blob: "fieldvault.report_bytes(\(value))"
    case .json, .any: value
    case .text, .enumeration, .uuid: "\(fields) ->> \(name)"
    }
  }

  private static func referenced(_ value: String, _ entityType: String, by name: String) -> String {
    """
    (SELECT \(value) FROM fieldvault.record AS target
      WHERE target.account_id = record.account_id AND target.entity_type = \(quoted(entityType))
        AND target.entity_uuid = fields.value ->> \(name))
    """
  }

  private static func time(_ milliseconds: String) -> String { "to_timestamp(\(milliseconds) / 1000.0)" }

  private static func quoted(_ text: String) -> String {
    "'\(text.replacingQuotes)'"
  }
}
