import CipherSQL
import RecordStore
import SyncModel

/// The results of a comparison of all records.
package struct RepairCounts: Sendable, Equatable {
  /// Records that were fetched because they were missing or different.
  package var fetched = 0
  /// Records that were removed because the server does not have them.
  package var removed = 0
  /// Records with unsent changes that the server no longer has. They became conflicts.
  package var conflicts = 0

  package init() {}

  package var total: Int { fetched + removed + conflicts }
}

extension RemoteChanges {
  /// Applies a version of a record whose content differs although its version number does not.
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
            lastSyncedAt: serverNow), in: connection)
      }
      if remote.state.isDeleted { try noteGone(record.key, table) }
    }
    if isStored { try keepUnknownFields(of: remote, table) }
  }

  /// Removes a record that the server no longer has. A record with unsent changes becomes a conflict. A deletion stays
  /// in the outbox until the server returns that the record does not exist, because the account may have lost its data for a
  /// while.
  package func removeUnknown(_ type: String, _ uuid: String, repaired: inout RepairCounts) throws {
    try forgetKept(type, uuid)
    guard let table = catalog.tables[type], var record = try table.find(uuid, in: connection),
      record.state.syncVersion > 0
    else { return }
    // The server refuses an update of a record that it does not have.
    for operation in try QueuedOperation.sealed(type, record.key, in: connection) {
      try outbox.apply(.reopened, to: operation)
    }
    var state = record.state
    if record.isDirty, state.isDeleted { return }
    if record.isDirty {
      repaired.conflicts += 1
      let base = try BaseTable.find(type, record.key, in: connection)
      try BaseTable.forget(type, record.key, in: connection)
      state.syncVersion = 0
      try table.update(
        record.key, from: record.state, to: state, .init(serverId: nil, isDirty: true, syncStatus: "conflict"),
        in: connection)
      record = try table.find(uuid, in: connection) ?? record
      try conflicts.open(.deletedRemotely, [], base: base, remote: nil, record, table)
      return
    }
    repaired.removed += 1
    try outbox.removeUnfinished(type, record.key)
    try BaseTable.forget(type, record.key, in: connection)
    (state.isDeleted, state.syncVersion) = (true, 0)
    try table.update(
      record.key, from: record.state, to: state, .init(serverId: nil), in: connection)
    _ = try openConflictsOfOrphans(of: record.key, type, kind: .deletedRemotely)
  }
}

extension SyncTransaction {
  /// Returns the number of these records that a comparison would delete: records without unsent changes. A record with
  /// unsent changes becomes a conflict instead.
  package func deletable(_ type: String, _ uuids: [String]) throws -> Int {
    guard let table = catalog.tables[type]?.entity.table.name else { return 0 }
    let list = SyncValue.array(uuids.map { .text($0) }).json
    return try connection.fetchOne(
      """
      SELECT count(*) FROM \(identifier: table)
      WHERE uuid IN (SELECT value FROM json_each(\(list))) AND isDeleted = 0 AND isDirty = 0
      """, as: Int.self) ?? 0
  }

  /// Returns the number of deletions of one comparison that the user has accepted.
  package func acceptedDeletions() throws -> Int {
    try SyncSettings.value(.acceptedDeletions, in: connection).flatMap { Int($0) } ?? 0
  }
}
