import CipherSQL
import SchemaModel

/// The synced entities of a vault with their tables.
package struct SyncCatalog: Sendable {
  package let entities: Entities
  /// The tables by entity type.
  package let tables: [String: RecordTable]
  /// The synced entities whose deletion can cascade to an entity, directly or transitively, by its type.
  package let cascadeRoots: [String: [Entity]]
  /// The synced entities whose records can reference themselves or each other in a cycle.
  package let cyclic: [Entity]

  package init(_ entities: Entities) {
    self.entities = entities
    var tables: [String: RecordTable] = [:]
    for entity in entities.all where entity.hasCommonFields {
      if let table = RecordTable(entity, in: entities) { tables[entity.type] = table }
    }
    self.tables = tables
    var roots: [String: [Entity]] = [:]
    for root in entities.all where tables[root.type] != nil {
      for dependent in entities.dependents(of: root) { roots[dependent.type, default: []].append(root) }
    }
    cascadeRoots = roots
    cyclic = entities.all.filter { tables[$0.type] != nil && Self.isCyclic($0, in: entities) }
  }

  private static func isCyclic(_ entity: Entity, in entities: Entities) -> Bool {
    var seen: Set<String> = []
    var open = [entity]
    while let next = open.popLast() {
      for child in entities.dependencies(on: next).map(\.child) {
        if child.type == entity.type { return true }
        if seen.insert(child.type).inserted { open.append(child) }
      }
    }
    return false
  }

  /// Returns whether the row with a local id is deleted.
  package func isDeleted(_ key: Int64, of entity: Entity, in connection: Connection) throws -> Bool {
    try connection.fetchOne(
      "SELECT isDeleted FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key)", as: Bool.self)
      == true
  }

  /// Returns the references from other entities that cascade a deletion of this one.
  package func children(of type: String) -> [(table: RecordTable, key: Dependency)] {
    tables.values.sorted { $0.entity.type < $1.entity.type }.flatMap { table in
      table.keys.filter { $0.parent.type == type && $0.cascades }.map { (table, $0) }
    }
  }
}

extension SyncCatalog {
  /// The tables, dependents before the tables that they reference.
  package var childrenFirst: [RecordTable] { parentsFirst.reversed() }

  /// The tables, referenced tables before their dependents. Within a cycle the order is by name.
  package var parentsFirst: [RecordTable] {
    var order: [RecordTable] = []
    var seen: Set<String> = []
    func visit(_ type: String) {
      guard seen.insert(type).inserted, let table = tables[type] else { return }
      for key in table.keys { visit(key.parent.type) }
      order.append(table)
    }
    for type in tables.keys.sorted() { visit(type) }
    return order
  }
}
