import CipherSQL
import RecordStore
import SyncModel

/// The comparison after the server began a new epoch. Versions of the two epochs cannot be compared, and the server
/// may have lost changes that it had acknowledged.
extension RemoteChanges {
  /// Removes versions from the inbox before a comparison that fetches them again. Of a record that the server no longer
  /// has, the version would otherwise be applied as soon as its obstacle disappears.
  /// - Parameters:
  ///   - limit: the most versions to remove, so that the transaction stays short.
  ///   - isNewEpoch: whether to remove versions of unknown entities as well. No comparison fetches these again, but the
  ///     version numbers of another epoch are useless.
  /// - Returns: whether more versions are left to remove.
  package func emptyInbox(limit: Int, isNewEpoch: Bool) throws -> Bool {
    let removed = try connection.execute(
      """
      DELETE FROM SyncInbox WHERE rowid IN (
        SELECT rowid FROM SyncInbox WHERE \(isNewEpoch) OR reason <> 'unknown_entity' LIMIT \(limit))
      """)
    inbox.noteRemoval()
    return removed == limit
  }

  /// Returns the records with data of the old epoch that a comparison of digests does not find:
  /// - deleted records, which no digest lists
  /// - acknowledged records without a version, because their version waited in the inbox
  /// - restored records, whose base is deleted
  /// - records in conflict, whose remote version is of the old epoch
  package func recordsOfOldEpoch(_ type: String) throws -> [String] {
    guard let entity = catalog.tables[type]?.entity else { return [] }
    return try connection.fetch(
      """
      SELECT uuid FROM \(identifier: entity.table.name) WHERE isDeleted = 1 AND syncVersion > 0
        OR isDeleted = 0 AND isDirty = 0 AND syncVersion = 0 AND lastSyncedAt IS NOT NULL
      UNION SELECT record.uuid FROM SyncBase JOIN \(identifier: entity.table.name) AS record
        ON record.\(identifier: entity.key) = SyncBase.entityId
      WHERE SyncBase.entityType = \(type) AND SyncBase.isDeleted = 1 AND SyncBase.syncVersion > 0
      UNION SELECT entityUuid FROM OfflineConflictResolution
      WHERE entityType = \(type) AND resolvedAt IS NULL AND remoteVersion IS NOT NULL
      """, as: String.self)
  }

  /// Stores the server's version number and id of a record with equal content on both sides. A server that lost the record may
  /// have given it another id.
  package func align(_ type: String, _ digest: RecordDigest) throws {
    guard let table = catalog.tables[type], let record = try table.find(digest.entityUuid, in: connection) else {
      return
    }
    try setVersion(digest.version, of: record, table)
    guard let id = digest.serverId, id != record.serverId else { return }
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) SET serverId = \(id.sqlArgument)
      WHERE \(identifier: table.entity.key) = \(record.key)
      """)
  }

  /// Applies the server's version of a record that differs. A change that the server lost is queued again. If both
  /// sides changed the record, the policy decides without a base.
  package func takeAfterNewEpoch(
    _ remote: RemoteRecord, repaired: inout RepairCounts, counts: inout ApplyCounts
  ) throws {
    repaired.fetched += 1
    guard let table = catalog.tables[remote.entityType], var record = try table.find(remote.entityUuid, in: connection)
    else {
      try apply(remote, counts: &counts)
      return try resendDeletion(of: remote, counts: &counts)
    }
    let type = table.entity.type
    let sealed = try QueuedOperation.sealed(type, record.key, in: connection).first
    var base = try BaseTable.find(type, record.key, in: connection)
    if let sealed {
      if base == nil { base = try created(by: sealed, remote.state) }
      try outbox.apply(.reopened, to: sealed)
    }
    let version = base?.syncVersion ?? record.state.syncVersion
    let isBehind = remote.sharedVersion.map { version <= $0 } ?? false
    let isServerBehind = remote.sharedVersion.map { $0 < version && remote.state.syncVersion == $0 } ?? false
    let isEqual = base?.hasContent(of: remote.state) == true
    var rebasing = Rebasing.clean
    let isStored = try storing(remote, table) {
      // From here on only the server's version counts, even if its number is lower.
      try setVersion(remote.state.syncVersion, of: record, table)
      record = try table.find(key: record.key, in: connection) ?? record
      if isBehind, !record.isDirty {
        try table.update(
          record.key, from: record.state, to: remote.state,
          .init(
            serverId: remote.serverId, createdAt: record.corrected(createdAt: remote.createdAt),
            lastSyncedAt: serverNow), in: connection)
      } else {
        // The base of a record that this device just created is the payload of its create.
        let isKnown = isBehind || version == 0
        rebasing = try rebase(
          record, base: isServerBehind || isEqual ? remote.state : isKnown ? base : nil, on: remote, table)
      }
      if remote.state.isDeleted { try noteGone(record.key, table) }
      try keepUnknownFields(of: remote, table)
    }
    guard isStored else {
      // A resolution must not build on a version that the server lost.
      try conflicts.replaceRemote(ofConflictOf: record, by: remote.state, keepsBase: isBehind, table)
      // The server's version waits in the inbox. Until it is stored, no value of the old epoch may count as one of
      // the new epoch.
      if !isBehind {
        try setVersion(0, of: record, table)
        try BaseTable.forget(type, record.key, .withoutFamily, in: connection)
        // The server may have lost the acknowledged values of this device. Sending them makes the server merge and
        // keep both sides.
        if !record.isDirty, !record.state.isDeleted { try queueAgain(record, .create, table) }
      }
      return counts.kept += 1
    }
    counts.applied += 1
    if rebasing == .conflict { counts.conflicts += 1 }
    if remote.state.isDeleted, !record.state.isDeleted, rebasing == .clean {
      counts.conflicts += try openConflictsOfOrphans(of: record.key, type, kind: .deletedRemotely)
    }
  }

  /// Deletes a record again whose deletion the server had acknowledged and lost. The rows of such records no longer
  /// exist, so only the acknowledged operation shows the deletion. If the record was changed after the restore, the
  /// policy decides between the deletion and the change.
  private func resendDeletion(of remote: RemoteRecord, counts: inout ApplyCounts) throws {
    guard !remote.state.isDeleted, let table = catalog.tables[remote.entityType],
      let time = try outbox.acknowledgedDeletion(remote.entityType, remote.entityUuid),
      let record = try table.find(remote.entityUuid, in: connection), !record.state.isDeleted, !record.isDirty
    else { return }
    do {
      _ = try sync.asUser {
        try connection.execute(
          """
          UPDATE \(identifier: table.entity.table.name) SET isDeleted = 1, updatedAt = \(time)
          WHERE \(identifier: table.entity.key) = \(record.key)
          """)
      }
    } catch let error as SQLError where error.code == .constraint {
      // A record that refers to it through RESTRICT was created since. The conflict table shows the lost deletion.
      return try conflicts.noteOverwritten(
        [OverwrittenValue(field: RecordState.deletionField, side: .local, value: true)], base: nil, local: record.state,
        remote: remote.state, kind: .deletedLocally, record, table, resolution: "remote_wins")
    }
    guard remote.sharedVersion != remote.state.syncVersion,
      let deleted = try table.find(key: record.key, in: connection)
    else { return }
    if try rebase(deleted, base: nil, on: remote, table) == .conflict { counts.conflicts += 1 }
  }

  /// Queues a record that the server lost as new, under its former id. A deleted record is queued as a delete, so that no other
  /// device restores it.
  package func resendAfterNewEpoch(_ type: String, _ uuid: String, repaired: inout RepairCounts) throws {
    guard let table = catalog.tables[type], let record = try table.find(uuid, in: connection) else { return }
    repaired.fetched += 1
    try conflicts.close(
      of: record, table, resolution: "local_wins", by: "policy",
      note: "the server lost the record; the local version wins")
    if record.state.isDeleted, try isTaken(record.key, table) || record.state.syncVersion == 0 && !record.isDirty {
      return try forgetLost(record, table)
    }
    for operation in try QueuedOperation.sealed(type, record.key, in: connection) {
      try outbox.apply(.reopened, to: operation)
    }
    var state = record.state
    state.syncVersion = 0
    try BaseTable.forget(type, record.key, in: connection)
    try table.update(
      record.key, from: record.state, to: state, .init(serverId: state.isDeleted ? nil : record.serverId),
      in: connection)
    try queueAgain(record, state.isDeleted ? .delete : .create, table)
  }

  private func queueAgain(_ record: StoredRecord, _ kind: OperationKind, _ table: RecordTable) throws {
    let type = table.entity.type
    try outbox.queue(kind, record, table, pending: QueuedOperation.pending(type, record.key, in: connection))
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) SET isDirty = 1, syncStatus = 'pending'
      WHERE \(identifier: table.entity.key) = \(record.key)
      """)
    for operation in try QueuedOperation.ofRecord(type, record.key, in: connection) {
      try outbox.apply(.requeued, to: operation)
    }
  }

  /// Forgets a cascaded record that the server lost with the root of its deletion.
  private func forgetLost(_ record: StoredRecord, _ table: RecordTable) throws {
    try outbox.removeUnfinished(table.entity.type, record.key)
    // Another device may send the record again, with new versions.
    var state = record.state
    state.syncVersion = 0
    try table.update(
      record.key, from: record.state, to: state,
      .init(serverId: nil, isDirty: false, syncStatus: "pending"), in: connection)
    // The row stays until the deletion of its root is decided. If the root is restored, the record is sent again.
    try BaseTable.forget(table.entity.type, record.key, .withoutFamily, in: connection)
  }

  /// Ends the comparison: remaining sealed operations become pending, so that their payloads use bases of the new
  /// epoch.
  /// - Parameter limit: the most operations to reopen, so that the transaction stays short.
  /// - Returns: whether more operations are left.
  package func reopenSealed(limit: Int) throws -> Bool {
    let sealed = try QueuedOperation.all(
      where: "payload IS NOT NULL AND completedAt IS NULL LIMIT ?", [.integer(Int64(limit))], in: connection)
    for operation in sealed { try outbox.apply(.reopened, to: operation) }
    return sealed.count == limit
  }

  /// Returns the state that a sealed create gave its record at the server, if the server executed it; `nil` for other
  /// operations.
  ///
  /// Fields without a later edit, whose values differ all the same, are left out: another device has created the record, such as
  /// a copy of this one, or a device that was pointed at another server as well.
  private func created(by sealed: QueuedOperation, _ remote: RecordState) throws -> RecordState? {
    guard let payload = sealed.payload, sealed.kind == .create else { return nil }
    let patch = try PushOperation(json: Array(payload.utf8)).patch
    var created = RecordState(fields: [:], updatedAt: patch.updatedAt).applying(patch)
    created.fields = created.fields.filter { field in
      remote.fields[field.name] == field.value || remote.editTime(of: field.name) > created.editTime(of: field.name)
    }
    return created
  }

  private func setVersion(_ version: Int64, of record: StoredRecord, _ table: RecordTable) throws {
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) SET syncVersion = \(version)
      WHERE \(identifier: table.entity.key) = \(record.key) AND syncVersion <> \(version)
      """)
    try connection.execute(
      """
      UPDATE SyncBase SET syncVersion = \(version)
      WHERE entityId = \(record.key) AND entityType = \(table.entity.type) AND syncVersion <> \(version)
      """)
  }
}
