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
    for follower in gone.followers where try !waitsForDeletion(follower) { try apply(follower, counts: &counts) }
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

  /// Returns whether the user has deleted a record and the deletion waits to be sent. That the remote has deleted the record is only
  /// assumed, from a missing parent. The response to its own deletion is proof.
  private func waitsForDeletion(_ remote: RemoteRecord) throws -> Bool {
    guard let table = catalog.tables[remote.entityType], let record = try table.find(remote.entityUuid, in: connection),
      record.state.isDeleted
    else { return false }
    return try !QueuedOperation.pending(remote.entityType, record.key, in: connection).isEmpty
  }

  /// Applies a version of the inbox as a deleted one if a REST remote has deleted the record with its parent since. The
  /// remote does not report the deletion of a record that the device does not have.
  /// - Returns: `false` for other versions, which were not applied.
  func applyGone(_ remote: RemoteRecord, counts: inout ApplyCounts) throws -> Bool {
    guard !remote.state.isDeleted, let table = catalog.tables[remote.entityType],
      try !table.has(remote.entityUuid, in: connection), let root = try deletedParent(of: remote.state, table)
    else { return false }
    var deleted = remote
    deleted.state.isDeleted = true
    try apply(deleted, counts: &counts)
    if let record = try table.find(remote.entityUuid, in: connection) {
      try noteFollower(record.key, remote.entityType, of: root.key, root.type)
    }
    return true
  }

  /// Returns whether a version is one of the resource that a REST remote had in place of the record, before the user restored the
  /// record and the remote created it again.
  func isOfFormerResource(_ remote: RemoteRecord, _ record: StoredRecord) throws -> Bool {
    guard let id = record.serverId, let former = remote.serverId, former != id else { return false }
    return try SyncSettings.value(.remoteRoutes, in: connection) != nil
  }

  /// Stores that the remote has deleted a record with its root.
  ///
  /// A REST remote never restores the record. A server restores it with the root. The server's version of a record that
  /// another device has moved to another root follows, as after any acknowledged deletion.
  func noteFollower(_ key: Int64, _ type: String, of root: Int64, _ rootType: String) throws {
    let isGone = try SyncSettings.value(.remoteRoutes, in: connection) != nil
    try connection.execute(
      """
      INSERT INTO SyncCascade (entityType, entityId, rootType, rootId, isAnswered, isGone)
      VALUES (\(type), \(key), \(rootType), \(root), \(!isGone), \(isGone))
      ON CONFLICT (entityId, entityType) DO NOTHING
      """)
  }

  /// Returns the record with which a REST remote has deleted another one: a parent of its base that is deleted there. The
  /// remote does not report the deletion of a record that the user has moved to another parent.
  func deletedParent(of base: RecordState, _ table: RecordTable) throws -> (key: Int64, type: String)? {
    guard try SyncSettings.value(.remoteRoutes, in: connection) != nil else { return nil }
    for reference in table.keys where reference.cascades {
      let type = reference.parent.type
      guard let parents = catalog.tables[type], let key = try table.parent(by: reference, in: base.fields, connection),
        let parent = try parents.find(key: key, in: connection)
      else { continue }
      let conflict = try OpenConflict.find(of: parent, type, in: connection)
      if try conflict?.remote?.isDeleted == true
        || parent.state.isDeleted && !parent.isDirty && !hasUnsentRoot(key, parents)
      {
        return (key, type)
      }
    }
    return nil
  }

  /// Returns whether a cascade deleted a record on this device only.
  private func hasUnsentRoot(_ key: Int64, _ table: RecordTable) throws -> Bool {
    try connection.fetchOne(
      """
      SELECT 1 FROM SyncCascade
      WHERE entityId = \(key) AND entityType = \(table.entity.type) AND isAnswered = 0 AND isGone = 0
      """, as: Int.self) != nil
  }

  /// Deletes the dependents that were restored with a record, because the user discards the restoration. The remote has
  /// deleted them with the record. Dependents with changes of their own stay, and their operations show that the record
  /// is missing.
  func deleteFollowersAgain(of key: Int64, _ table: RecordTable) throws {
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
        // The version is one of the former resource.
        try forgetKept(child.entity.type, record.uuid)
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
