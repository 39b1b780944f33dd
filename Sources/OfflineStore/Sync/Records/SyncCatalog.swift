import CipherSQL

/// The synced entities of a vault, ready for reading and writing.
package struct SyncCatalog: Sendable {
  package let entities: Entities
  /// By entity type.
  package let tables: [String: RecordTable]

  package init(_ entities: Entities) {
    self.entities = entities
    var tables: [String: RecordTable] = [:]
    for entity in entities.all where entity.hasCommonFields {
      if let table = RecordTable(entity, in: entities) { tables[entity.type] = table }
    }
    self.tables = tables
  }

  /// The references from other entities to records of this one that go when it goes.
  package func children(of type: String) -> [(table: RecordTable, column: SharedColumn)] {
    tables.values.sorted { $0.entity.type < $1.entity.type }.flatMap { table in
      table.columns.filter { $0.reference?.entityType == type && $0.reference?.cascades == true }.map { (table, $0) }
    }
  }
}
