import CipherSQL
import SyncModel

/// The entities of a vault.
public struct Entities: Sendable {
  /// All entities, ordered by type name.
  public let all: [Entity]
  /// The whole catalogue, including tables that are not entities.
  public let catalog: Catalog
  /// The constant default of each column that was added to an existing table, by entity and column.
  package var addedDefaults: [String: [String: SyncValue]] = [:]
  /// The columns that reference the record of a user, by the entity whose records make the user a member of a project.
  package var memberColumns: [String: String] = [:]
  /// A digest of the definitions and of the registry, which determine the entities.
  package let digest: SchemaDigest

  /// Reads the entities from the catalogue and from the registry of synced entities. An unregistered table with a
  /// `uuid` column is an entity that is not synced.
  ///
  /// If this process has already read the entities of a database with the same definitions and the same registry, the
  /// call costs the queries that compare them.
  package static func read(from connection: Connection) throws -> Entities {
    try connection.inSnapshot { connection in
      let definitions = try Catalog.digest(in: connection)
      let digest = try connection.digest(of: queries(in: connection), following: definitions)
      return try connection.schemaCache.value(for: digest) {
        try read(from: connection, Catalog.read(from: connection, digest: definitions), digest)
      }
    }
  }

  /// Returns the queries of all rows of the registry that the entities depend on.
  private static func queries(in connection: Connection) throws -> [SQL] {
    try [tableQuery, localQuery] + SyncBehaviour.queries + AddedColumns.queries(in: connection)
      + Memberships.queries(in: connection)
  }

  private static let tableQuery: SQL = "SELECT entityType, tableName FROM SyncedEntity"
  private static let localQuery: SQL = "SELECT entityType, columnName FROM SyncedColumn WHERE isLocalOnly = 1"

  /// Reads the entities without the cache.
  private static func read(
    from connection: Connection, _ catalog: Catalog, _ digest: SchemaDigest
  ) throws -> Entities {
    let behaviours = try SyncBehaviour.all(from: connection)
    let registered = try connection.fetchRows(tableQuery, as: String.self, String.self)
    let local = try connection.fetchRows(localQuery, as: String.self, String.self)
    let types = Dictionary(registered.map { ($0.1, $0.0) }) { first, _ in first }
    var entities: [Entity] = []
    for table in catalog.tables where table.kind == .table {
      guard types[table.name] != nil || table.columns.contains(where: { $0.name == "uuid" }) else { continue }
      let type = types[table.name] ?? table.name
      entities.append(
        Entity(
          type: type, table: table, localColumns: Set(local.filter { $0.0 == type }.map(\.1)),
          searchTable: catalog.tables.first { $0.contentTable == table.name }?.name,
          sync: types[table.name] == nil ? nil : behaviours[type]))
    }
    return Entities(
      all: entities.sorted { $0.type < $1.type }, catalog: catalog,
      addedDefaults: try AddedColumns.defaults(in: connection),
      memberColumns: try Memberships.userColumns(in: connection), digest: digest)
  }

  /// Returns the entity with a type name or table name. A type counts before the table of another entity.
  /// - Throws: ``VaultError`` with `noSuchEntity` and the existing entities as candidates.
  public func entity(_ name: String) throws(VaultError) -> Entity {
    guard let entity = all.first(where: { $0.type == name }) ?? entity(ofTable: name) else {
      throw VaultError(
        .noSuchEntity, "unknown entity '\(name)'",
        hint: "the entities of this vault are \(all.map(\.type).joined(separator: ", "))",
        name: name, candidates: all.map(\.type) + all.map(\.table.name))
    }
    return entity
  }

  /// Returns the entity of a table, or `nil`.
  package func entity(ofTable table: String) -> Entity? { all.first { $0.table.name == table } }

  /// Returns the foreign keys that reference an entity.
  package func dependencies(on entity: Entity) -> [Dependency] {
    all.flatMap { child in
      child.table.foreignKeys.filter { $0.table == entity.table.name }.map {
        Dependency(child: child, parent: entity, key: $0)
      }
    }
  }

  /// Returns the foreign keys by which an entity references synced entities, in the order of the table.
  package func references(of entity: Entity) -> [Dependency] {
    entity.table.foreignKeys.compactMap { key in
      guard let parent = self.entity(ofTable: key.table), parent.sync != nil else { return nil }
      return Dependency(child: entity, parent: parent, key: key)
    }
  }

  /// Returns the entities to which the deletion of a record may cascade, directly or transitively. Includes the entity
  /// if its records reference each other with cascading keys.
  package func dependents(of entity: Entity) -> [Entity] {
    var found: [Entity] = []
    var open = [entity]
    while let next = open.popLast() {
      for child in dependencies(on: next).filter(\.cascades).map(\.child)
      where !found.contains(where: { $0.type == child.type }) {
        found.append(child)
        open.append(child)
      }
    }
    return found
  }
}

/// A foreign key from the table of one entity to the table of another.
package final class Dependency: Sendable {
  package let child: Entity
  package let parent: Entity
  package let key: Catalog.ForeignKey

  package init(child: Entity, parent: Entity, key: Catalog.ForeignKey) {
    (self.child, self.parent, self.key) = (child, parent, key)
  }

  /// Whether deleting a parent record also deletes the child records that reference it. The rows of a child table
  /// without an `isDeleted` column stay until the parent's row is removed.
  package var cascades: Bool { key.onDelete == .cascade && child.marksDeletion }

  /// Returns the SQL condition that the child's row references the parent's row. The parent's column is the left
  /// operand, so that its collation applies, as in SQLite's foreign keys.
  package func isReferring(child: String, parent: String) -> String {
    key.columns.map { "\(parent).\(SQL.quoted($0.to)) = \(child).\(SQL.quoted($0.from))" }.joined(separator: " AND ")
  }

  /// Returns the expression for a column of the parent's row, which the row of the child references.
  package func target(_ column: String, child: String) -> String {
    if let own = rowIDColumn, column == parent.key { return "\(child).\(SQL.quoted(own))" }
    return """
      (SELECT target.\(SQL.quoted(column)) FROM \(SQL.quoted(parent.table.name)) AS target \
      WHERE \(isReferring(child: child, parent: "target")))
      """
  }

  /// Returns the condition that the row of the child references the parent with a local id.
  package func refers(_ child: String, to id: Int64) -> SQL {
    let parts = key.columns.map { pair -> SQL in
      let own: SQL = "\(raw: child).\(identifier: pair.from)"
      if pair.to == parent.key { return "\(own) = \(id)" }
      return """
        \(own) = (SELECT target.\(identifier: pair.to) FROM \(identifier: parent.table.name) AS target
          WHERE target.\(identifier: parent.key) = \(id))
        """
    }
    return parts.dropFirst().reduce(parts[0]) { "\($0) AND \($1)" }
  }

  /// The columns of the child, in the order of the key.
  package var columns: [String] { key.columns.map(\.from) }

  /// Returns whether a column alone forms the foreign key.
  package func refers(by column: String) -> Bool { key.columns.count == 1 && key.columns[0].from == column }

  /// The column that references the parent's local id; `nil` if the key has several columns or references another
  /// column.
  package var rowIDColumn: String? {
    key.columns.count == 1 && key.columns[0].to == parent.key ? key.columns[0].from : nil
  }
}
