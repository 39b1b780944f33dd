import CipherSQL
import RecordStore
import SyncModel

extension SyncTransaction {
  /// The most records that one transaction queues as new.
  private static let forgottenAtOnce = 500

  /// Whether the vault was pointed at another server or account, and records are left that are linked to the former one.
  var isForgettingServer: Bool { get throws { try SyncSettings.value(.forgottenRecord, in: connection) != nil } }

  /// Removes the links between some records and a server, and queues these records as new. For a vault that is pointed at
  /// another server or account. The caller also forgets the server's files.
  ///
  /// The other records follow in further transactions, before the vault syncs with any server. The first transaction forgets
  /// the server itself, so that a program that crashes continues at the next contact.
  /// - Returns: whether records are left.
  package func forgetServer() throws -> Bool {
    let place = try SyncSettings.value(.forgottenRecord, in: connection)
    if place == nil { try forgetPositions() }
    var (type, key) = try place.map(Self.record) ?? ("", .min)
    var limit = Self.forgottenAtOnce
    for table in catalog.tables.values.sorted(by: { $0.entity.type < $1.entity.type }) where table.entity.type >= type {
      if table.entity.type > type { (type, key) = (table.entity.type, .min) }
      let found = try connection.fetch(
        """
        SELECT \(identifier: table.entity.key) FROM \(identifier: table.entity.table.name)
        WHERE \(identifier: table.entity.key) > \(key) ORDER BY \(identifier: table.entity.key) LIMIT \(limit)
        """, as: Int64.self)
      let isLast = found.count < limit
      // The last part has the operations without a row as well.
      try forgetServer(of: table, after: key, through: isLast ? .max : found.last ?? .max)
      if !isLast, let last = found.last {
        try SyncSettings.set(.forgottenRecord, SyncValue.array([.text(type), .integer(last)]).json, in: connection)
        return true
      }
      limit -= found.count
    }
    try SyncSettings.set(.forgottenRecord, nil, in: connection)
    return false
  }

  private static func record(_ place: String) throws -> (type: String, key: Int64) {
    guard case .array(let parts) = try SyncValue(parsing: place), parts.count == 2, case .text(let type) = parts[0],
      case .integer(let key) = parts[1]
    else { return ("", .min) }
    return (type, key)
  }

  /// Forgets how far the vault has synced with the server, and its versions that wait.
  private func forgetPositions() throws {
    for table: SQL in ["SyncFetch", "SyncMoved", "SyncCascade", "SyncInbox", "SyncLostProject"] {
      try connection.execute("DELETE FROM \(table)")
    }
    for name in [
      SyncSettings.Name.cursor, .epoch, .isFilled, .serverUuid, .account, .user, .lastReconciliation, .reconcileNext,
      .isComparing, .filesConfirmed, .pause, .heldDeletions, .acceptedDeletions, .lacksEntities,
    ] {
      try SyncSettings.set(name, nil, in: connection)
    }
  }

  /// Queues the records in a range of local ids as new.
  private func forgetServer(of table: RecordTable, after first: Int64, through last: Int64) throws {
    let entity = table.entity
    let type = entity.type
    // Records of an entity without a route for creates belong to the remote, which sends them again.
    let isTaken = try creations()?.contains(type) ?? true
    try outbox.removeUnfinished(ofEntity: type, after: first, through: last)
    try connection.execute(
      """
      UPDATE \(identifier: entity.table.name) SET serverId = NULL, syncVersion = 0, lastSyncedAt = NULL,
        isDirty = CASE WHEN \(isTaken) THEN 1 - isDeleted ELSE 0 END, syncStatus = 'pending'
      WHERE \(identifier: entity.key) > \(first) AND \(identifier: entity.key) <= \(last)
      """)
    try connection.execute(
      "DELETE FROM SyncBase WHERE entityType = \(type) AND entityId > \(first) AND entityId <= \(last)")
    try connection.execute(
      """
      UPDATE OfflineConflictResolution SET resolvedAt = \(WireTime.text(now)), resolution = 'local_wins',
        resolvedBy = 'policy', notes = 'the vault was pointed at another server'
      WHERE resolvedAt IS NULL AND entityType = \(type) AND entityId > \(first) AND entityId <= \(last)
      """)
    if let outbox = OutboxTriggers(entity, in: catalog.entities) {
      try connection.execute(outbox.queueMissing(from: first, through: last))
    }
  }

  /// Returns the entities with a route for creates; `nil` for a FieldVault server, which accepts all entities.
  private func creations() throws -> Set<String>? {
    guard try SyncSettings.value(.remoteRoutes, in: connection) != nil else { return nil }
    return Set(
      try connection.fetch("SELECT entityType FROM SyncRoute WHERE operationType = 'create'", as: String.self))
  }
}
