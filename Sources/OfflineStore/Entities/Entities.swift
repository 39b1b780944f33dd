import CipherSQL
import SyncModel

/// The entities of a vault.
public struct Entities: Sendable {
  /// All of them, by name.
  public let all: [Entity]
  /// The whole catalogue, for what is no entity.
  public let catalog: Catalog
  /// By entity and column, the constant default with which a column was added to its table later.
  package var addedDefaults: [String: [String: SyncValue]] = [:]

  /// Reads them from the catalogue and from the registry of synced entities. A table that is not registered is an
  /// entity that is not synced, when it has a `uuid`.
  package static func read(from connection: Connection) throws -> Entities {
    let catalog = try Catalog.read(from: connection)
    let behaviours = try SyncBehaviour.all(from: connection)
    let registered = try connection.fetchRows(
      "SELECT entityType, tableName FROM SyncedEntity", as: String.self, String.self)
    let local = try connection.fetchRows(
      "SELECT entityType, columnName FROM SyncedColumn WHERE isLocalOnly = 1", as: String.self, String.self)
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
      addedDefaults: try AddedColumns.defaults(in: connection))
  }

  /// The entity of a type or table name.
  /// - Throws: ``VaultError`` with `noSuchEntity`, with the entities there are as candidates.
  public func entity(_ name: String) throws(VaultError) -> Entity {
    guard let entity = all.first(where: { $0.type == name || $0.table.name == name }) else {
      throw VaultError(
        .noSuchEntity, "there is no entity '\(name)'",
        hint: "this vault has \(all.map(\.type).joined(separator: ", "))",
        name: name, candidates: all.map(\.type) + all.map(\.table.name))
    }
    return entity
  }

  /// The entity whose table it is.
  package func entity(ofTable table: String) -> Entity? { all.first { $0.table.name == table } }

  /// The foreign keys by which records refer to records of this entity.
  package func dependencies(on entity: Entity) -> [Dependency] {
    all.flatMap { child in
      child.table.foreignKeys.filter { $0.table == entity.table.name }.map {
        Dependency(child: child, parent: entity, key: $0)
      }
    }
  }

  /// The entities whose records a deletion of a record of this one may cascade to, directly or through others; with itself
  /// when its records refer to each other.
  func dependents(of entity: Entity) -> [Entity] {
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

/// A foreign key between the tables of two entities.
package struct Dependency: Sendable {
  package let child: Entity
  package let parent: Entity
  package let key: Catalog.ForeignKey

  /// Whether deleting a record of the parent deletes those of the child that refer to it. A child that marks no deletions
  /// stays until the parent's row is removed.
  package var cascades: Bool { key.onDelete == .cascade && child.marksDeletion }

  /// The condition that the child's row refers to the parent's, compared as SQLite compares a foreign key: with the
  /// collation of the parent's column.
  package func isReferring(child: String, parent: String) -> String {
    key.columns.map { "\(parent).\(SQL.quoted($0.to)) = \(child).\(SQL.quoted($0.from))" }.joined(separator: " AND ")
  }

  /// Whether a column refers by itself.
  package func refers(by column: String) -> Bool { key.columns.count == 1 && key.columns[0].from == column }

  /// The column that refers to the parent's local id, where the key is that column alone.
  var rowIDColumn: String? {
    key.columns.count == 1 && key.columns[0].to == parent.key ? key.columns[0].from : nil
  }
}
