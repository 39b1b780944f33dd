import CipherSQL
import SyncModel

/// Records that a deletion took along here, and that the server is not told of one by one.
extension SyncTransaction {
  /// Whether a record is deleted here with another one, and the server has not answered to that one's deletion.
  func isTaken(_ key: Int64, _ table: RecordTable) throws -> Bool {
    try connection.fetchOne(
      """
      SELECT 1 FROM SyncCascade
      WHERE entityId = \(key) AND entityType = \(table.entity.type) AND isAnswered = 0
      """, as: Int.self) != nil
  }

  /// Whether something was deleted along here, and it is not known yet whether the server has deleted it, too.
  package func hasAnsweredCascades() throws -> Bool {
    try connection.fetchOne("SELECT 1 FROM SyncCascade WHERE isAnswered = 1 LIMIT 1", as: Int.self) != nil
  }

  /// Brings back what a deletion took along here and not at the server, where somebody had moved it away. To be called when
  /// all that the server had after its answer has come.
  package func restoreSurvivingChildren() throws {
    let answered = try connection.fetchRows(
      "SELECT entityType, entityId FROM SyncCascade WHERE isAnswered = 1", as: String.self, Int64.self)
    for (type, key) in answered {
      guard let table = catalog.tables[type] else {
        // Records that are not synced: the server has nothing to say about them.
        try connection.execute("DELETE FROM SyncCascade WHERE entityType = \(type) AND entityId = \(key)")
        continue
      }
      if try restoreIfReparented(key, table) { continue }
      // What the server never had is gone with what it hangs on.
      let version = try connection.fetchOne(
        """
        SELECT syncVersion FROM \(identifier: table.entity.table.name)
        WHERE \(identifier: table.entity.key) = \(key)
        """, as: Int64.self)
      if (version ?? 0) == 0 { try noteGone(key, table) }
    }
  }

  /// A record is not only taken along here any more: it does not come back with its parent.
  func noteGone(_ key: Int64, _ table: RecordTable) throws {
    try connection.execute(
      "DELETE FROM SyncCascade WHERE entityId = \(key) AND entityType = \(table.entity.type)")
  }

  /// Brings a record back, with what hangs on it, when nothing that it hangs on is deleted any more: it was moved away from
  /// what was deleted here. While another record here has its place it stays deleted, and is looked at again with each
  /// round: the server has it, so that the other one is not there, and a person decides about that.
  func restoreIfReparented(_ key: Int64, _ table: RecordTable) throws -> Bool {
    for column in table.columns {
      guard let reference = column.reference, reference.cascades else { continue }
      let parent = try connection.fetchOne(
        """
        SELECT parent.isDeleted FROM \(identifier: table.entity.table.name) AS record
        JOIN \(identifier: reference.table) AS parent
          ON parent.\(identifier: reference.key) = record.\(identifier: column.name)
        WHERE record.\(identifier: table.entity.key) = \(key)
        """, as: Bool.self)
      if parent == true { return false }
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

  /// Brings back what was taken along with a record that is back.
  func restoreDependents(of key: Int64, _ table: RecordTable) throws {
    for (child, column) in catalog.children(of: table.entity.type) {
      let taken = try connection.fetch(
        """
        SELECT \(identifier: child.entity.key) FROM \(identifier: child.entity.table.name) AS record
        WHERE \(column.refers("record", to: key)) AND isDirty = 0 AND EXISTS (SELECT 1 FROM SyncCascade
          WHERE entityId = record.\(identifier: child.entity.key) AND entityType = \(child.entity.type))
        """, as: Int64.self)
      for follower in taken { _ = try restoreIfReparented(follower, child) }
    }
  }

  /// A record that was made here under what was deleted has lost its operation with that.
  private func queueIfNeverSent(_ key: Int64, _ table: RecordTable) throws {
    guard let record = try table.find(key: key, in: connection), record.state.syncVersion == 0 else { return }
    try ensurePending(
      .create, QueuedOperation.pending(table.entity.type, key, in: connection), record, table)
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) SET isDirty = 1,
        syncStatus = CASE WHEN EXISTS (SELECT 1 FROM OfflineConflictResolution
          WHERE entityId = \(key) AND entityType = \(table.entity.type) AND resolvedAt IS NULL) THEN 'conflict' ELSE 'pending' END
      WHERE \(identifier: table.entity.key) = \(key)
      """)
  }
}
