import CipherSQL
import SyncModel

/// What came of records from the server.
package struct ApplyCounts: Sendable, Equatable {
  /// Records that were new or changed here.
  package var applied = 0
  package var merged = 0
  package var conflicts = 0
  /// Records that cannot be stored yet and are kept.
  package var kept = 0

  package init() {}
}

extension SyncTransaction {
  /// Takes a record from the server.
  package func apply(_ remote: RemoteRecord, counts: inout ApplyCounts) throws {
    guard let table = catalog.tables[remote.entityType] else {
      // No later schema can have such a kind of record either.
      guard RemoteRecord.isEntityType(remote.entityType) else { return }
      counts.kept += 1
      return try keep(remote, "unknown_entity", waitsFor: nil, detail: "this vault has no table for it yet")
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
    guard remote.state.syncVersion > record.state.syncVersion else {
      return try forgetKept(remote, upTo: record.state.syncVersion)
    }
    if try !QueuedOperation.sealed(table.entity.type, record.key, in: connection).isEmpty {
      // Whether the operation is part of this version already only its answer tells.
      counts.kept += 1
      return try keep(remote, "in_flight", waitsFor: nil, detail: "an operation of the record waits for its answer")
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
    do {
      try table.insert(
        remote.entityUuid, remote.state,
        .init(serverId: remote.serverId, createdAt: remote.createdAt, lastSyncedAt: serverNow), references: references,
        in: connection)
    } catch let error as SQLError where error.code == .constraint {
      counts.kept += 1
      return try refuse(remote, error, table)
    } catch let error as VaultError where error.code == .badValue {
      counts.kept += 1
      return try keep(remote, "refused", waitsFor: nil, detail: error.message)
    }
    counts.applied += 1
    try keepUnknownFields(of: remote, table)
    // A newer version may have been kept since this one was asked for.
    try forgetKept(remote, upTo: remote.state.syncVersion)
    try admitWaiting(for: remote.entityUuid, counts: &counts)
  }

  /// Stores a version of the server, or keeps it as it came when a record that it refers to is not here, or one that is
  /// here has its place. Then nothing of `body` is left: half of it would make the next merge take old values for new ones.
  /// - Returns: whether it is stored.
  func storing(_ remote: RemoteRecord, _ table: RecordTable, _ body: () throws -> Void) throws -> Bool {
    do {
      try connection.savepoint(body)
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
        remote, "refused", waitsFor: nil, detail: "\(unsendable.message), so that the two versions cannot be merged")
      return false
    }
    return true
  }

  /// A clean record takes the server's version.
  private func take(_ remote: RemoteRecord, over record: StoredRecord, _ table: RecordTable) throws {
    var state = remote.state
    let isTaken = try isTaken(record.key, table)
    if isTaken { state.isDeleted = true } else if record.state.isDeleted { try noteGone(record.key, table) }
    try table.update(
      record.key, from: record.state, to: state,
      .init(
        serverId: remote.serverId, createdAt: record.corrected(createdAt: remote.createdAt), lastSyncedAt: serverNow),
      references: references, isGone: remote.state.isDeleted, in: connection)
    if !isTaken, record.state.isDeleted, !state.isDeleted { try restoreDependents(of: record.key, table) }
    guard isTaken, !remote.state.isDeleted, try !restoreIfReparented(record.key, table) else { return }
    // It was deleted here with the record that it hangs on, and the server will hear of that.
    try noteLost(
      [OverwrittenValue(field: RecordState.deletionField, side: .remote, value: false)], base: record.state,
      local: record.state, remote: remote.state, kind: .deletedLocally, record, table, resolution: "local_wins")
  }

  /// What happened to a record that has changes of its own.
  package enum Rebasing: Sendable { case clean, queued, conflict }

  /// Puts what was changed here since `base` on top of the server's version.
  /// - Throws: ``UnsendableField`` when a value of the record cannot be merged.
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
      try openConflict(conflict.kind, conflict.fields, base: base, remote: remote.state, record, table)
      return .conflict
    }
    try noteLost(
      result.lost, base: base, local: record.state, remote: remote.state, kind: result.kind ?? .concurrentEdit, record,
      table, resolution: nil)
    try closeConflict(
      of: record, table, resolution: "merge", by: "policy", note: "the server's newer version could be merged")
    var record = record
    if record.state.isDeleted, !result.merged.isDeleted {
      // The deletion has lost, and what it took along comes back with the record.
      try asUser { try revive(record, table) }
      try restoreDependents(of: record.key, table)
      record = try table.find(key: record.key, in: connection) ?? record
    }
    let pending = try QueuedOperation.pending(type, record.key, in: connection)
    let isDone = !result.needsPush
    if isDone {
      for operation in pending { try remove(operation) }
      try BaseTable.forget(type, record.key, in: connection)
    } else {
      try BaseTable.set(
        table.base(from: remote.state, over: base), type, record.key, keepsUserEdits: table.keepsUserEdits,
        in: connection)
      try ensurePending(result.patchToPush.isDeleted == true ? .delete : .update, pending, record, table)
      try connection.execute(
        """
        UPDATE OfflineSyncQueue SET status = 'pending' WHERE entityId = \(record.key) AND entityType = \(type)
          AND payload IS NULL AND completedAt IS NULL AND status = 'conflict'
        """)
    }
    var merged = result.merged
    // The times of a merge are the server's; the row has this device's.
    merged.updatedAt = isDone ? remote.state.updatedAt : record.state.updatedAt
    try table.update(
      record.key, from: record.state, to: merged,
      .init(
        serverId: remote.serverId ?? record.serverId, createdAt: record.corrected(createdAt: remote.createdAt),
        isDirty: !isDone, syncStatus: isDone ? "synced" : "pending", lastSyncedAt: serverNow), references: references,
      isGone: remote.state.isDeleted, in: connection)
    try table.compute(result.fieldsToCompute, ofKey: record.key, in: connection)
    return isDone ? .clean : .queued
  }

  /// Records that were made here under one that is gone at the server: they are shown, never dropped.
  func openConflictsOfOrphans(of key: Int64, _ type: String, kind: ConflictKind) throws -> Int {
    var count = 0
    for (table, column) in catalog.children(of: type) {
      var orphans: [StoredRecord] = []
      try table.forEach(
        where: """
          \(column.refers("record", to: key)) AND record.isDirty = 1 AND record.isDeleted = 0
            AND record.syncVersion = 0 AND record.syncStatus <> 'conflict'
          """, in: connection
      ) { orphans.append($0) }
      for orphan in orphans {
        guard try QueuedOperation.sealed(table.entity.type, orphan.key, in: connection).isEmpty else { continue }
        try openConflict(kind, [column.name], base: nil, remote: nil, orphan, table)
        count += 1
      }
    }
    return count
  }
}
