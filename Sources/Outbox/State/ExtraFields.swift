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
  func forgetKeptFields(of operations: [PushOperation]) throws {
    guard !operations.isEmpty, try hasKeptFields() else { return }
    let kept = try connection.fetchRows(
      """
      SELECT kept.entityType, kept.entityUuid, fields FROM \(Self.records(of: operations)) AS row
      CROSS JOIN SyncExtraFields AS kept ON \(raw: Self.isRecord)
      """, as: String.self, String.self, String.self)
    var stored: [RecordIdentity: Set<String>] = [:]
    for operation in operations {
      let record = RecordIdentity(entityType: operation.entityType, entityUuid: operation.entityUuid)
      stored[record] = Set(operation.patch.fields.names)
    }
    try setKept(
      try kept.map { type, uuid, json in
        let record = RecordIdentity(entityType: type, entityUuid: uuid)
        return (record, try SyncObject(parsing: json).filter { stored[record]?.contains($0.name) != true })
      })
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
    let sealed = try QueuedOperation.sealed(type, record.key, in: connection).first
    if let sealed, try !mustReopen(sealed, fields, record) { return false }
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
      try undoable(isPart: true) {
        if let sealed { try outbox.apply(.reopened, to: sealed) }
        if record.isDirty {
          try rebase(record, base: base, on: remote, table)
        } else {
          try table.update(
            record.key, from: record.state, to: state, .init(serverId: record.serverId),
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

  /// Returns whether the user has edited a field whose kept value the device did not show. The server would take the sealed
  /// operation for an edit of that value, because its base has the same version.
  private func mustReopen(_ sealed: QueuedOperation, _ fields: SyncObject, _ record: StoredRecord) throws -> Bool {
    guard sealed.state != .inFlight, let base = try BaseTable.find(sealed.entityType, record.key, in: connection) else {
      return false
    }
    return fields.members.contains {
      base.fields[$0.name] != $0.value && record.state.fields[$0.name] != base.fields[$0.name]
    }
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
    try setKept([(RecordIdentity(entityType: type, entityUuid: uuid), fields)])
  }

  private func setKept(_ records: [(record: RecordIdentity, fields: SyncObject)]) throws {
    var (kept, removed) = (ParameterRows(width: 3), ParameterRows(width: 2))
    for (record, fields) in records {
      let names: [SQLArgument] = [.text(record.entityType), .text(record.entityUuid)]
      if fields.isEmpty { removed.append(names) } else { kept.append(names + [.text(SyncValue.object(fields).json)]) }
    }
    if !removed.isEmpty, try hasKeptFields() {
      try connection.execute("DELETE FROM SyncExtraFields WHERE (entityType, entityUuid) IN \(removed.table)")
    }
    if kept.isEmpty { return }
    inbox.facts.hasFields = true
    try connection.execute(
      """
      INSERT INTO SyncExtraFields (entityType, entityUuid, fields) SELECT * FROM \(kept.table) WHERE column1 IS NOT NULL
      ON CONFLICT (entityType, entityUuid) DO UPDATE SET fields = excluded.fields
      """)
  }

  private func hasKeptFields() throws -> Bool {
    if let known = inbox.facts.hasFields { return known }
    let has = try connection.fetchOne("SELECT 1 FROM SyncExtraFields LIMIT 1", as: Int.self) != nil
    inbox.facts.hasFields = has
    return has
  }
}
