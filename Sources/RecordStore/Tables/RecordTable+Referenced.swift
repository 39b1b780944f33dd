import CipherSQL
import SchemaModel

/// Foreign keys to columns other than the local id. On the wire a reference is the UUID of a record, so that the rows which
/// reference it have to follow when a version from elsewhere changes the referenced value.
extension RecordTable {
  /// Returns the foreign keys of one column by the referenced column. SQLite performs ON UPDATE CASCADE itself, and the
  /// columns of a composite key travel as values of their own.
  static func referenced(of entity: Entity, in entities: Entities) -> [String: [Dependency]] {
    let keys = entities.dependencies(on: entity).filter { dependency in
      dependency.key.columns.count == 1 && dependency.key.onUpdate != .cascade && dependency.child.sync != nil
        && ![entity.key, "uuid"].contains(dependency.key.columns[0].to)
    }
    return Dictionary(grouping: keys) { $0.key.columns[0].to }
  }

  /// Performs an update of a row, and lets the rows that reference one of its columns follow. All foreign keys are checked
  /// afterwards.
  /// - Parameter names: the columns that the update sets.
  package func keepingReferences(
    to key: Int64, changing names: [String], in connection: WriteConnection, _ update: () throws -> Void
  ) throws {
    let changing = referenced.isEmpty ? [] : names.filter { referenced[$0] != nil }
    if changing.isEmpty { return try update() }
    func values() throws -> [SQLArgument] {
      try changing.map { name in
        try connection.fetchOne(
          """
          SELECT \(identifier: name) FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key)
          """, as: SQLArgument.self) ?? .null
      }
    }
    try connection.deferringForeignKeys {
      let before = try values()
      try update()
      for (name, (old, new)) in zip(changing, zip(before, try values())) where old != new && old != .null {
        for dependency in referenced[name] ?? [] {
          let column = dependency.key.columns[0].from
          try connection.execute(
            """
            UPDATE \(identifier: dependency.child.table.name) SET \(identifier: column) = \(new)
            WHERE \(identifier: column) = \(old)
            """)
        }
      }
    }
  }
}
