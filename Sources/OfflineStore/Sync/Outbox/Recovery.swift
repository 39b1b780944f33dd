import CipherSQL
import SyncModel

extension SyncTransaction {
  /// Operations that were under way when a worker died are pending again, under the same id and with the same content: the
  /// server answers again what it answered, or takes them now.
  package func recover() throws {
    let interrupted = try QueuedOperation.all(where: "status = 'processing'", [], in: connection)
    for operation in interrupted { try release(operation) }
    try connection.execute("UPDATE SyncRun SET outcome = 'interrupted' WHERE outcome = 'running'")
  }

  /// Operations that may have been sent and have no answer wait for the next round, without having lost an attempt.
  /// - Parameter wasSent: false when nothing of them has left this device for certain.
  package func release(_ operationIds: [String], wasSent: Bool = true) throws {
    for id in operationIds {
      let operations = try QueuedOperation.all(
        where: "operationId = ? AND status = 'processing'", [.text(id)], in: connection)
      for operation in operations {
        try release(operation)
        if !wasSent { try takeBack(operation) }
      }
    }
  }

  /// What has never left this device grows again, together with what follows it already: otherwise it could go before
  /// something that only it still refers to. Deletions stay as they are; what they took along is noted beside them.
  private func takeBack(_ operation: QueuedOperation) throws {
    let isAlive = try catalog.tables[operation.entityType]?
      .find(key: operation.entityId, in: connection).map { !$0.state.isDeleted }
    guard operation.sendCount <= 1, operation.kind != .delete, isAlive == true else {
      try connection.execute(
        "UPDATE OfflineSyncQueue SET sendCount = max(sendCount - 1, 0) WHERE queueNumber = \(operation.number)")
      return
    }
    for follower in try QueuedOperation.pending(operation.entityType, operation.entityId, in: connection) {
      try remove(follower)
    }
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET sendCount = 0, payload = NULL, idempotencyKey = NULL, lastAttemptAt = NULL
      WHERE queueNumber = \(operation.number)
      """)
  }

  private func release(_ operation: QueuedOperation) throws {
    try connection.execute(
      "UPDATE OfflineSyncQueue SET status = 'pending' WHERE queueNumber = \(operation.number)")
    try setStatus("pending", operation)
  }

  /// Forgets completed operations that are older than a time.
  /// - Parameter limit: how many at most, so that the transaction stays short.
  /// - Returns: how many.
  @discardableResult
  package func forgetCompleted(before time: Int64, limit: Int) throws -> Int {
    try connection.execute(
      """
      DELETE FROM OfflineSyncQueue WHERE queueNumber IN (
        SELECT queueNumber FROM OfflineSyncQueue WHERE completedAt IS NOT NULL AND completedAt < \(WireTime.text(time))
        ORDER BY completedAt LIMIT \(limit))
      """)
    let forgotten = connection.changedRowCount
    try connection.execute(
      "DELETE FROM SyncRun WHERE endedAt < \(WireTime.text(time - 23 * 86_400_000))")
    return forgotten
  }

  /// A record whose version is known here while an older one is kept: without the row, the old one would come in as new.
  private static let isNotKept = "uuid NOT IN (SELECT entityUuid FROM SyncInbox)"

  /// What a base or the server's side of an open conflict refers to stays as long as a person may go back to that.
  private static let isNotRemembered = """
    uuid NOT IN (
      SELECT field.value FROM SyncBase JOIN json_each(SyncBase.fields) AS field WHERE field.type = 'text'
      UNION ALL SELECT field.value FROM OfflineConflictResolution AS conflict
        JOIN json_each(conflict.remoteVersion) AS field WHERE conflict.resolvedAt IS NULL AND field.type = 'text')
    """

  /// Removes records whose deletion the server has, or that it never had. One that something still refers to stays, marked.
  /// - Returns: how many were removed.
  package func purgeDeleted(limit: Int) throws -> Int {
    try WriteMode.purge(on: connection) { try removeDeleted(limit: limit) }
  }

  private func removeDeleted(limit: Int) throws -> Int {
    var removed = 0
    for table in catalog.childrenFirst where removed < limit {
      let entity = table.entity
      // Most rounds find no such record, and SQLite compiles all triggers of a table with a DELETE.
      let keys = try connection.fetch(
        """
        SELECT \(identifier: entity.key) FROM \(identifier: entity.table.name) AS record
        WHERE \(raw: isPurgeable(entity)) LIMIT \(limit - removed)
        """, as: Int64.self)
      for key in keys {
        try connection.execute(
          "DELETE FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key)")
      }
      removed += keys.count
    }
    return removed
  }

  /// Removes one such record.
  /// - Returns: false when it stays.
  func purgeDeleted(_ uuid: String, of table: RecordTable) throws -> Bool {
    let name = table.entity.table.name
    return try WriteMode.purge(on: connection) {
      try connection.execute(
        """
        DELETE FROM \(identifier: name) WHERE \(identifier: table.entity.key) IN (
          SELECT \(identifier: table.entity.key) FROM \(identifier: name) AS record
          WHERE uuid = \(uuid) AND \(raw: isPurgeable(table.entity)))
        """)
      return connection.changedRowCount > 0
    }
  }

  private func isPurgeable(_ entity: Entity) -> String {
    let referring = catalog.entities.dependencies(on: entity).map { dependency in
      """
      NOT EXISTS (SELECT 1 FROM \(SQL.quoted(dependency.child.table.name)) AS other
        WHERE \(dependency.isReferring(child: "other", parent: "record")))
      """
    }
    let conditions =
      [
        "isDeleted = 1", "isDirty = 0",
        "NOT EXISTS (SELECT 1 FROM SyncCascade WHERE entityId = record.\(SQL.quoted(entity.key)) AND entityType = '\(entity.type.replacingQuotes)')",
      ] + referring + [Self.isNotKept, Self.isNotRemembered]
    return conditions.joined(separator: " AND ")
  }
}

extension SyncCatalog {
  /// The entities in an order in which each comes before those that it refers to.
  var childrenFirst: [RecordTable] { parentsFirst.reversed() }

  /// The entities in an order in which each comes behind those that it refers to, as far as they do not go in a circle.
  package var parentsFirst: [RecordTable] {
    var order: [RecordTable] = []
    var seen: Set<String> = []
    func visit(_ type: String) {
      guard seen.insert(type).inserted, let table = tables[type] else { return }
      for column in table.columns { if let parent = column.reference?.entityType { visit(parent) } }
      order.append(table)
    }
    for type in tables.keys.sorted() { visit(type) }
    return order
  }
}
