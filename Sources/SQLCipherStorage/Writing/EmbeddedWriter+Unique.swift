import CipherSQL
import RecordStore
import ServerStorage
import SyncModel

/// UNIQUE values of deleted records. A deleted record keeps its values, so that it can be restored with them. If
/// another record takes a value, the row of the deleted record releases it.
extension EmbeddedWriter {
  /// Releases the UNIQUE values of deleted records that a version takes.
  /// - Returns: a record that has one of the values and keeps it; `nil` if all are free.
  func freeUniqueValues(for name: RecordName, _ state: RecordState, _ table: RecordTable) throws -> RecordName? {
    let holders = try table.holders(of: state.fields, besides: name.entityUuid, in: connection).filter(\.key.isWhole)
    var kept: RecordName?
    for holder in holders {
      let other = RecordName(name.entityType, holder.uuid)
      if try isDeleted(other) != true { return other }
      if try !release(holder.key, of: other, table) { kept = other }
    }
    return kept
  }

  /// - Returns: `false` if other records reference the record by the value.
  private func release(_ key: UniqueKey, of name: RecordName, _ table: RecordTable) throws -> Bool {
    guard let (column, value) = key.clearing(connection.environment, referenced: []),
      let record = try table.find(name.entityUuid, in: connection),
      let fields = record.state.fields[column.name], try !isReferred(name, by: column.name)
    else { return false }
    try connection.withoutChecks {
      _ = try connection.execute(
        """
        UPDATE \(identifier: table.entity.table.name) SET \(identifier: column.name) = \(value)
        WHERE uuid = \(name.entityUuid)
        """)
    }
    var released = try reader.bookkeeping(name)?.released ?? [:]
    if released[column.name] == nil { released[column.name] = fields }
    try note(released, of: name)
    return true
  }

  private func isReferred(_ name: RecordName, by column: String) throws -> Bool {
    try map.dependents[name.entityType]?.contains { dependent in
      try dependent.targets.contains(column)
        && !reader.dependents(of: name, by: dependent, after: nil, limit: 1).isEmpty
    } ?? false
  }

  /// Stores the released values of a deleted record.
  func note(_ released: SyncObject, of name: RecordName) throws {
    let text = released.isEmpty ? nil : SyncValue.object(released).json
    try connection.execute(
      """
      UPDATE ServerRecord SET released = \(text.sqlArgument)
      WHERE entityType = \(name.entityType) AND entityUuid = \(name.entityUuid)
      """)
  }
}

extension SQLError {
  /// Whether another row has a UNIQUE value.
  var isOfUniqueness: Bool {
    if case .unique = constraint { true } else { false }
  }
}
