import CipherSQL
import SchemaModel
import SyncModel

/// The references by which records belong to a project.
package struct ProjectPaths: Sendable {
  /// The entity by which a device can select the records that it pulls.
  package static let projectType = "Project"

  /// The references that lead to the project, for each entity that belongs to one, in the order of its columns. The
  /// first one with a project decides.
  package let references: [String: [(column: String, parent: String)]]

  /// A record belongs to the records that it cannot exist without.
  package init(_ tables: [String: RecordTable]) {
    var belonging: Set<String> = [Self.projectType]
    while true {
      let more = tables.filter { type, table in
        !belonging.contains(type)
          && table.columns.contains { Self.isTie($0) && belonging.contains(Self.parent(of: $0)) }
      }
      if more.isEmpty { break }
      belonging.formUnion(more.keys)
    }
    var references: [String: [(column: String, parent: String)]] = [:]
    for (type, table) in tables where type != Self.projectType && belonging.contains(type) {
      references[type] = table.columns.filter { Self.isTie($0) && belonging.contains(Self.parent(of: $0)) }.map {
        ($0.name, Self.parent(of: $0))
      }
    }
    self.references = references
  }

  /// Returns the project that a record belongs to, or `nil`.
  /// - Parameter above: the UUIDs in the references of a record that may lead to a project, in the order of
  ///   ``references``; `nil` for an unknown record.
  package func project(
    of type: String, _ uuid: String, above: (_ type: String, _ uuid: String) throws -> [String?]?
  ) rethrows -> String? {
    var seen: Set<String> = []
    return try project(of: type, uuid, &seen, above)
  }

  private func project(
    of type: String, _ uuid: String, _ seen: inout Set<String>, _ above: (String, String) throws -> [String?]?
  ) rethrows -> String? {
    if type == Self.projectType { return uuid }
    guard seen.insert(uuid).inserted, let uuids = try above(type, uuid) else { return nil }
    for (reference, parent) in zip(references[type] ?? [], uuids) {
      guard let parent, let project = try project(of: reference.parent, parent, &seen, above) else { continue }
      return project
    }
    return nil
  }

  private static func isTie(_ column: SharedColumn) -> Bool {
    guard let reference = column.reference else { return false }
    return reference.cascades || column.column.isNotNull
  }

  private static func parent(of column: SharedColumn) -> String { column.reference?.entityType ?? "" }
}

/// Finds the projects of records as the server has them: a record with a base belongs where its base does, and not where an
/// unsent change puts it.
package final class RecordProjects {
  private let catalog: SyncCatalog
  private let connection: Connection
  private let paths: ProjectPaths
  private var known: [LocalIdentity: String] = [:]

  package init(_ catalog: SyncCatalog, in connection: Connection) {
    (self.catalog, self.connection) = (catalog, connection)
    paths = ProjectPaths(catalog.tables)
  }

  /// The references that lead to the project, for each entity that belongs to one.
  package var references: [String: [(column: String, parent: String)]] { paths.references }

  /// Returns the UUID of the project that a record belongs to, or `nil`.
  package func project(of record: LocalIdentity) throws -> String? {
    var seen: Set<LocalIdentity> = []
    return try project(of: record, &seen)
  }

  /// Returns the UUID of the project that a version belongs to, or `nil`.
  /// - Parameters:
  ///   - fields: the fields of the version, whose record this database may lack.
  ///   - version: returns the fields of another such version.
  package func project(
    of type: String, _ fields: SyncObject, version: (_ type: String, _ uuid: String) -> SyncObject?
  ) throws -> String? {
    var seen: Set<String> = []
    return try project(of: type, fields, &seen, version)
  }

  private func project(
    of type: String, _ fields: SyncObject, _ seen: inout Set<String>, _ version: (String, String) -> SyncObject?
  ) throws -> String? {
    for (name, parent) in paths.references[type] ?? [] {
      guard let uuid = fields.text(name) else { continue }
      if parent == ProjectPaths.projectType { return uuid }
      guard seen.insert(uuid).inserted else { continue }
      let project: String?
      if let above = version(parent, uuid) {
        project = try self.project(of: parent, above, &seen, version)
      } else {
        project = try find(parent, uuid).flatMap { try self.project(of: $0) }
      }
      if let project { return project }
    }
    return nil
  }

  private func project(of record: LocalIdentity, _ seen: inout Set<LocalIdentity>) throws -> String? {
    if let project = known[record] { return project }
    guard seen.insert(record).inserted, let table = catalog.tables[record.type] else { return nil }
    if record.type == ProjectPaths.projectType {
      known[record] = try connection.fetchOne(
        "SELECT uuid FROM \(identifier: table.entity.table.name) WHERE \(identifier: table.entity.key) = \(record.key)",
        as: String.self)
      return known[record]
    }
    for parent in try parents(of: record, table) {
      guard let project = try project(of: parent, &seen) else { continue }
      known[record] = project
      return project
    }
    return nil
  }

  private func parents(of record: LocalIdentity, _ table: RecordTable) throws -> [LocalIdentity] {
    let base = try BaseTable.find(record.type, record.key, in: connection)
    var parents: [LocalIdentity] = []
    for (name, type) in paths.references[record.type] ?? [] {
      let parent: LocalIdentity?
      if let base, let value = base.fields[name] {
        guard case .text(let uuid) = value else { continue }
        parent = try find(type, uuid)
      } else {
        parent = try referenced(by: name, record, table)
      }
      if let parent { parents.append(parent) }
    }
    return parents
  }

  private func find(_ type: String, _ uuid: String) throws -> LocalIdentity? {
    guard let entity = catalog.tables[type]?.entity else { return nil }
    return try connection.fetchOne(
      "SELECT \(identifier: entity.key) FROM \(identifier: entity.table.name) WHERE uuid = \(uuid)", as: Int64.self
    ).map { LocalIdentity(type, $0) }
  }

  private func referenced(by name: String, _ record: LocalIdentity, _ table: RecordTable) throws -> LocalIdentity? {
    guard let reference = table.columns.first(where: { $0.name == name })?.reference,
      let parent = catalog.tables[reference.entityType]?.entity
    else { return nil }
    return try connection.fetchOne(
      """
      SELECT parent.\(identifier: parent.key) FROM \(identifier: table.entity.table.name) AS child
      CROSS JOIN \(identifier: parent.table.name) AS parent ON parent.\(identifier: reference.key) = child.\(identifier: name)
      WHERE child.\(identifier: table.entity.key) = \(record.key)
      """, as: Int64.self
    ).map { LocalIdentity(parent.type, $0) }
  }
}
