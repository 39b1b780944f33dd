import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// Deletions that a REST remote shows by a missing record, because it keeps no deleted records.
extension RemoteChanges {
  /// Applies the deletion of a record and of its dependents. The dependents are restored with the record as long as a
  /// conflict is open.
  package func apply(_ gone: RemoteDeletions, counts: inout ApplyCounts) throws {
    if let root = gone.root { try apply(root, counts: &counts) }
    for follower in gone.followers { try apply(follower, counts: &counts) }
    guard let root = gone.root, let rootTable = catalog.tables[root.entityType],
      let rootKey = try rootTable.find(root.entityUuid, in: connection)?.key
    else { return }
    for follower in gone.followers {
      guard let table = catalog.tables[follower.entityType],
        let record = try table.find(follower.entityUuid, in: connection), record.state.isDeleted, !record.isDirty
      else { continue }
      try noteFollower(record.key, follower.entityType, of: rootKey, root.entityType)
    }
  }

  /// Stores that the remote has deleted a record with its root.
  private func noteFollower(_ key: Int64, _ type: String, of root: Int64, _ rootType: String) throws {
    try connection.execute(
      """
      INSERT INTO SyncCascade (entityType, entityId, rootType, rootId, isGone) VALUES (\(type), \(key), \(rootType), \(root), 1)
      ON CONFLICT (entityId, entityType) DO NOTHING
      """)
  }

  /// Deletes the dependents that were restored with a record of a REST remote, because the user discards the
  /// restoration. They wait for the creation of the record and are not at the remote. Dependents with changes of their
  /// own stay, and their operations show that the record is missing.
  func deleteFollowersAgain(of key: Int64, _ table: RecordTable) throws {
    guard try SyncSettings.value(.remoteRoutes, in: connection) != nil else { return }
    try deleteFollowers(of: key, table, root: key, table.entity.type)
  }

  private func deleteFollowers(of key: Int64, _ table: RecordTable, root: Int64, _ rootType: String) throws {
    for (child, reference) in catalog.children(of: table.entity.type) {
      var followers: [StoredRecord] = []
      try child.forEach(
        where: """
          \(reference.refers("record", to: key)) AND record.isDeleted = 0 AND record.isDirty = 0 AND record.syncVersion > 0
          """, in: connection
      ) { followers.append($0) }
      for follower in followers {
        var state = follower.state
        state.isDeleted = true
        try child.update(
          follower.key, from: follower.state, to: state, .init(serverId: follower.serverId), in: connection)
        try noteFollower(follower.key, child.entity.type, of: root, rootType)
        try deleteFollowers(of: follower.key, child, root: root, rootType)
      }
    }
  }

  /// Queues the dependents of records that were created again at a REST remote as new.
  /// - Returns: the contents of their images, which the server lacks again.
  package func remakeFollowers(of operations: [PushOperation], _ results: [PushResult]) throws -> [String] {
    var contents: [String] = []
    for (operation, result) in zip(operations, results) where operation.patch.isDeleted == false {
      guard case .accepted = result.outcome, let table = catalog.tables[operation.entityType],
        let record = try table.find(operation.entityUuid, in: connection)
      else { continue }
      try remakeFollowers(of: record.key, table, &contents)
    }
    return contents
  }

  private func remakeFollowers(of key: Int64, _ table: RecordTable, _ contents: inout [String]) throws {
    for (child, reference) in catalog.children(of: table.entity.type) {
      var followers: [StoredRecord] = []
      try child.forEach(
        where: """
          \(reference.refers("record", to: key)) AND record.isDeleted = 0 AND record.syncVersion > 0
            AND record.syncStatus <> 'conflict'
          """, in: connection
      ) { followers.append($0) }
      for follower in followers where try !child.isMoved(follower, by: reference, in: connection) {
        try connection.execute(
          """
          UPDATE \(identifier: child.entity.table.name)
          SET serverId = NULL, syncVersion = 0, lastSyncedAt = NULL, isDirty = 1, syncStatus = 'pending'
          WHERE \(identifier: child.entity.key) = \(follower.key)
          """)
        guard let record = try child.find(key: follower.key, in: connection) else { continue }
        try BaseTable.forget(child.entity.type, follower.key, in: connection)
        let pending = try QueuedOperation.pending(child.entity.type, follower.key, in: connection)
        try outbox.queue(.create, record, child, pending: pending)
        if case .text(let content)? = record.state.fields["contentUuid"], AttachmentEntity(child.entity) != nil {
          contents.append(content)
        }
        try remakeFollowers(of: follower.key, child, &contents)
      }
    }
  }

  /// Forgets the roots of the cascaded records of a REST remote when no conflict is open, so that they stay deleted.
  func forgetFollowersOfGone() throws {
    guard try SyncSettings.value(.remoteRoutes, in: connection) != nil,
      try connection.fetchOne(
        "SELECT 1 FROM OfflineConflictResolution WHERE resolvedAt IS NULL LIMIT 1", as: Int.self) == nil
    else { return }
    for table in catalog.tables.values {
      try connection.execute(
        """
        DELETE FROM SyncCascade WHERE rootType = \(table.entity.type) AND rootId IN (
          SELECT \(identifier: table.entity.key) FROM \(identifier: table.entity.table.name)
          WHERE isDeleted = 1 AND isDirty = 0)
        """)
    }
  }
}
