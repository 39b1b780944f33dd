import CipherSQL
import RecordStore
import SyncModel

/// Records that a cascade deleted on this device. The server learns only of the root of the deletion.
extension RemoteChanges {
  /// Returns whether a cascade deleted a record on this device and the server has not acknowledged the deletion of
  /// the root.
  func isTaken(_ key: Int64, _ table: RecordTable) throws -> Bool {
    try connection.fetchOne(
      """
      SELECT 1 FROM SyncCascade
      WHERE entityId = \(key) AND entityType = \(table.entity.type) AND isAnswered = 0
      """, as: Int.self) != nil
  }

  /// Returns whether the server acknowledged a deletion and its own cascade is not known yet.
  package func hasAcknowledgedCascades() throws -> Bool {
    try connection.fetchOne("SELECT 1 FROM SyncCascade WHERE isAnswered = 1 LIMIT 1", as: Int.self) != nil
  }

  /// Restores records that a cascade deleted on this device but not at the server, where another device had moved
  /// them to another parent. Called when the device has pulled everything up to the response.
  package func restoreSurvivingChildren() throws {
    let acknowledged = try connection.fetchRows(
      "SELECT entityType, entityId FROM SyncCascade WHERE isAnswered = 1", as: String.self, Int64.self)
    for (type, key) in acknowledged {
      guard let table = catalog.tables[type] else {
        // Records of tables that are not synced. The server does not know them.
        try connection.execute("DELETE FROM SyncCascade WHERE entityType = \(type) AND entityId = \(key)")
        continue
      }
      if try restoreIfReparented(key, table) { continue }
      // A record that the server never had is deleted with its parent.
      let version = try connection.fetchOne(
        """
        SELECT syncVersion FROM \(identifier: table.entity.table.name)
        WHERE \(identifier: table.entity.key) = \(key)
        """, as: Int64.self)
      if (version ?? 0) == 0 { try noteGone(key, table) }
    }
  }

  /// Forgets the root of a cascaded record, so that it is not restored with its parent.
  func noteGone(_ key: Int64, _ table: RecordTable) throws {
    try connection.execute(
      "DELETE FROM SyncCascade WHERE entityId = \(key) AND entityType = \(table.entity.type)")
  }

  /// Restores a cascaded record and its dependents if it was moved to another parent and no parent is deleted. While
  /// another record on this device has one of its UNIQUE values, it stays deleted, and each round tries again. The
  /// server has the record, so the other record becomes a conflict there, which the user resolves.
  func restoreIfReparented(_ key: Int64, _ table: RecordTable) throws -> Bool {
    for (reference, parent) in try table.parents(of: key, in: connection) where reference.cascades {
      if try catalog.isDeleted(parent, of: reference.parent, in: connection) { return false }
    }
    do {
      try connection.savepoint {
        try noteGone(key, table)
        try connection.execute(
          """
          UPDATE \(identifier: table.entity.table.name) SET isDeleted = 0
          WHERE \(identifier: table.entity.key) = \(key)
          """)
        try queueIfNeverSent(key, table)
      }
    } catch let error as SQLError where error.code == .constraint {
      try connection.execute(
        "UPDATE SyncCascade SET isAnswered = 1 WHERE entityId = \(key) AND entityType = \(table.entity.type)")
      return false
    }
    try restoreDependents(of: key, table)
    return true
  }

  /// Restores the records that were cascaded with a record that is restored.
  func restoreDependents(of key: Int64, _ table: RecordTable) throws {
    for (child, reference) in catalog.children(of: table.entity.type) {
      let taken = try connection.fetch(
        """
        SELECT \(identifier: child.entity.key) FROM \(identifier: child.entity.table.name) AS record
        WHERE \(reference.refers("record", to: key)) AND isDirty = 0 AND EXISTS (SELECT 1 FROM SyncCascade
          WHERE entityId = record.\(identifier: child.entity.key) AND entityType = \(child.entity.type))
        """, as: Int64.self)
      for follower in taken { _ = try restoreIfReparented(follower, child) }
    }
  }

  /// Queues a restored record that the server never had. Its operation was removed with the deletion.
  private func queueIfNeverSent(_ key: Int64, _ table: RecordTable) throws {
    guard let record = try table.find(key: key, in: connection), record.state.syncVersion == 0 else { return }
    let pending = try QueuedOperation.pending(table.entity.type, key, in: connection)
    try outbox.queue(.create, record, table, pending: pending)
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) SET isDirty = 1,
        syncStatus = CASE WHEN EXISTS (SELECT 1 FROM OfflineConflictResolution
          WHERE entityId = \(key) AND entityType = \(table.entity.type) AND resolvedAt IS NULL) THEN 'conflict' ELSE 'pending' END
      WHERE \(identifier: table.entity.key) = \(key)
      """)
  }

  /// Opens conflicts for new records whose parent the server deleted. They are shown and never dropped.
  func openConflictsOfOrphans(of key: Int64, _ type: String, kind: ConflictKind) throws -> Int {
    var count = 0
    for (table, reference) in catalog.children(of: type) {
      var orphans: [StoredRecord] = []
      try table.forEach(
        where: """
          \(reference.refers("record", to: key)) AND record.isDirty = 1 AND record.isDeleted = 0
            AND record.syncVersion = 0 AND record.syncStatus <> 'conflict'
          """, in: connection
      ) { orphans.append($0) }
      for orphan in orphans {
        guard try QueuedOperation.sealed(table.entity.type, orphan.key, in: connection).isEmpty else { continue }
        try conflicts.open(kind, reference.columns, base: nil, remote: nil, orphan, table)
        count += 1
      }
    }
    return count
  }
}
