import CipherSQL
import SchemaModel
import SyncModel

/// Values that follow the values of a referenced record, by ON UPDATE. On a device SQLite changes these values with the
/// referenced row. On a server they change in the transaction of the referenced record, whatever their number.
extension AccountWriter {
  /// A record that references former values of a changed record.
  struct Follower {
    let name: RecordName
    let reference: Dependent
  }

  /// Returns the records that reference values which a change replaces.
  /// - Throws: ``StorageRefusal`` if a reference refuses the change.
  func followers(of stored: RecordRow, after row: RecordRow) throws -> [Follower] {
    var followers: [Follower] = []
    for reference in map.dependents[row.name.entityType] ?? [] {
      guard let key = reference.link.targetKey, let before = stored.keys.unique[key],
        before != row.keys.unique[key]
      else { continue }
      let value = ReferenceValue(
        entityType: reference.entityType, reference: reference.link.name,
        target: reference.isByUUID ? row.name.entityUuid : before)
      let found = try dependents(value, after: nil, limit: .max).filter { $0 != row.name }
      if found.isEmpty { continue }
      if !reference.isByUUID, [.noAction, .restrict].contains(reference.onUpdate) {
        throw StorageRefusal.invalid(field: nil, message: "refers to a record that does not exist")
      }
      followers += found.map { Follower(name: $0, reference: reference) }
    }
    return followers
  }

  /// Gives a record the values of the changed record, or the values of the reference's action.
  func follow(_ follower: Follower, _ changed: ServerRecord, at time: Int64) throws {
    guard let row = try row(follower.name) else { return }
    let reference = follower.reference
    let fields = try values(of: reference, following: changed.state)
    let patch = RecordPatch(
      fields: changedFields(from: row.record.state.fields, to: fields),
      updatedAt: reference.targets.map { changed.state.editTime(of: $0) }.max() ?? changed.state.updatedAt)
    if patch.fields.isEmpty { return try refreshKeys(of: row) }
    _ = try store(
      follower.name, over: row.record, row.record.state.applying(patch), createdAt: row.record.createdAt, computing: [],
      serviceFields: nil, at: time, checksReferences: false)
  }

  private func values(of reference: Dependent, following state: RecordState) throws -> SyncObject {
    let targets = reference.targets.map { state.fields[$0] ?? .null }
    if reference.isByUUID {
      // The UUID stays, unless the record has lost the value.
      return targets[0] == .null ? [reference.columns[0]: .null] : [:]
    }
    switch reference.onUpdate {
    case .setNull: return SyncObject(reference.columns.map { ($0, .null) })
    case .setDefault: return try defaults(of: reference).fields
    case .cascade, .noAction, .restrict:
      return SyncObject(
        zip(reference.columns, reference.targets).compactMap { column, target in
          state.fields[target].map { (column, $0) }
        })
    }
  }

  /// Computes the keys of a record again, whose values contain those of a referenced record.
  private func refreshKeys(of stored: RecordRow) throws {
    guard let plan = map.plans[stored.name.entityType] else { return }
    let record = stored.record
    var version = SchemaChecker.Version(
      name: stored.name, serverId: record.serverId, state: record.state, createdAt: record.createdAt,
      storedAt: stored.storedAt, referenced: [:], computing: [])
    var row = stored
    row.keys = try check(&version, over: record, stored, plan, checksReferences: false).keys
    if row.keys == stored.keys { return }
    let left = try followers(of: stored, after: row)
    state.set(row, of: row.name, over: stored)
    for follower in left { try follow(follower, record, at: stored.storedAt) }
  }
}
