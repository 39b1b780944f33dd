import CipherSQL
import OfflineStore
import SyncModel

/// The synced entities of an account's database, and how records hang together.
struct EntityMap: Sendable {
  let tables: [String: RecordTable]
  /// For a kind of record that belongs to a project: the references by which it does, in the order of its columns.
  let ways: [String: [(column: String, parent: String)]]
  /// For a kind of record: which kinds refer to it, by which column, and whether they go when it goes.
  let dependents: [String: [Dependent]]

  struct Dependent: Sendable {
    let entityType: String
    let column: String
    let cascades: Bool
    /// A SELECT of a page of dependents, in the order of their rows, by the uuid of the record, the row before the page and the size
    /// of the page.
    let page: String
  }

  /// For a kind of record: what reads the uuids of the records that it references with ON DELETE CASCADE.
  let cascadingReferences: [String: (sql: String, types: [String])]
  /// For a kind of record: the references by which others belong to its project.
  private let members: [String: [Dependent]]

  init(_ entities: Entities) {
    var tables: [String: RecordTable] = [:]
    for entity in entities.all { tables[entity.type] = RecordTable(entity, in: entities) }
    self.tables = tables
    var dependents: [String: [Dependent]] = [:]
    for (type, table) in tables.sorted(by: { $0.key < $1.key }) {
      for column in table.columns {
        guard let reference = column.reference else { continue }
        dependents[reference.entityType, default: []].append(
          Dependent(
            entityType: type, column: column.name, cascades: reference.cascades,
            page: Self.page(of: table.entity, column.name, reference)))
      }
    }
    self.dependents = dependents
    let ways = ProjectPaths(tables).references
    self.ways = ways
    members = dependents.mapValues { references in
      references.filter { reference in ways[reference.entityType]?.contains { $0.column == reference.column } == true }
    }
    cascadingReferences = tables.compactMapValues { table in
      let columns = table.columns.filter { $0.reference?.cascades == true }
      if columns.isEmpty { return nil }
      let values = columns.map { $0.selection("record") }.joined(separator: ", ")
      return (
        "SELECT \(values) FROM \(SQL.quoted(table.entity.table.name)) AS record WHERE record.uuid = ?",
        columns.compactMap { $0.reference?.entityType }
      )
    }
  }

  /// The references by which records follow a record of a kind.
  func references(_ kind: EmbeddedWriter.JobKind, to type: String) -> [Dependent] {
    switch kind {
    case .cascade: dependents[type]?.filter(\.cascades) ?? []
    case .project: members[type] ?? []
    }
  }

  private static func page(of child: Entity, _ column: String, _ reference: SharedColumn.Reference) -> String {
    let (column, key) = (SQL.quoted(column), SQL.quoted(child.key))
    return """
      SELECT child.\(key), child.uuid FROM \(SQL.quoted(child.table.name)) AS child
      WHERE child.\(column) = (
          SELECT parent.\(SQL.quoted(reference.key)) FROM \(SQL.quoted(reference.table)) AS parent WHERE parent.uuid = ?)
        AND child.\(key) > ?
      ORDER BY child.\(key) LIMIT ?
      """
  }

  /// Indexes for the references that the schema has none for: a visit of dependents reads no others. They have the prefix of what is
  /// derived from tables, so that a migration finds them out of its way.
  func makeIndexes(on connection: WriteConnection) throws {
    for (type, table) in tables.sorted(by: { $0.key < $1.key }) {
      for column in table.columns where column.reference != nil {
        let name = table.entity.table.name
        let isIndexed = try connection.fetchOne(
          """
          SELECT 1 FROM pragma_index_list(\(name)) AS list, pragma_index_info(list.name) AS part
          WHERE part.seqno = 0 AND part.name = \(column.name) AND (list.partial = 0 OR EXISTS (
            SELECT 1 FROM sqlite_schema WHERE name = list.name AND sql LIKE \("%WHERE \(column.name) IS NOT NULL")))
          """, as: Int.self)
        if isIndexed != nil { continue }
        try connection.execute(
          """
          CREATE INDEX \(identifier: "fieldvault_reference_\(type)_\(column.name)")
          ON \(identifier: name) (\(identifier: column.name))
          """)
      }
    }
  }

  /// What the layer above has to know.
  var descriptions: [String: EntityDescription] {
    tables.mapValues { table in
      let columns = Dictionary(uniqueKeysWithValues: table.columns.map { ($0.name, $0) })
      var references: [String: EntityDescription.Reference] = [:]
      for column in table.columns {
        guard let reference = column.reference else { continue }
        references[column.name] = .init(entityType: reference.entityType, cascades: reference.cascades)
      }
      return EntityDescription(
        type: table.entity.type, schemaName: table.entity.sync?.schemaName ?? "", rules: table.rules,
        references: references, hasUserEdits: table.keepsUserEdits, digestColumns: table.digestColumns
      ) { field, value in
        guard let column = columns[field] else { return "is no field of this kind of record" }
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
