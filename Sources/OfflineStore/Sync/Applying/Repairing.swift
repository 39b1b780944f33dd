import CipherSQL
import SyncModel

/// What a comparison of all records found and did.
package struct RepairCounts: Sendable, Equatable {
  /// Records that were fetched because they were missing here or different.
  package var fetched = 0
  /// Records that the server does not have and that went here.
  package var removed = 0
  /// Records with unsent changes that the server does not have any more: conflicts.
  package var conflicts = 0

  package init() {}

  package var total: Int { fetched + removed + conflicts }
}

extension SyncTransaction {
  /// Takes a record that differs from the server's although the versions say otherwise.
  package func repair(_ remote: RemoteRecord, repaired: inout RepairCounts, counts: inout ApplyCounts) throws {
    guard let table = catalog.tables[remote.entityType],
      let record = try table.find(remote.entityUuid, in: connection),
      record.state.syncVersion >= remote.state.syncVersion,
      try QueuedOperation.sealed(table.entity.type, record.key, in: connection).isEmpty
    else {
      repaired.fetched += 1
      return try apply(remote, counts: &counts)
    }
    repaired.fetched += 1
    let isStored = try storing(remote, table) {
      if record.isDirty {
        let base = try BaseTable.find(table.entity.type, record.key, in: connection)
        try rebase(record, base: base, on: remote, table)
      } else {
        try table.update(
          record.key, from: record.state, to: remote.state,
          .init(
            serverId: remote.serverId, createdAt: record.corrected(createdAt: remote.createdAt),
            lastSyncedAt: serverNow), references: references, in: connection)
      }
      if remote.state.isDeleted { try noteGone(record.key, table) }
    }
    if isStored { try keepUnknownFields(of: remote, table) }
  }

  /// The server does not have a record that it is known to have had.
  package func removeUnknown(_ type: String, _ uuid: String, repaired: inout RepairCounts) throws {
    guard let table = catalog.tables[type], var record = try table.find(uuid, in: connection),
      record.state.syncVersion > 0, try QueuedOperation.sealed(type, record.key, in: connection).isEmpty
    else { return }
    var state = record.state
    if record.isDirty, !state.isDeleted {
      repaired.conflicts += 1
      let base = try BaseTable.find(type, record.key, in: connection)
      try BaseTable.forget(type, record.key, in: connection)
      state.syncVersion = 0
      try table.update(
        record.key, from: record.state, to: state, .init(serverId: nil, isDirty: true, syncStatus: "conflict"),
        references: references, in: connection)
      record = try table.find(uuid, in: connection) ?? record
      try openConflict(.deletedRemotely, [], base: base, remote: nil, record, table)
      return
    }
    repaired.removed += 1
    try forgetOperations(of: record, table)
    try BaseTable.forget(type, record.key, in: connection)
    state.isDeleted = true
    try table.update(
      record.key, from: record.state, to: state, .init(serverId: record.serverId), references: references,
      in: connection)
    _ = try openConflictsOfOrphans(of: record.key, type, kind: .deletedRemotely)
  }

  /// Forgets what ties the records to a server: they are queued as new. For a vault that is pointed at another server or
  /// account.
  package func forgetServer() throws {
    let takes = try creations()
    for table in catalog.tables.values {
      let entity = table.entity
      let type = entity.type
      try connection.execute("DELETE FROM OfflineSyncQueue WHERE entityType = \(type) AND completedAt IS NULL")
      // What an API takes no new ones of is its own: it comes from there.
      let isTaken = takes?.contains(type) ?? true
      try connection.execute(
        """
        UPDATE \(identifier: entity.table.name) SET serverId = NULL, syncVersion = 0, lastSyncedAt = NULL,
          isDirty = CASE WHEN \(isTaken) THEN 1 - isDeleted ELSE 0 END, syncStatus = 'pending'
        """)
      if let outbox = OutboxTriggers(entity, in: catalog.entities) { try outbox.queueMissing(on: connection) }
    }
    try connection.execute("DELETE FROM SyncFetch")
    try connection.execute("DELETE FROM SyncBase")
    try connection.execute("DELETE FROM SyncMoved")
    try connection.execute("DELETE FROM SyncCascade")
    try connection.execute("DELETE FROM SyncInbox")
    try connection.execute(
      """
      UPDATE OfflineConflictResolution SET resolvedAt = \(WireTime.text(now)), resolution = 'local_wins',
        resolvedBy = 'policy', notes = 'the vault was pointed at another server' WHERE resolvedAt IS NULL
      """)
    try forgetServersFiles()
    for name in [
      SyncSettings.Name.cursor, .epoch, .isFilled, .serverUuid, .account, .user, .lastReconciliation, .filesConfirmed,
      .pause, .heldDeletions, .acceptedDeletions,
    ] {
      try SyncSettings.set(name, nil, in: connection)
    }
  }
  /// The entities of which an API takes new records; nil for a FieldVault server, which takes all.
  private func creations() throws -> Set<String>? {
    guard try SyncSettings.value(.remoteRoutes, in: connection) != nil else { return nil }
    return Set(
      try connection.fetch("SELECT entityType FROM SyncRoute WHERE operationType = 'create'", as: String.self))
  }
}
