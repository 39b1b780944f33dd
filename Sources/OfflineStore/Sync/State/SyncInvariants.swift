import CipherSQL

/// What must hold between records, outbox and conflicts, whatever happened.
struct SyncInvariants {
  let catalog: SyncCatalog
  let connection: Connection

  /// What does not hold, in words, with how many.
  func violations() throws -> [String] {
    var found: [String] = []
    func note(_ count: Int?, _ one: String, _ many: String) {
      guard let count, count > 0 else { return }
      found.append(count == 1 ? "1 \(one)" : "\(count) \(many)")
    }
    for table in catalog.parentsFirst {
      let entity = table.entity
      let operation: SQL = """
        EXISTS (SELECT 1 FROM OfflineSyncQueue WHERE entityType = \(entity.type) AND completedAt IS NULL
          AND entityId = record.\(identifier: entity.key))
        """
      note(
        try connection.fetchOne(
          "SELECT count(*) FROM \(identifier: entity.table.name) AS record WHERE isDirty = 1 AND NOT \(operation)",
          as: Int.self),
        "\(entity.type) has changes and no operation", "records of \(entity.type) have changes and no operation")
      note(
        try connection.fetchOne(
          "SELECT count(*) FROM \(identifier: entity.table.name) AS record WHERE isDirty = 0 AND \(operation)",
          as: Int.self),
        "\(entity.type) has an operation and counts as unchanged",
        "records of \(entity.type) have an operation and count as unchanged")
      note(
        try connection.fetchOne(
          """
          SELECT count(*) FROM OfflineSyncQueue WHERE entityType = \(entity.type) AND completedAt IS NULL
            AND entityId NOT IN (SELECT \(identifier: entity.key) FROM \(identifier: entity.table.name))
          """, as: Int.self),
        "operation is for a \(entity.type) that is not there",
        "operations are for records of \(entity.type) that are not there")
    }
    note(
      try connection.fetchOne(
        "SELECT count(*) FROM OfflineConflictResolution AS conflict WHERE resolvedAt IS NULL AND NOT \(Self.isParked)",
        as: Int.self),
      "open conflict has no operation that waits for it", "open conflicts have no operation that waits for them")
    note(
      try connection.fetchOne(
        "SELECT count(*) FROM OfflineSyncQueue AS operation WHERE status = 'conflict' AND NOT \(Self.isOpen)",
        as: Int.self),
      "operation waits for a conflict that is not there", "operations wait for conflicts that are not there")
    note(
      try connection.fetchOne(
        "SELECT count(*) FROM WriteContext WHERE mode <> 'person' OR cascadeDepth <> 0", as: Int.self),
      "mark of an unfinished write stands in WriteContext", "marks of unfinished writes stand in WriteContext")
    if Self.keepsFiles(catalog) {
      let full = AttachmentContentRow.unqueued(.full), thumbnail = AttachmentContentRow.unqueued(.thumbnail)
      note(
        try connection.fetchOne(
          "SELECT count(*) FROM AttachmentContent AS content WHERE (\(full)) OR (\(thumbnail))", as: Int.self),
        "photo or file is not at the server, and not on its way there",
        "photos or files are not at the server, and not on their way there")
    }
    return found
  }

  private static func keepsFiles(_ catalog: SyncCatalog) -> Bool {
    catalog.entities.catalog.tables.contains { $0.name == "AttachmentTransfer" }
  }

  private static let isParked: SQL = """
    EXISTS (SELECT 1 FROM OfflineSyncQueue AS operation WHERE status = 'conflict'
      AND operation.entityId = conflict.entityId AND operation.entityType = conflict.entityType)
    """
  private static let isOpen: SQL = """
    EXISTS (SELECT 1 FROM OfflineConflictResolution AS conflict WHERE resolvedAt IS NULL
      AND operation.entityId = conflict.entityId AND operation.entityType = conflict.entityType)
    """

  /// Makes them hold again, without giving up a change: what is not known to be at the server is queued.
  static func restore(_ catalog: SyncCatalog, on connection: WriteConnection) throws {
    // An odd mode or depth that somebody has left there would make the triggers do something else.
    try connection.execute("UPDATE WriteContext SET mode = 'person', cascadeDepth = 0")
    try WriteMode.sync(on: connection) { try restoreQueue(catalog, on: connection) }
    if keepsFiles(catalog) { try AttachmentContentRow.queueUploads(of: nil, in: connection) }
  }

  private static func restoreQueue(_ catalog: SyncCatalog, on connection: WriteConnection) throws {
    for table in catalog.parentsFirst {
      let entity = table.entity
      try connection.execute(
        """
        DELETE FROM OfflineSyncQueue WHERE entityType = \(entity.type) AND completedAt IS NULL
          AND entityId NOT IN (SELECT \(identifier: entity.key) FROM \(identifier: entity.table.name))
        """)
      try connection.execute(
        """
        UPDATE \(identifier: entity.table.name) SET isDirty = 1 WHERE isDirty = 0 AND \(identifier: entity.key) IN (
          SELECT entityId FROM OfflineSyncQueue WHERE entityType = \(entity.type) AND completedAt IS NULL)
        """)
      // A record that never left and is deleted has nothing to tell.
      try connection.execute(
        """
        UPDATE \(identifier: entity.table.name) SET isDirty = 0
        WHERE isDirty = 1 AND isDeleted = 1 AND syncVersion = 0 AND \(identifier: entity.key) NOT IN (
          SELECT entityId FROM OfflineSyncQueue WHERE entityType = \(entity.type) AND completedAt IS NULL)
        """)
      if let outbox = OutboxTriggers(entity, in: catalog.entities) { try outbox.queueMissing(on: connection) }
    }
    try connection.execute(
      """
      UPDATE OfflineSyncQueue AS operation SET status = 'pending' WHERE status = 'conflict' AND NOT \(isOpen)
      """)
    try connection.execute(
      """
      UPDATE OfflineConflictResolution AS conflict SET resolvedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
        resolution = 'manual', resolvedBy = 'doctor', notes = 'nothing waited for this conflict any more'
      WHERE resolvedAt IS NULL AND NOT \(isParked)
      """)
  }
}
