import CipherSQL
import SyncModel

extension SyncTransaction {
  /// Removes all links between records and a server, and queues the records as new. For a vault that is pointed at
  /// another server or account. The caller also forgets the server's files.
  package func forgetServer() throws {
    let takes = try creations()
    for table in catalog.tables.values {
      let entity = table.entity
      let type = entity.type
      try outbox.removeUnfinished(ofEntity: type)
      // Records of an entity without a route for creates belong to the remote, which sends them again.
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
    for name in [
      SyncSettings.Name.cursor, .epoch, .isFilled, .serverUuid, .account, .user, .lastReconciliation, .reconcileNext,
      .filesConfirmed, .pause, .heldDeletions, .acceptedDeletions,
    ] {
      try SyncSettings.set(name, nil, in: connection)
    }
  }
  /// Returns the entities with a route for creates; `nil` for a FieldVault server, which accepts all entities.
  private func creations() throws -> Set<String>? {
    guard try SyncSettings.value(.remoteRoutes, in: connection) != nil else { return nil }
    return Set(
      try connection.fetch("SELECT entityType FROM SyncRoute WHERE operationType = 'create'", as: String.self))
  }
}
