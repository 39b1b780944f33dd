import CipherSQL
import SyncModel
import VaultStore

/// Statement 2 in one vault: a dirty record has exactly one way to become clean.
struct StoreCheck {
  let device: any WatchedDevice
  let connection: Connection

  /// - Parameter isQuiet: whether nothing may be under way.
  func check(isQuiet: Bool) throws {
    var problems: [String] = []
    for kind in device.vault.entities.all where kind.sync != nil {
      problems += try records(kind)
    }
    problems += try operations(isQuiet: isQuiet)
    problems += try VaultInvariants.violations(device.vault.syncCatalog, in: connection).map { "doctor: \($0)" }
    guard problems.isEmpty else {
      throw Violation(2, ["on \(device.name)\(isQuiet ? "" : ", right after its process was gone"):"] + problems)
    }
  }

  private func records(_ entity: Entity) throws -> [String] {
    let own = "entityId = record.\(SQL.quoted(entity.key)) AND entityType = '\(entity.type.replacing("'", with: "''"))'"
    let hasOperation = "EXISTS (SELECT 1 FROM OfflineSyncQueue WHERE \(own) AND completedAt IS NULL)"
    let hasConflict = "EXISTS (SELECT 1 FROM OfflineConflictResolution WHERE \(own) AND resolvedAt IS NULL)"
    let hasContested =
      "EXISTS (SELECT 1 FROM OfflineSyncQueue WHERE \(own) AND completedAt IS NULL AND status = 'conflict')"
    // OR IGNORE leaves the base of a record that did not change. It is valid until the record has another version.
    let besidesIgnored = device.workload.writesOrIgnore ? " AND syncVersion > record.syncVersion" : ""
    let rules = [
      ("is dirty and has neither operation nor conflict", "isDirty = 1 AND NOT \(hasOperation) AND NOT \(hasConflict)"),
      ("is clean and has an operation", "isDirty = 0 AND \(hasOperation)"),
      ("is clean and has an open conflict", "isDirty = 0 AND \(hasConflict)"),
      ("has an open conflict and no contested operation", "\(hasConflict) AND NOT \(hasContested)"),
      ("has a contested operation and no open conflict", "\(hasContested) AND NOT \(hasConflict)"),
      ("says conflict and has none", "syncStatus = 'conflict' AND NOT \(hasConflict)"),
      ("has an open conflict and does not say so", "syncStatus <> 'conflict' AND \(hasConflict)"),
      ("is clean and has a base", "isDirty = 0 AND EXISTS (SELECT 1 FROM SyncBase WHERE \(own)\(besidesIgnored))"),
      ("is dirty and says synced", "isDirty = 1 AND syncStatus = 'synced'"),
      (
        "is known to the server, dirty, and has no base",
        "isDirty = 1 AND syncVersion > 0 AND NOT \(hasConflict) AND NOT EXISTS (SELECT 1 FROM SyncBase WHERE \(own))"
      ),
    ]
    return try rules.flatMap { words, condition in
      try connection.fetch(
        SQL(raw: "SELECT uuid FROM \(SQL.quoted(entity.table.name)) AS record WHERE \(condition)"), as: String.self
      ).map { "\(entity.type) \($0) \(words)" }
    }
  }

  private func operations(isQuiet: Bool) throws -> [String] {
    var problems: [String] = []
    func look(_ words: String, _ condition: String) throws {
      problems += try connection.fetch(
        SQL(raw: "SELECT entityType || ' ' || entityUuid FROM OfflineSyncQueue AS queue WHERE \(condition)"),
        as: String.self
      ).map { "\($0) \(words)" }
    }
    let same = "other.entityId = queue.entityId AND other.entityType = queue.entityType AND other.completedAt IS NULL"
    try look(
      "has two operations of one sort",
      """
      completedAt IS NULL AND EXISTS (SELECT 1 FROM OfflineSyncQueue AS other WHERE \(same)
        AND other.queueNumber > queue.queueNumber AND (other.payload IS NULL) = (queue.payload IS NULL))
      """)
    guard isQuiet else { return problems }
    try look("is still being sent", "status = 'processing'")
    return problems
  }

  /// Statement 5: an operation that has not reached the server waits for the user, or for another operation that
  /// does.
  func checkEnd() throws {
    let waiting = try connection.fetch(
      """
      SELECT entityType || ' ' || entityUuid || ' ' || operationType FROM OfflineSyncQueue
      WHERE completedAt IS NULL AND status = 'pending' AND NOT EXISTS (
        SELECT 1 FROM OfflineSyncQueue AS blocker WHERE blocker.queueNumber = OfflineSyncQueue.parkedBehind
          AND blocker.completedAt IS NULL)
      """, as: String.self)
    for (type, table) in device.vault.syncCatalog.tables {
      let sets = Set(table.columns.map(\.name).filter { table.rules[$0].mergesAsSet })
      guard !sets.isEmpty else { continue }
      let conflicts = try connection.fetchRows(
        """
        SELECT entityUuid, fields FROM OfflineConflictResolution
        WHERE entityType = \(type) AND conflictType = 'concurrent_edit' AND base IS NOT NULL
          AND instr(localVersion, '"isDeleted":true') = 0 AND instr(remoteVersion, '"isDeleted":true') = 0
        """, as: String.self, String.self)
      for (uuid, json) in conflicts {
        guard case .array(let fields) = try SyncValue(parsing: json) else { continue }
        for case .text(let name) in fields where sets.contains(name) {
          throw Violation(6, "\(device.name): additions to the set \(name) of \(type) \(uuid) are in conflict")
        }
      }
    }
    guard waiting.isEmpty else {
      throw Violation(5, waiting.map { "\(device.name): \($0) waits for nothing and is not sent" })
    }
  }
}
