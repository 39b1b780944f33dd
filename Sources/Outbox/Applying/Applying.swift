import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// The results of applying versions from the server.
package struct ApplyCounts: Sendable, Equatable {
  /// Records that were inserted or changed.
  package var applied = 0
  package var merged = 0
  package var conflicts = 0
  /// Versions that wait in the inbox.
  package var kept = 0

  package init() {}
}

/// Applies versions of records from the server: one by one, as a page, after a comparison and after a new epoch.
package struct RemoteChanges: SyncComponent {
  let sync: SyncTransaction

  /// Applies a version of a record, or puts it into the inbox.
  package func apply(_ remote: RemoteRecord, counts: inout ApplyCounts) throws {
    guard let table = catalog.tables[remote.entityType] else {
      // No later schema can have such an entity either.
      guard RemoteRecord.isEntityType(remote.entityType) else { return }
      counts.kept += 1
      return try keep(remote, "unknown_entity", waitsFor: nil, detail: "this vault has no table for the entity yet")
    }
    do {
      try apply(remote, to: table, counts: &counts)
    } catch let missing as MissingReferences {
      counts.kept += 1
      try keep(remote, missing)
      try breakCircle(through: remote, counts: &counts)
    }
  }

  private func apply(_ remote: RemoteRecord, to table: RecordTable, counts: inout ApplyCounts) throws {
    guard try table.has(remote.entityUuid, in: connection),
      let record = try table.find(remote.entityUuid, in: connection)
    else {
      return try insert(remote, into: table, counts: &counts)
    }
    if try isOfFormerResource(remote, record) { return try forgetKept(remote.entityType, remote.entityUuid) }
    guard remote.state.syncVersion > record.state.syncVersion else {
      return try forgetKept(remote, upTo: record.state.syncVersion)
    }
    if try !QueuedOperation.sealed(table.entity.type, record.key, in: connection).isEmpty {
      // Only the response tells whether this version includes the operation.
      counts.kept += 1
      return try keep(remote, "in_flight", waitsFor: nil, detail: "an operation of the record waits for its response")
    }
    var rebasing: Rebasing?
    let isStored = try storing(remote, table) {
      if record.isDirty {
        let base = try BaseTable.find(table.entity.type, record.key, in: connection)
        rebasing = try rebase(record, base: base, on: remote, table)
      } else {
        try take(remote, over: record, table)
      }
      if remote.state.isDeleted { try noteGone(record.key, table) }
      try keepUnknownFields(of: remote, table)
    }
    guard isStored else { return counts.kept += 1 }
    try forgetKept(remote, upTo: remote.state.syncVersion)
    counts.applied += 1
    if let rebasing {
      if rebasing == .conflict { counts.conflicts += 1 } else { counts.merged += 1 }
    }
    if remote.state.isDeleted, !record.state.isDeleted {
      counts.conflicts += try openConflictsOfOrphans(of: record.key, table.entity.type, kind: .deletedRemotely)
    }
  }

  private func insert(_ remote: RemoteRecord, into table: RecordTable, counts: inout ApplyCounts) throws {
    func insert() throws {
      try table.insert(
        remote.entityUuid, remote.state,
        .init(serverId: remote.serverId, createdAt: remote.createdAt, lastSyncedAt: serverNow), in: connection)
    }
    do {
      if table.defersForeignKeys { try checked(insert) } else { try insert() }
    } catch let error where remote.state.isDeleted && !inbox.isRestoring && Self.isRefusal(error) {
      // This device has nothing that the deletion concerns.
      return try forgetKept(remote, upTo: remote.state.syncVersion)
    } catch let error as SQLError where error.code == .constraint {
      counts.kept += 1
      try refuse(remote, error, table)
      if error.constraint == .foreignKey { try breakCircle(through: remote, counts: &counts) }
      return
    } catch let error as VaultError where error.code == .badValue {
      counts.kept += 1
      return try keep(remote, "refused", waitsFor: nil, detail: error.message)
    }
    counts.applied += 1
    try keepUnknownFields(of: remote, table)
    // The inbox may have received a newer version since this one was requested.
    try forgetKept(remote, upTo: remote.state.syncVersion)
    try admitWaiting(for: remote.entityUuid, counts: &counts)
  }

  /// Performs changes of one record. Within a set, only the foreign keys of the whole set are checked.
  private func checked(_ body: () throws -> Void) throws { try undoable(isPart: inbox.isStoringSet, body) }

  /// Performs changes that are undone together if one of them fails.
  /// - Parameter isPart: whether the foreign keys are checked later, with those of other changes.
  func undoable(isPart: Bool = false, _ body: () throws -> Void) throws {
    try inbox.undoing {
      if isPart { try connection.savepoint(body) } else { try connection.checkedSavepoint(body) }
    }
  }

  /// Stores a version, or puts it into the inbox if a referenced record is missing or a rule of the table refuses it.
  /// In this case nothing of `body` remains: with a partial version, the next merge would treat old values as new.
  /// - Returns: whether the version was stored.
  func storing(_ remote: RemoteRecord, _ table: RecordTable, _ body: () throws -> Void) throws -> Bool {
    do {
      try checked(body)
    } catch let missing as MissingReferences {
      try keep(remote, missing)
      return false
    } catch let error as SQLError where error.code == .constraint {
      try refuse(remote, error, table)
      return false
    } catch let error as VaultError where error.code == .badValue {
      try keep(remote, "refused", waitsFor: nil, detail: error.message)
      return false
    } catch let unsendable as UnsendableField {
      try keep(
        remote, "refused", waitsFor: nil, detail: "\(unsendable.message), so the two versions cannot be merged")
      return false
    }
    return true
  }

  /// Gives the server's version to a record without local changes.
  private func take(_ remote: RemoteRecord, over record: StoredRecord, _ table: RecordTable) throws {
    var state = remote.state
    let isTaken = try isTaken(record.key, table)
    if isTaken, record.state.syncVersion == 0 { try noteLostValues(of: record, under: remote, table) }
    if isTaken { state.isDeleted = true } else if record.state.isDeleted { try noteGone(record.key, table) }
    try table.update(
      record.key, from: record.state, to: state,
      .init(
        serverId: remote.serverId, createdAt: record.corrected(createdAt: remote.createdAt), lastSyncedAt: serverNow),
      isGone: remote.state.isDeleted, in: connection)
    if !isTaken, record.state.isDeleted, !state.isDeleted { try restoreDependents(of: record.key, table) }
    guard isTaken, !remote.state.isDeleted, try !restoreIfReparented(record.key, table) else { return }
    // A cascade deleted the record on this device, and the server learns of that later.
    try conflicts.noteOverwritten(
      [OverwrittenValue(field: RecordState.deletionField, side: .remote, value: false)], base: record.state,
      local: record.state, remote: remote.state, kind: .deletedLocally, record, table, resolution: "local_wins")
  }

  /// Stores the values of a cascaded record that the server lost, before a version of another device replaces them. If
  /// the deletion is undone, no other row shows the edits that this device had sent.
  private func noteLostValues(of record: StoredRecord, under remote: RemoteRecord, _ table: RecordTable) throws {
    let lost = record.state.fields.members.filter { field in
      field.value != .null && remote.state.fields[field.name] != field.value && !table.rules[field.name].isComputed
    }
    try conflicts.noteOverwritten(
      lost.map { OverwrittenValue(field: $0.name, side: .local, value: $0.value) }, base: nil, local: record.state,
      remote: remote.state, record, table, resolution: "remote_wins")
  }

  /// The result for a record with local changes.
  package enum Rebasing: Sendable { case clean, queued, conflict }

  /// Rebases the changes since `base` on the server's version.
  /// - Throws: ``UnsendableField`` if a value of the record cannot be merged.
  @discardableResult
  func rebase(
    _ record: StoredRecord, base: RecordState?, on remote: RemoteRecord, _ table: RecordTable
  ) throws -> Rebasing {
    let type = table.entity.type
    if let unsendable = record.unsendable { throw unsendable }
    let result = merge(
      base: base, local: record.state, remote: remote.state, rules: table.rules,
      clock: MergeClock(serverNow: serverNow, localOffset: clockOffset))
    if let conflict = result.conflict {
      try conflicts.open(
        conflict.kind, conflict.fields, base: base, remote: remote.state, createdAt: remote.createdAt,
        serverId: remote.serverId, record, table)
      return .conflict
    }
    try conflicts.noteOverwritten(
      result.lost, base: base, local: record.state, remote: remote.state, kind: result.kind ?? .concurrentEdit, record,
      table, resolution: nil)
    try conflicts.close(
      of: record, table, resolution: "merge", by: "policy", note: "merged with the newer version of the server")
    var record = record
    if record.state.isDeleted, !result.merged.isDeleted {
      // The deletion lost, so the record is restored with the records that were cascaded.
      try sync.revive(record, table, towards: result.merged)
      try restoreDependents(of: record.key, table)
      record = try table.find(key: record.key, in: connection) ?? record
    }
    let pending = try QueuedOperation.pending(type, record.key, in: connection)
    let isDone = !result.needsPush
    var newBase = table.base(from: remote.state, over: base)
    if isDone {
      for operation in pending { try outbox.remove(operation) }
      try BaseTable.forget(type, record.key, in: connection)
    } else {
      try BaseTable.set(newBase, type, record.key, keepsUserEdits: table.keepsUserEdits, in: connection)
      try outbox.queue(result.patchToPush.isDeleted == true ? .delete : .update, record, table, pending: pending)
      for operation in pending { try outbox.apply(.conflictResolved, to: operation) }
    }
    var merged = result.merged
    // The times of a merge are the server's. The row keeps the time of this device.
    merged.updatedAt = isDone ? remote.state.updatedAt : record.state.updatedAt
    let kept = try table.update(
      record.key, from: record.state, to: merged,
      .init(
        serverId: remote.serverId ?? record.serverId, createdAt: record.corrected(createdAt: remote.createdAt),
        isDirty: !isDone, syncStatus: isDone ? "synced" : "pending", lastSyncedAt: serverNow),
      isGone: remote.state.isDeleted, in: connection)
    if !isDone, merged.isDeleted, !kept.isEmpty {
      // The row keeps these references and its version, so the edits build on them, and the server merges.
      newBase.syncVersion = record.state.syncVersion
      for name in kept { newBase.fields[name] = record.state.fields[name] }
      try BaseTable.set(newBase, type, record.key, keepsUserEdits: table.keepsUserEdits, in: connection)
    }
    try table.compute(result.fieldsToCompute, ofKey: record.key, in: connection)
    return isDone ? .clean : .queued
  }
}
