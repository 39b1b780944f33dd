import CipherSQL
import RecordStore
import SchemaModel

extension SyncTransaction {
  /// Keeps a row while the inbox has a version of it. Without the row, an older version from the inbox would be inserted as new.
  private static let isNotKept = "uuid NOT IN (SELECT entityUuid FROM SyncInbox)"

  /// Keeps records that a base or the remote version of an open conflict references, because the user may return to that version.
  private static let isNotRemembered = """
    uuid NOT IN (
      SELECT field.value FROM SyncBase JOIN json_each(SyncBase.fields) AS field WHERE field.type = 'text'
      UNION ALL SELECT field.value FROM OfflineConflictResolution AS conflict
        JOIN json_each(conflict.remoteVersion) AS field WHERE conflict.resolvedAt IS NULL AND field.type = 'text')
    """

  /// Removes the rows of deleted records whose deletion the server acknowledged, or that it never had. Rows that are still referenced stay.
  /// - Returns: the number of removed rows.
  package func purgeDeleted(limit: Int) throws -> Int {
    try WriteMode.purge(on: connection) { try removeDeleted(limit: limit) }
  }

  private func removeDeleted(limit: Int) throws -> Int {
    var removed = 0
    for table in catalog.childrenFirst where removed < limit {
      let entity = table.entity
      // A query first, because most rounds find no such record and SQLite compiles all triggers of a table with a DELETE.
      let keys = try connection.fetch(
        """
        SELECT \(identifier: entity.key) FROM \(identifier: entity.table.name) AS record
        WHERE \(raw: isPurgeable(entity)) LIMIT \(limit - removed)
        """, as: Int64.self)
      for key in keys { try remove(key, entity) }
      removed += keys.count
    }
    return try removed < limit ? removed + removeCycles(limit: limit - removed) : removed
  }

  /// Removes the row of one deleted record.
  /// - Returns: `false` if the row has to stay.
  package func purgeDeleted(_ uuid: String, of table: RecordTable) throws -> Bool {
    let entity = table.entity
    return try WriteMode.purge(on: connection) {
      let key = try connection.fetchOne(
        """
        SELECT \(identifier: entity.key) FROM \(identifier: entity.table.name) AS record
        WHERE uuid = \(uuid) AND \(raw: isRemovable(entity))
        """, as: Int64.self)
      guard let key else { return false }
      let isReferenced = try connection.fetchOne(
        """
        SELECT 1 FROM \(identifier: entity.table.name) AS record
        WHERE \(identifier: entity.key) = \(key) AND NOT (\(raw: isUnreferenced(entity)))
        """, as: Int.self)
      if isReferenced != nil { return try removeCycle(of: key, entity) > 0 || removeFromDeleted(key, entity) }
      try remove(key, entity)
      return true
    }
  }

  func remove(_ key: Int64, _ entity: Entity) throws {
    // Records that were deleted with one that the server never had are as good as deleted on their own.
    try connection.execute(
      """
      DELETE FROM SyncCascade WHERE rootId = \(key) AND rootType = \(entity.type) AND isAnswered = 0 AND EXISTS (
        SELECT 1 FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key) AND syncVersion = 0)
      """)
    try connection.execute(
      "DELETE FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key)")
    try connection.execute("DELETE FROM SyncCascade WHERE entityType = \(entity.type) AND entityId = \(key)")
    // A clean record has a base if a value by which it references another record has changed. Another record may get the
    // row.
    try BaseTable.forget(entity.type, key, in: connection)
  }

  /// The condition that the root of an entity's cascade was deleted before it was sent. The server never acknowledges such
  /// a deletion.
  private func isWithoutServer(_ entity: Entity) -> String {
    let roots = (catalog.cascadeRoots[entity.type] ?? []).map { root in
      """
      cascaded.rootType = '\(root.type.replacingQuotes)' AND EXISTS (SELECT 1 FROM \(SQL.quoted(root.table.name)) AS root
        WHERE root.\(SQL.quoted(root.key)) = cascaded.rootId AND root.isDeleted = 1 AND root.isDirty = 0 AND root.syncVersion = 0)
      """
    }
    return roots.isEmpty ? "0" : roots.joined(separator: " OR ")
  }

  private func isPurgeable(_ entity: Entity) -> String { "\(isRemovable(entity)) AND \(isUnreferenced(entity))" }

  /// The condition that no row references a record.
  private func isUnreferenced(_ entity: Entity) -> String {
    let referring = catalog.entities.dependencies(on: entity).map { dependency in
      """
      NOT EXISTS (SELECT 1 FROM \(SQL.quoted(dependency.child.table.name)) AS other
        WHERE \(dependency.isReferring(child: "other", parent: "record")))
      """
    }
    return referring.isEmpty ? "1" : referring.joined(separator: " AND ")
  }

  /// The condition that nothing but rows that reference a deleted record keeps its row.
  func isRemovable(_ entity: Entity) -> String { "\(isDeletedForGood(entity)) AND \(Self.isNotRemembered)" }

  /// Returns whether no response and no version that waits can restore a deleted record.
  func isDeletedForGood(_ uuid: String, _ entity: Entity) throws -> Bool {
    try connection.fetchOne(
      """
      SELECT 1 FROM \(identifier: entity.table.name) AS record WHERE uuid = \(uuid) AND \(raw: isDeletedForGood(entity))
      """, as: Int.self) != nil
  }

  private func isDeletedForGood(_ entity: Entity) -> String {
    let conditions = [
      "isDeleted = 1", "isDirty = 0",
      """
      NOT EXISTS (SELECT 1 FROM SyncCascade AS cascaded WHERE entityId = record.\(SQL.quoted(entity.key))
        AND entityType = '\(entity.type.replacingQuotes)' AND NOT (isAnswered = 0 AND (\(isWithoutServer(entity)))))
      """, Self.isNotKept,
    ]
    return conditions.joined(separator: " AND ")
  }
}
