import CipherSQL
import RecordStore
import SchemaModel
import VaultStore
import WebPages

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension InspectorPages {
  /// The greatest number of referencing records of each kind that a record's page lists.
  private static let referenceLimit = 20

  /// One record: its fields, its references in both directions, its operations, and why it is not synced yet.
  func record(_ call: WebCall) throws -> WebPage {
    let (entity, uuid) = try identity(call)
    let (fields, references, isDeleted) = try vault.database.read { connection in
      let found = try RecordReader(connection).find(entity, uuid)
      return (
        try self.fields(of: entity, uuid, connection), try referencing(entity, found.key, connection), found.isDeleted
      )
    }
    var body: HTML = isDeleted ? "<p class=\"warn\">This record is deleted.</p>" : ""
    body += HTML.definitions(fields)
    if entity.sync != nil, !isDeleted {
      let why = try vault.why(entity, uuid)
      body += HTML.section("Sync", "<p><strong>\(why.syncStatus)</strong>: \(HTML.value(why.reason))</p>" + tree(why))
    }
    let operations = try entity.isSynced ? vault.operations(of: entity, uuid) : []
    if !operations.isEmpty { body += HTML.section("Operations", Self.table(of: operations)) }
    if !references.isEmpty { body += HTML.section("Referenced by", references) }
    return WebPage("\(entity.type) \(uuid.sqlText)", body)
  }

  private func fields(
    of entity: Entity, _ uuid: UUID, _ connection: Connection
  ) throws -> [(name: String, value: HTML)] {
    let columns = entity.shownColumns
    let names = SQL.joined(columns.map { column -> SQL in "\(identifier: column.name)" })
    var fields: [(name: String, value: HTML)] = []
    var values: [SQLArgument] = []
    try connection.forEach("SELECT \(names) FROM \(identifier: entity.table.name) WHERE uuid = \(uuid)") { row in
      for index in columns.indices { values.append(try row.decode(SQLArgument.self, at: Int32(index))) }
    }
    for (column, value) in zip(columns, values) {
      let unit = Units.unit(of: column).map { " (\($0))" } ?? (column.type == .timestamp ? " (UTC)" : "")
      let text = FieldCell(column: column).html(value)
      let link = try target(of: column.name, value, entity, connection)
      fields.append((column.name + unit, link.map { "\(text) \($0)" } ?? text))
    }
    return fields
  }

  /// A link to the record that a reference names.
  private func target(
    of column: String, _ value: SQLArgument, _ entity: Entity, _ connection: Connection
  ) throws -> HTML? {
    guard value != .null, let key = entity.reference(of: column),
      let parent = vault.entities.all.first(where: { $0.table.name == key.table }), let pair = key.columns.first
    else { return nil }
    let uuid = try connection.fetchOne(
      "SELECT uuid FROM \(identifier: parent.table.name) WHERE \(identifier: pair.to) = \(value)", as: String.self)
    return uuid.map { Self.link(parent.type, $0) }
  }

  /// The records that reference a record, some of each kind.
  private func referencing(_ entity: Entity, _ key: Int64, _ connection: Connection) throws -> HTML {
    var parts: HTML = ""
    for dependency in vault.entities.dependencies(on: entity) {
      let live: SQL = dependency.child.marksDeletion ? " AND child.isDeleted = 0" : ""
      let uuids = try connection.fetch(
        """
        SELECT child.uuid FROM \(identifier: dependency.child.table.name) AS child
        WHERE \(dependency.refers("child", to: key))\(live) LIMIT \(Self.referenceLimit + 1)
        """, as: String.self)
      if uuids.isEmpty { continue }
      let items = uuids.prefix(Self.referenceLimit).map { uuid -> HTML in
        "<li>\(Self.link(dependency.child.type, uuid))</li>"
      }
      var more: HTML = ""
      if uuids.count > Self.referenceLimit, let column = dependency.rowIDColumn {
        let link = Link("/records").with("entity", dependency.child.type).with("field1", column).with("is1", "equals")
          .with("value1", String(key))
        more = "<p>\(HTML.link(link, "All of them"))</p>"
      }
      let columns = dependency.columns.joined(separator: ", ")
      parts += "<h3>\(HTML.value(dependency.child.type)) by \(HTML.value(columns))</h3><ul>\(items)</ul>\(more)"
    }
    return parts
  }

  /// The operations that a record waits for, the nearest outside.
  private func tree(_ why: Explanation) -> HTML {
    // The first link is the record itself.
    let links = why.chain.dropFirst()
    if links.isEmpty { return "" }
    let tree = links.reversed().reduce("" as HTML) { inner, link in
      let operation: HTML =
        link.operationId.map { HTML.link(Link("/operation").with("id", $0), "operation") } ?? ""
      return """
        <ul><li>waits for \(Self.link(link.entityType, link.entityUuid)), \(link.status): \(HTML.value(link.reason)) \
        \(operation)\(inner)</li></ul>
        """
    }
    return "<div class=\"tree\">\(tree)</div>"
  }
}
