import CipherSQL
import SchemaModel
import SyncModel

/// The synced records that a record references, by foreign keys of one or of several columns.
extension RecordTable {
  /// Returns the local ids of the synced records that a record references.
  package func parents(of key: Int64, in connection: Connection) throws -> [(key: Dependency, id: Int64)] {
    try parents(of: CollectionOfOne(key), in: connection)[key] ?? []
  }

  /// Returns the local id of the record that fields reference by a foreign key; `nil` without such a record, and if a
  /// column of the key has no value.
  package func parent(by key: Dependency, in fields: SyncObject, _ connection: Connection) throws -> Int64? {
    try parents(by: key, in: [(number: 0, fields: fields)], connection)[0]
  }

  /// Returns the values of the columns of a foreign key; `nil` if a column has no value.
  func arguments(of key: Dependency, in fields: SyncObject) -> [SQLArgument]? {
    var arguments: [SQLArgument] = []
    for pair in key.key.columns {
      guard let value = fields[pair.from], value != .null, let place = places[pair.from] else { return nil }
      do throws(FieldProblem) {
        arguments.append(try columns[place].argument(value))
      } catch {
        return nil
      }
    }
    return arguments
  }

  /// Returns whether fields reference a record by a foreign key that this database does not have. A key with a column
  /// without a value references nothing.
  package func lacksParent(by key: Dependency, in fields: SyncObject, _ connection: Connection) throws -> Bool {
    try key.columns.allSatisfy { fields[$0] ?? .null != .null } && parent(by: key, in: fields, connection) == nil
  }

  /// Returns the records that fields reference by their UUID.
  package func references(in fields: SyncObject) -> [(type: String, uuid: String)] {
    references.compactMap { column in
      guard let reference = column.reference, case .text(let uuid)? = fields[column.name] else { return nil }
      return (reference.entityType, uuid)
    }
  }

  /// Returns the foreign keys that have no other columns than some.
  package func keys(within names: some Sequence<String>) -> [Dependency] {
    let names = Set(names)
    return keys.filter { names.isSuperset(of: $0.columns) }
  }

  /// Returns changed fields without the foreign keys of several columns that would reference a missing record.
  func leavingOutMissingParents(
    _ changed: SyncObject, over fields: SyncObject, _ connection: Connection
  ) throws -> SyncObject {
    var changed = changed
    for key in keys where key.columns.count > 1 && key.columns.contains(where: { changed[$0] != nil }) {
      guard try lacksParent(by: key, in: fields.overlaid(with: changed), connection) else { continue }
      for name in key.columns { changed[name] = nil }
    }
    return changed
  }

  /// Returns the column of a foreign key that can be NULL while the parent does not exist; `nil` if none can.
  package func columnToLeaveOut(of key: Dependency) -> String? {
    key.columns.first { name in places[name].map { !columns[$0].column.isNotNull } ?? false }
  }
}
