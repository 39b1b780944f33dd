import CipherSQL
import RecordStore
import SchemaModel
import ServerStorage
import SyncModel

/// The synced entities of an account's database, and their references.
struct EntityMap: Sendable {
  let tables: [String: RecordTable]
  /// For each entity that belongs to a project, the references that lead to the project, in the order of its columns.
  let ways: [String: [(column: String, parent: String)]]
  /// For each entity, the foreign keys that reference it.
  let dependents: [String: [Dependent]]

  /// A foreign key by which records reference records of another entity.
  struct Dependent: Sendable {
    let entityType: String
    let targetType: String
    let action: ReferenceAction
    /// The referencing shared columns and the referenced columns.
    let columns: [String]
    let targets: [String]
    /// Whether a change of the referenced values changes values that travel with the referencing record.
    let isFollowed: Bool
    /// Whether a change of the referenced values ends the reference: ON UPDATE SET NULL or SET DEFAULT.
    let endsOnUpdate: Bool
    /// A SELECT of a page of dependents, in the order of their rows, by the uuid of the record, the row before the page
    /// and the size of the page.
    let page: String
    /// A SELECT for the values of the columns under SET DEFAULT: the shared values, whether one is NULL, and the UUID
    /// of the record that they reference.
    let defaults: String
  }

  /// For each entity that references others, the query for the UUIDs of the records that a record references.
  let parents: [String: Parents]

  /// The references of an entity.
  struct Parents: Sendable {
    let keys: [Dependency]
    /// A SELECT of the UUID of the referenced record for each key.
    let sql: String
  }
  /// The entities whose deletion another record may prevent, by a reference to them or to one of their dependents.
  let obstructed: Set<String>
  /// For each entity, the references by which other records belong to its project.
  private let members: [String: [Dependent]]

  init(_ entities: Entities) {
    var tables: [String: RecordTable] = [:]
    for entity in entities.all { tables[entity.type] = RecordTable(entity, in: entities) }
    self.tables = tables
    let keys = tables.values.sorted { $0.entity.type < $1.entity.type }.flatMap { parent in
      entities.dependencies(on: parent.entity).filter { tables[$0.child.type] != nil }
    }
    let dependents = Dictionary(grouping: keys, by: \.parent.type).mapValues { keys in
      keys.compactMap { key in tables[key.child.type].map { Dependent(key, of: $0) } }
    }
    self.dependents = dependents
    let ways = ProjectPaths(tables).references
    self.ways = ways
    members = dependents.mapValues { references in
      references.filter { reference in
        ways[reference.entityType]?.contains { reference.columns == [$0.column] } == true
      }
    }
    parents = tables.compactMapValues { table in
      if table.keys.isEmpty { return nil }
      let uuids = table.keys.map { $0.target("uuid", child: "record") }
      return Parents(
        keys: table.keys,
        sql: """
          SELECT \(uuids.joined(separator: ", ")) FROM \(SQL.quoted(table.entity.table.name)) AS record WHERE record.uuid = ?
          """)
    }
    var obstructed = Set(dependents.filter { $1.contains { $0.action == .restrict || $0.action == .setDefault } }.keys)
    while true {
      let above = dependents.filter { type, references in
        !obstructed.contains(type)
          && references.contains { $0.action == .cascade && obstructed.contains($0.entityType) }
      }
      if above.isEmpty { break }
      obstructed.formUnion(above.keys)
    }
    self.obstructed = obstructed
  }

  /// The references by which records follow a record of a kind.
  func references(_ kind: EmbeddedWriter.JobKind, to type: String) -> [Dependent] {
    switch kind {
    case .cascade: dependents[type]?.filter { $0.action != .restrict } ?? []
    case .project: members[type] ?? []
    case .values: dependents[type]?.filter(\.isFollowed) ?? []
    }
  }

  /// Indexes for references without an index in the schema, because a visit of dependents must not read other
  /// records. They have the prefix of derived objects, so that a migration can drop them.
  func makeIndexes(on connection: WriteConnection, _ entities: Entities) throws {
    for (type, table) in tables.sorted(by: { $0.key < $1.key }) {
      for key in table.entity.table.foreignKeys {
        guard let parent = entities.entity(ofTable: key.table), tables[parent.type] != nil else { continue }
        let columns = key.columns.map(\.from)
        let name = "fieldvault_reference_\(([type] + columns).joined(separator: "_"))"
        let collations = key.columns.map { pair in parent.collation(ofKey: pair.to) }
        if try isIndexed(columns, collations, of: table.entity.table.name, by: name, connection) { continue }
        let terms = zip(columns, collations).map { "\(SQL.quoted($0)) COLLATE \(SQL.quoted($1))" }
        try connection.asMigration {
          _ = try connection.execute(
            """
            CREATE INDEX \(identifier: name) ON \(identifier: table.entity.table.name) (\(raw: terms.joined(separator: ", ")))
            """)
        }
      }
    }
  }

  private func isIndexed(
    _ columns: [String], _ collations: [String], of table: String, by name: String, _ connection: Connection
  ) throws -> Bool {
    let own = try connection.fetchOne(
      "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = \(name)", as: Int.self)
    if own != nil { return true }
    guard columns.count == 1, collations == ["BINARY"] else { return false }
    return try connection.fetchOne(
      """
      SELECT 1 FROM pragma_index_list(\(table)) AS list, pragma_index_info(list.name) AS part
      WHERE part.seqno = 0 AND part.name = \(columns[0]) AND (list.partial = 0 OR EXISTS (
        SELECT 1 FROM sqlite_schema WHERE name = list.name AND sql LIKE \("%WHERE \(columns[0]) IS NOT NULL")))
      """, as: Int.self) != nil
  }

  /// The facts about an entity for the layer above.
  var descriptions: [String: EntityDescription] {
    tables.mapValues { table in
      let columns = Dictionary(uniqueKeysWithValues: table.columns.map { ($0.name, $0) })
      let references = table.keys.map { key in
        EntityDescription.Reference(
          entityType: key.parent.type, fields: key.columns,
          targets: key.columns.count > 1 ? key.key.columns.map(\.to) : nil)
      }
      return EntityDescription(
        type: table.entity.type, schemaName: table.entity.sync?.schemaName ?? "", rules: table.rules,
        references: references, hasUserEdits: table.keepsUserEdits, digestColumns: table.digestColumns
      ) { field, value in
        guard let column = columns[field] else { return "is not a field of this entity" }
        do throws(FieldProblem) {
          _ = try column.argument(value)
          return nil
        } catch {
          return error.message
        }
      }
    }
  }
}

extension EntityMap.Dependent {
  fileprivate init(_ dependency: Dependency, of table: RecordTable) {
    let (child, parent, key) = (dependency.child, dependency.parent, dependency.key)
    entityType = child.type
    targetType = parent.type
    columns = key.columns.map(\.from)
    targets = key.columns.map(\.to)
    endsOnUpdate = columns.count > 1 && [.setNull, .setDefault].contains(key.onUpdate)
    isFollowed =
      columns.count > 1 ? ![.restrict, .noAction].contains(key.onUpdate) : ![parent.key, "uuid"].contains(targets[0])
    let isNotNull = columns.contains { child.table.column($0)?.isNotNull == true }
    let replacements = key.columns.map { dependency.replacement(of: $0) }
    action =
      switch key.onDelete {
      case .cascade: .cascade
      // SQLite refuses a deletion that would empty a NOT NULL column.
      case .setNull: isNotNull ? .restrict : .setNull
      case .setDefault: isNotNull && replacements.contains("NULL") ? .restrict : .setDefault
      case .restrict, .noAction: .restrict
      }
    page = """
      SELECT child.\(SQL.quoted(child.key)), child.uuid
      FROM \(SQL.quoted(parent.table.name)) AS parent CROSS JOIN \(SQL.quoted(child.table.name)) AS child
        ON \(dependency.isReferring(child: "child", parent: "parent"))
      WHERE parent.uuid = ? AND child.\(SQL.quoted(child.key)) > ?
      ORDER BY child.\(SQL.quoted(child.key)) LIMIT ?
      """
    let row = zip(columns, replacements).map { "\($1) AS \(SQL.quoted($0))" }.joined(separator: ", ")
    let shared = columns.map { name in
      table.columns.first { $0.name == name }?.selection("child") ?? "child.\(SQL.quoted(name))"
    }
    defaults = """
      SELECT \(columns.map { "child.\(SQL.quoted($0)) IS NULL" }.joined(separator: " OR ")),
        (SELECT parent.uuid FROM \(SQL.quoted(parent.table.name)) AS parent
          WHERE \(dependency.isReferring(child: "child", parent: "parent"))),
        \(shared.joined(separator: ", "))
      FROM (SELECT \(row)) AS child
      """
  }
}

extension Entity {
  /// The collation by which a foreign key to a column of this table compares.
  fileprivate func collation(ofKey column: String) -> String {
    let terms = table.uniqueIndexes.flatMap(\.terms)
    return terms.first { $0.expression == SQL.quoted(column) }?.collation ?? "BINARY"
  }
}
