import CipherSQL
import SchemaModel
import SyncModel

/// UNIQUE values. A deleted record keeps its values, so that it can be restored with them. If another record takes a value,
/// the deleted record releases it.
extension AccountWriter {
  /// Takes the UNIQUE values of a version. Deleted records release them.
  /// - Returns: the keys whose values the record, which is deleted, has released before and does not take back.
  /// - Throws: ``StorageRefusal``, which names the columns.
  func acquire(
    _ values: [String: String], of version: SchemaChecker.Version, over stored: RecordRow?, _ plan: CheckPlan
  ) throws -> Set<String> {
    var released: Set<String> = []
    var releasing: [(key: String, row: RecordRow)] = []
    for key in plan.uniqueKeys {
      guard let value = values[key.name] else { continue }
      if stored?.keys.unique[key.name] == value {
        guard stored?.keys.released.contains(key.name) == true else { continue }
        if version.state.isDeleted {
          released.insert(key.name)
          continue
        }
      }
      let unique = UniqueValue(entityType: version.name.entityType, key: key.name, value: value)
      guard let holder = try holder(unique), holder != version.name else { continue }
      // Only a value of columns that travel can be released and taken back.
      guard key.isWhole else { throw StorageRefusal.notUnique(columns: key.columns) }
      guard try isDeleted(holder) == true, let row = try row(holder), try !isReferenced(holder, by: key.name) else {
        throw StorageRefusal.notUnique(columns: key.columns, holder: holder)
      }
      releasing.append((key.name, row))
    }
    for (key, row) in releasing {
      // Another key of the same record may have been released just now.
      guard let stored = try self.row(row.name) else { continue }
      var row = stored
      row.keys.released.insert(key)
      state.set(row, of: row.name, over: stored)
    }
    return released
  }

  /// Returns the UNIQUE values that an operation probably takes or references. The check of the schema tells the real ones,
  /// which may differ where the schema computes or converts a value.
  func likelyValues(of operation: OperationOutline) throws -> [UniqueValue] {
    guard let name = operation.record, let plan = map.plans[name.entityType] else { return [] }
    let stored = try row(name)
    func argument(_ column: String) throws -> SQLArgument? {
      guard let place = plan.table.places[column],
        let value = operation.fields[column] ?? stored?.record.state.fields[column], value != .null
      else { return nil }
      let shared = plan.table.columns[place]
      if let reference = shared.reference {
        guard case .text(let uuid) = value else { return nil }
        return try map.value(of: reference, uuid) { try row($0).map { ($0.record.state.fields, $0.record.serverId) } }
      }
      // The operation will be refused for an invalid value, so nothing has to be read for it.
      do throws(FieldProblem) { return try shared.argument(value) } catch { return nil }
    }
    var values: [UniqueValue] = []
    for key in plan.uniqueKeys where key.columns.count == key.collations.count {
      let arguments = try key.columns.compactMap { try argument($0) }
      guard arguments.count == key.columns.count, let text = KeyText.of(arguments, collations: key.collations),
        stored?.keys.unique[key.name] != text
      else { continue }
      values.append(UniqueValue(entityType: name.entityType, key: key.name, value: text))
    }
    for reference in plan.references where !reference.isByUUID {
      let arguments = try reference.columns.compactMap { try argument($0) }
      guard let target = reference.targetKey, arguments.count == reference.columns.count,
        let text = reference.text(ofColumns: arguments)
      else { continue }
      values.append(UniqueValue(entityType: reference.dependency.parent.type, key: target, value: text))
    }
    return values
  }

  /// Returns whether a record is referenced by the values of one of its keys.
  private func isReferenced(_ name: RecordName, by key: String) throws -> Bool {
    try map.dependents[name.entityType]?.contains { dependent in
      guard dependent.link.targetKey == key else { return false }
      return try !dependents(of: name, by: dependent, after: nil, limit: 1).isEmpty
    } ?? false
  }
}
