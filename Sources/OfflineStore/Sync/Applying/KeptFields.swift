import CipherSQL
import SyncModel

/// Fields from a newer server that this vault has no column for yet: the table `SyncExtraFields`.
extension SyncTransaction {
  /// Keeps the fields of a version that has just been stored and that the table has no column for. Those of an older version go.
  func keepUnknownFields(of remote: RemoteRecord, _ table: RecordTable) throws {
    try setKept(table.unknownFields(of: remote.state), of: remote.entityType, remote.entityUuid)
  }

  /// Forgets the fields that this vault has no column for.
  package func forgetExtraFields(_ type: String, _ uuids: [String]) throws {
    for uuid in uuids { try setKept([:], of: type, uuid) }
  }

  /// The server has stored values of this device for some fields, which are newer than what is kept.
  func forgetKeptFields(_ names: [String], of type: String, _ uuid: String) throws {
    guard try hasKeptFields(),
      let json = try connection.fetchOne(
        "SELECT fields FROM SyncExtraFields WHERE entityType = \(type) AND entityUuid = \(uuid)", as: String.self)
    else { return }
    let stored = Set(names)
    try setKept(try SyncObject(parsing: json).filter { !stored.contains($0.name) }, of: type, uuid)
  }

  /// Merges fields that a migration has made columns for since they came with what was edited here meanwhile.
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

  /// - Returns: false when the fields have to wait: the response to a sealed operation decides first, or a record that they refer
  ///   to is not here.
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

  /// The user decides about the fields with the rest of the conflict.
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
