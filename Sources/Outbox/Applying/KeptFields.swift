import CipherSQL
import RecordStore
import SyncModel

/// Fields from a newer server for which this vault has no column yet: the table `SyncExtraFields`.
extension RemoteChanges {
  /// Keeps the fields of a stored version for which the table has no column, and removes those of an older version.
  func keepUnknownFields(of remote: RemoteRecord, _ table: RecordTable) throws {
    try setKept(table.unknownFields(of: remote.state), of: remote.entityType, remote.entityUuid)
  }

  /// Removes the fields for which this vault has no column.
  package func forgetExtraFields(_ type: String, _ uuids: [String]) throws {
    for uuid in uuids { try setKept([:], of: type, uuid) }
  }

  /// Removes kept fields for which the server has stored newer values of this device.
  func forgetKeptFields(_ names: [String], of type: String, _ uuid: String) throws {
    guard try hasKeptFields(),
      let json = try connection.fetchOne(
        "SELECT fields FROM SyncExtraFields WHERE entityType = \(type) AND entityUuid = \(uuid)", as: String.self)
    else { return }
    let stored = Set(names)
    try setKept(try SyncObject(parsing: json).filter { !stored.contains($0.name) }, of: type, uuid)
  }

  /// Merges kept fields for which a migration has added columns with the edits of this device.
  package func applyKeptFields() throws {
    guard try hasKeptFields() else { return }
    let kept = try connection.fetchRows(
      "SELECT entityType, entityUuid, fields FROM SyncExtraFields", as: String.self, String.self, String.self)
    for (type, uuid, json) in kept {
      guard let table = catalog.tables[type] else { continue }
      let fields = try SyncObject(parsing: json)
      let known = fields.filter { table.places[$0.name] != nil }
      guard !known.isEmpty, let record = try table.find(uuid, in: connection), try take(known, record, table) else {
        continue
      }
      try setKept(fields.filter { table.places[$0.name] == nil }, of: type, uuid)
    }
  }

  /// - Returns: `false` if the fields have to wait for the response to a sealed operation or for a record that they
  ///   reference.
  private func take(_ fields: SyncObject, _ record: StoredRecord, _ table: RecordTable) throws -> Bool {
    let type = table.entity.type
    guard try QueuedOperation.sealed(type, record.key, in: connection).isEmpty else { return false }
    if let conflict = try OpenConflict.find(of: record, type, in: connection) {
      return try add(fields, to: conflict)
    }
    let base = record.isDirty ? try BaseTable.find(type, record.key, in: connection) : record.state
    guard let base else { return false }
    var state = base
    state.fields = base.fields.overlaid(with: fields)
    let remote = RemoteRecord(
      entityType: type, entityUuid: record.uuid, serverId: record.serverId, createdAt: record.createdAt, state: state)
    do {
      try connection.savepoint {
        if record.isDirty {
          try rebase(record, base: base, on: remote, table)
        } else {
          try table.update(
            record.key, from: record.state, to: state, .init(serverId: record.serverId), references: references,
            in: connection)
        }
      }
    } catch is MissingReferences {
      return false
    } catch is UnsendableField {
      return false
    } catch let error as SQLError where error.code == .constraint {
      return false
    }
    return true
  }

  /// Adds the fields to the remote version of a conflict, so that the user decides about them as well.
  private func add(_ fields: SyncObject, to conflict: OpenConflict) throws -> Bool {
    guard var remote = conflict.remote else { return false }
    remote.fields = remote.fields.overlaid(with: fields)
    try connection.execute(
      """
      UPDATE OfflineConflictResolution SET remoteVersion = \(RecordVersion.json(remote)) WHERE conflictId = \(conflict.id)
      """)
    return true
  }

  private func setKept(_ fields: SyncObject, of type: String, _ uuid: String) throws {
    if fields.isEmpty {
      guard try hasKeptFields() else { return }
      try connection.execute("DELETE FROM SyncExtraFields WHERE entityType = \(type) AND entityUuid = \(uuid)")
      return
    }
    inbox.hasFields = true
    try connection.execute(
      """
      INSERT INTO SyncExtraFields (entityType, entityUuid, fields)
      VALUES (\(type), \(uuid), \(SyncValue.object(fields).json))
      ON CONFLICT (entityType, entityUuid) DO UPDATE SET fields = excluded.fields
      """)
  }

  private func hasKeptFields() throws -> Bool {
    if let known = inbox.hasFields { return known }
    let has = try connection.fetchOne("SELECT 1 FROM SyncExtraFields LIMIT 1", as: Int.self) != nil
    inbox.hasFields = has
    return has
  }
}
