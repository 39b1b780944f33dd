import CipherSQL
import SyncModel

extension SyncTransaction {
  /// An operation as it is sent, now and whenever it is sent again.
  ///
  /// Nil when there is nothing to send: the record is as the server has it, or it is gone.
  /// - Throws: ``UnsendableField`` when a value cannot be sent.
  func sealedOperation(
    _ queued: QueuedOperation, leavingOut circular: Set<String>, clearing cleared: Set<String> = []
  ) throws -> (operation: PushOperation, length: Int)? {
    if let payload = queued.payload {
      var operation: PushOperation
      do throws(SyncModelError) {
        operation = try PushOperation(json: Array(payload.utf8))
      } catch {
        throw UnsendableField(field: "the payload", reason: "cannot be read: \(error)")
      }
      operation.idempotencyKey = queued.idempotencyKey
      try handOver(queued, payload, operation)
      operation.isRepeated = queued.sendCount > 0
      return (operation, payload.utf8.count)
    }
    guard let table = catalog.tables[queued.entityType],
      let record = try table.find(key: queued.entityId, in: connection)
    else {
      try complete(queued)
      return nil
    }
    if let unsendable = record.unsendable { throw unsendable }
    let base = try base(of: queued)
    guard var operation = try operation(queued, record, base, table, leavingOut: circular, clearing: cleared) else {
      try complete(queued)
      try markClean(record, table)
      return nil
    }
    let payload = operation.wire.json
    // An operation that may have been executed all the same keeps the key by which the server can tell.
    operation.idempotencyKey = queued.sendCount > 0 ? queued.idempotencyKey : nil
    operation.idempotencyKey = operation.idempotencyKey ?? SyncSettings.newIdentifier()
    try handOver(queued, payload, operation)
    operation.isRepeated = queued.sendCount > 0
    return (operation, payload.utf8.count)
  }

  /// Notes that an operation is handed over to be sent.
  private func handOver(_ queued: QueuedOperation, _ payload: String, _ operation: PushOperation) throws {
    try connection.withStatement(
      """
      UPDATE OfflineSyncQueue SET status = 'processing', lastAttemptAt = ?, errorMessage = NULL,
        sendCount = sendCount + 1, payload = ?, baseVersion = ?, schemaVersion = ?, operationType = ?, idempotencyKey = ?
      WHERE queueNumber = ?
      """
    ) { statement in
      try statement.bind(WireTime.text(now), at: 1)
      try statement.bind(payload, at: 2)
      try statement.bind(operation.baseVersion, at: 3)
      try statement.bind(operation.schemaVersion, at: 4)
      try statement.bind(operation.kind.rawValue, at: 5)
      try statement.bind(operation.idempotencyKey, at: 6)
      try statement.bind(queued.number, at: 7)
      try statement.run()
    }
    try setStatus("syncing", queued)
  }

  /// What a growing operation would send if it were sent now.
  func wouldSend(_ queued: QueuedOperation) throws -> PushOperation? {
    guard let table = catalog.tables[queued.entityType],
      let record = try table.find(key: queued.entityId, in: connection)
    else { return nil }
    return try operation(queued, record, base(of: queued), table, leavingOut: [])
  }

  private func base(of queued: QueuedOperation) throws -> RecordState? {
    guard queued.beside.hasBase else { return nil }
    return try BaseTable.find(queued.entityType, queued.entityId, in: connection)
  }

  private func operation(
    _ queued: QueuedOperation, _ record: StoredRecord, _ base: RecordState?, _ table: RecordTable,
    leavingOut circular: Set<String>, clearing cleared: Set<String> = []
  ) throws -> PushOperation? {
    let schemaVersion = try schemaVersion(of: table)
    func corrected(_ time: Int64) -> Int64 { time + clockOffset }
    // A remote without epochs keeps no deletions, and takes a new record.
    let isRestored = try base?.isOfTombstone == true && epoch() != nil
    if isRestored, record.state.isDeleted { return nil }
    if record.state.syncVersion == 0, record.state.isDeleted, base == nil, queued.kind == .delete {
      // The server lost the record, and another device may still have it.
      return PushOperation(
        operationId: queued.operationId, kind: .delete, entityType: queued.entityType, entityUuid: queued.entityUuid,
        baseVersion: 0, baseEpoch: try epoch(), schemaVersion: schemaVersion,
        patch: RecordPatch(isDeleted: true, updatedAt: corrected(record.state.updatedAt)))
    }
    if record.state.syncVersion == 0, !isRestored, base == nil || !record.state.isDeleted {
      // A row that every device makes by itself has a base at version 0. A server that made it too merges, one that does
      // not know it takes it whole.
      if let base, base.hasContent(of: record.state) { return nil }
      var fields = record.state.fields
      for name in circular.union(cleared) { fields[name] = .null }
      return PushOperation(
        operationId: queued.operationId, kind: .create, entityType: queued.entityType, entityUuid: queued.entityUuid,
        baseVersion: 0, schemaVersion: schemaVersion, createdAt: corrected(record.createdAt),
        patch: RecordPatch(
          fields: fields, userEditedFields: table.keepsUserEdits ? record.state.userEditedFields : nil,
          updatedAt: corrected(record.state.updatedAt)), base: base?.fields ?? [:])
    }
    // Without a base every field counts as changed, and the server has to tell which it has otherwise.
    let ground =
      base ?? RecordState(fields: [:], syncVersion: record.state.syncVersion, updatedAt: record.state.updatedAt)
    var patch = RecordPatch(from: ground, to: record.state)
    // A record that comes back hangs on nothing at first where that comes back only after it.
    let isRestoration = patch.isDeleted == false
    for name in circular { patch.fields[name] = isRestoration && ground.fields[name] != .null ? .null : nil }
    // A value that another record has yet, which takes that of this one: cleared first, it follows in an update.
    for name in cleared where ground.fields[name] != .null { patch.fields[name] = .null }
    if patch.isEmpty { return nil }
    patch.updatedAt = corrected(record.state.updatedAt)
    return PushOperation(
      operationId: queued.operationId, kind: patch.isDeleted == true ? .delete : .update,
      entityType: queued.entityType, entityUuid: queued.entityUuid, baseVersion: ground.syncVersion,
      baseEpoch: try epoch(), schemaVersion: schemaVersion,
      createdAt: isRestored ? corrected(record.createdAt) : nil, patch: patch,
      base: ground.fields.filter { patch.fields[$0.name] != nil })
  }

  private func schemaVersion(of table: RecordTable) throws -> Int64 {
    guard let schema = table.entity.sync?.schemaName else { return 0 }
    return try schemaVersions.version(of: schema, in: connection)
  }

  // MARK: Bookkeeping of records

  func setStatus(_ status: String, _ queued: QueuedOperation) throws {
    try catalog.tables[queued.entityType]?.setStatus(status, of: queued.entityId, in: connection)
  }

  /// The record is as the server has it, which has the time of its base.
  func markClean(_ record: StoredRecord, _ table: RecordTable) throws {
    let status = record.state.syncVersion > 0 ? "synced" : "pending"
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) SET isDirty = 0, syncStatus = \(status),
        updatedAt = coalesce(
          (SELECT updatedAt FROM SyncBase WHERE entityId = \(record.key) AND entityType = \(table.entity.type)), updatedAt)
      WHERE \(identifier: table.entity.key) = \(record.key)
      """)
    try BaseTable.forget(table.entity.type, record.key, in: connection)
  }

  /// The operation is done with. Its content is not kept; the row stays as history.
  func complete(_ queued: QueuedOperation) throws {
    try connection.withStatement(
      """
      UPDATE OfflineSyncQueue SET status = 'completed', completedAt = ?, payload = NULL, errorMessage = NULL,
        scheduledAt = NULL, parkedBehind = NULL
      WHERE queueNumber = ?
      """
    ) { statement in
      try statement.bind(WireTime.text(now), at: 1)
      try statement.bind(queued.number, at: 2)
      try statement.run()
    }
  }
}
