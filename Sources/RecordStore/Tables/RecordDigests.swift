import CipherSQL
import SyncModel

/// Digests of the records that the server has, as `WireFormat.md` defines them.
package struct StoreDigests {
  package let catalog: SyncCatalog
  package let connection: Connection
  private let columns: [String: DigestColumns]
  private let members: ProjectMembers?

  /// - Parameters:
  ///   - columns: by entity, the columns that digests may leave out, as the server names them. May include columns
  ///     that this vault lacks.
  ///   - projects: only records of these projects and records without a project; empty for all records.
  ///   - excluded: no records of these projects.
  package init(
    catalog: SyncCatalog, connection: Connection, columns: [String: DigestColumns] = [:], projects: [String] = [],
    without excluded: [String] = []
  ) throws {
    (self.catalog, self.connection, self.columns) = (catalog, connection, columns)
    members =
      projects.isEmpty && excluded.isEmpty
      ? nil
      : try ProjectMembers(
        included: projects.isEmpty ? nil : Set(projects), excluded: Set(excluded), catalog, connection)
  }

  /// Returns the digest of all records of an entity, and of each bucket.
  package func digests(of table: RecordTable) throws -> (whole: DigestSummary, buckets: [String: DigestSummary]) {
    var whole = DigestSum()
    var buckets: [String: DigestSum] = [:]
    try forEach(table) { record in
      whole.add(record)
      buckets[record.bucket, default: DigestSum()].add(record)
    }
    return (whole.summary, buckets.mapValues(\.summary))
  }

  /// Returns the records of some buckets.
  /// - Parameter hasExtraFields: whether to include fields without a column.
  package func records(
    of table: RecordTable, in buckets: Set<String>, hasExtraFields: Bool = true
  ) throws -> [RecordDigest] {
    var records: [RecordDigest] = []
    try forEach(table, hasExtraFields: hasExtraFields) { record in
      if buckets.contains(record.bucket) { records.append(record) }
    }
    return records
  }

  private func forEach(
    _ table: RecordTable, hasExtraFields: Bool = true, _ body: (RecordDigest) throws -> Void
  ) throws {
    let type = table.entity.type
    let extra = try hasExtraFields ? extraFields(of: type) : [:]
    let columns = table.digestColumns.merging(columns[type] ?? DigestColumns())
    try table.forEach(where: "record.syncVersion > 0", in: connection) { record in
      guard let state = try asTheServerHasIt(record, table), members?.contains(type, record.uuid, state) != false else {
        return
      }
      let fields = extra[record.uuid].map(state.fields.overlaid) ?? state.fields
      var digest = RecordDigest(
        type, record.uuid, version: state.syncVersion, createdAt: record.createdAt, updatedAt: state.updatedAt,
        fields: fields, columns: columns)
      digest.serverId = record.serverId
      try body(digest)
    }
  }

  private func extraFields(of type: String) throws -> [String: SyncObject] {
    try Dictionary(
      connection.fetchRows(
        "SELECT entityUuid, fields FROM SyncExtraFields WHERE entityType = \(type)", as: String.self, String.self
      ).map { ($0, try SyncObject(parsing: $1)) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns `nil` for a record that the server does not have, or has as deleted.
  private func asTheServerHasIt(_ record: StoredRecord, _ table: RecordTable) throws -> RecordState? {
    if record.isDirty {
      let base = try BaseTable.find(table.entity.type, record.key, in: connection)
      return base?.isDeleted == true ? nil : base
    }
    guard record.state.isDeleted else { return record.state }
    let isTaken = try connection.fetchOne(
      "SELECT 1 FROM SyncCascade WHERE entityId = \(record.key) AND entityType = \(table.entity.type)", as: Int.self)
    return isTaken == nil ? nil : record.state
  }
}

/// The records that belong to some projects at the server.
private final class ProjectMembers {
  private let included: Set<String>?
  private let excluded: Set<String>
  private let paths: ProjectPaths
  /// The UUIDs of the parents through which a record belongs to a project, by entity and UUID.
  private var parents: [String: [String: [String?]]] = [:]

  init(
    included: Set<String>?, excluded: Set<String>, _ catalog: SyncCatalog, _ connection: Connection
  ) throws {
    (self.included, self.excluded) = (included, excluded)
    paths = ProjectPaths(catalog.tables)
    let above = Set(paths.references.values.flatMap { $0.map(\.parent) })
    for type in above where type != ProjectPaths.projectType {
      guard let table = catalog.tables[type], let references = paths.references[type] else { continue }
      var rows: [String: [String?]] = [:]
      try table.forEach(where: "1", in: connection) { record in
        // The server has the record where its base belongs, and not where an unsent change puts it.
        let base = record.isDirty ? try BaseTable.find(type, record.key, in: connection) : nil
        rows[record.uuid] = references.map { column, _ in
          (base?.fields[column] ?? record.state.fields[column]).flatMap {
            if case .text(let uuid) = $0 { uuid } else { nil }
          }
        }
      }
      parents[type] = rows
    }
  }

  func contains(_ type: String, _ uuid: String, _ state: RecordState) -> Bool {
    if type == ProjectPaths.projectType { return contains(uuid) }
    for (column, parent) in paths.references[type] ?? [] {
      guard let above = state.fields.text(column) else { continue }
      if let project = paths.project(of: parent, above, above: { parents[$0]?[$1] }) { return contains(project) }
    }
    return true
  }

  private func contains(_ project: String) -> Bool {
    included?.contains(project) != false && !excluded.contains(project)
  }
}
