import CipherSQL

/// The entities of a vault.
public struct Entities: Sendable {
  /// All of them, by name.
  public let all: [Entity]
  /// The whole catalogue, for what is no entity.
  public let catalog: Catalog

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
    return Entities(all: entities.sorted { $0.type < $1.type }, catalog: catalog)
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

  /// The entities of which a record goes when a record of this one goes.
  package func cascades(from entity: Entity) -> [(entity: Entity, column: String)] {
    all.flatMap { child in
      child.table.foreignKeys.filter { key in
        key.table == entity.table.name && key.onDelete == .cascade && key.columns.count == 1
      }.map { (child, $0.columns[0].from) }
    }
  }

  /// The entities of which a record may go when a record of this one goes, directly or through others; with itself when
  /// its records form a tree.
  func followers(of entity: Entity) -> [Entity] {
    var found: [Entity] = []
    var open = [entity]
    while let next = open.popLast() {
      for (child, _) in cascades(from: next) where !found.contains(where: { $0.type == child.type }) {
        found.append(child)
        open.append(child)
      }
    }
    return found
  }
}
