import CipherSQL
import RecordStore
import SyncModel

/// Builds the payload of an operation from the difference between its record and the base.
package struct PayloadBuilder: SyncComponent {
  package let sync: SyncTransaction
  private let rows: PlannedRows

  package init(sync: SyncTransaction) { self.init(sync: sync, PlannedRows(sync)) }

  init(sync: SyncTransaction, _ rows: PlannedRows) { (self.sync, self.rows) = (sync, rows) }

  /// Returns an operation with the payload that it is about to be sent with. ``Outbox/send(_:)`` stores it.
  ///
  /// A sealed operation is sent as it was sealed. A pending one is sealed now.
  /// - Parameters:
  ///   - circular: references that the payload leaves out, because they form a cycle. They follow in an update.
  ///   - cleared: UNIQUE columns that are NULL in the payload, because their values move in a cycle. They follow in an update.
  /// - Returns: `nil` if nothing has to be sent.
  /// - Throws: ``UnsendableField`` if a value cannot be sent.
  func seal(
    _ queued: QueuedOperation, leavingOut circular: Set<String>, clearing cleared: Set<String>
  ) throws -> Outbox.Sealed? {
    if let payload = queued.payload {
      var operation = try Self.operation(payload)
      operation.idempotencyKey = queued.idempotencyKey
      try Self.noteEarlier(queued, in: &operation)
      return Outbox.Sealed(queued: queued, payload: payload, operation: operation)
    }
    guard let table = catalog.tables[queued.entityType], let record = try rows.record(queued.record) else { return nil }
    if let unsendable = record.unsendable { throw unsendable }
    let base = try base(of: queued)
    guard var operation = try operation(queued, record, base, table, leavingOut: circular, clearing: cleared) else {
      return nil
    }
    let payload = operation.wire.json
    // An operation that may have been executed all the same keeps the key by which the server can tell.
    operation.idempotencyKey = queued.sendCount > 0 ? queued.idempotencyKey : nil
    operation.idempotencyKey = operation.idempotencyKey ?? SyncSettings.newIdentifier(in: connection)
    try Self.noteEarlier(queued, in: &operation)
    return Outbox.Sealed(queued: queued, payload: payload, operation: operation)
  }

  private static func operation(_ payload: String) throws -> PushOperation {
    do throws(SyncModelError) {
      return try PushOperation(json: Array(payload.utf8))
    } catch {
      throw UnsendableField(field: "the payload", reason: "cannot be read: \(error)")
    }
  }

  /// Notes the requests with an operation that may have had an effect.
  private static func noteEarlier(_ queued: QueuedOperation, in operation: inout PushOperation) throws {
    operation.isRepeated = queued.sendCount > 0
    operation.hasOnePayload = queued.payload != nil && queued.sentPayload == nil
    operation.earlierFields = try queued.sentPayload.map { try Self.operation($0).patch.fields }
  }

  /// Returns the operation that a pending operation would be sent as now; `nil` if nothing has to be sent.
  package func preview(_ queued: QueuedOperation) throws -> PushOperation? {
    guard let table = catalog.tables[queued.entityType], let record = try rows.record(queued.record) else { return nil }
    return try operation(queued, record, base(of: queued), table, leavingOut: [])
  }

  /// Returns whether an operation changes nothing but references that are left out of its payload.
  func waits(_ queued: QueuedOperation, leavingOut circular: Set<String>) throws -> Bool {
    guard queued.payload == nil, !circular.isEmpty, let table = catalog.tables[queued.entityType],
      let record = try rows.record(queued.record)
    else { return false }
    let base = try base(of: queued)
    return try operation(queued, record, base, table, leavingOut: circular) == nil
      && operation(queued, record, base, table, leavingOut: []) != nil
  }

  private func base(of queued: QueuedOperation) throws -> RecordState? {
    queued.related.hasBase ? try rows.base(of: queued.record) : nil
  }

  private func operation(
    _ queued: QueuedOperation, _ record: StoredRecord, _ base: RecordState?, _ table: RecordTable,
    leavingOut circular: Set<String>, clearing cleared: Set<String> = []
  ) throws -> PushOperation? {
    // A remote without epochs keeps no deletions, and a restored record is new to it.
    let isRestored = try base?.isOfTombstone == true && rows.epoch(sync) != nil
    if isRestored, record.state.isDeleted { return nil }
    let updatedAt = corrected(record.state.updatedAt)
    var operation = PushOperation(
      operationId: queued.operationId, kind: .create, entityType: queued.entityType, entityUuid: queued.entityUuid,
      baseVersion: 0, schemaVersion: try schemaVersion(of: table), patch: RecordPatch(updatedAt: updatedAt))
    if record.state.syncVersion == 0, record.state.isDeleted, base == nil, queued.kind == .delete {
      // The server lost the record, and another device may still have it.
      (operation.kind, operation.baseEpoch) = (.delete, try rows.epoch(sync))
      operation.patch = RecordPatch(isDeleted: true, updatedAt: updatedAt)
      return operation
    }
    if record.state.syncVersion == 0, !isRestored, base == nil || !record.state.isDeleted {
      // A seed row has a base at version 0. A server that has the seed row merges the operation. Another server stores all of it.
      if let base, base.hasContent(of: record.state) { return nil }
      var fields = record.state.fields
      for name in circular.union(cleared) { fields[name] = .null }
      operation.createdAt = corrected(record.createdAt)
      operation.patch = RecordPatch(
        fields: fields, userEditedFields: table.keepsUserEdits ? record.state.userEditedFields : nil,
        updatedAt: updatedAt)
      operation.base = base?.fields ?? [:]
      // The server lost the record.
      if case .integer(let id)? = record.serverId, try rows.epoch(sync) != nil { operation.serverId = id }
      return operation
    }
    // Without a base every field counts as changed, and the server finds the fields that differ.
    let base =
      base ?? RecordState(fields: [:], syncVersion: record.state.syncVersion, updatedAt: record.state.updatedAt)
    var patch = RecordPatch(from: base, to: record.state)
    // A reference is emptied first, so that the record no longer refers to the one before. A restored record is first
    // restored without the references to records that are restored after it.
    let isRestoration = patch.isDeleted == false
    for name in circular where isRestoration || patch.fields[name] != nil {
      patch.fields[name] = base.fields[name] != .null ? .null : nil
    }
    for name in cleared where base.fields[name] != .null { patch.fields[name] = .null }
    if patch.isEmpty { return nil }
    patch.updatedAt = updatedAt
    operation.kind = patch.isDeleted == true ? .delete : .update
    (operation.baseVersion, operation.baseEpoch) = (base.syncVersion, try rows.epoch(sync))
    operation.createdAt = isRestored ? corrected(record.createdAt) : nil
    operation.patch = patch
    operation.base = base.fields.filter { patch.fields[$0.name] != nil }
    return operation
  }

  /// Returns a time of this device as the server's clock has it, in milliseconds since 1970.
  private func corrected(_ time: Int64) -> Int64 { time + clockOffset }

  private func schemaVersion(of table: RecordTable) throws -> Int64 {
    guard let schema = table.entity.sync?.schemaName else { return 0 }
    return try sync.schemaVersions.version(of: schema, in: connection)
  }
}
