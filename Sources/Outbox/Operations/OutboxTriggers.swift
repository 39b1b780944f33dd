import CipherSQL
import RecordStore
import SchemaModel

/// The triggers of one synced entity that stamp a change, queue it, and store the base.
///
/// A record has at most one pending operation. Its payload is built when it is sealed, so further edits of the record
/// change nothing here. Edits after a sealed operation queue the next operation.
///
/// No statement uses `OR IGNORE` or `OR REPLACE`, because SQLite replaces them by the conflict clause of the
/// statement that fired the trigger. `ON CONFLICT DO NOTHING` keeps its meaning. It replaces queries of the table
/// that the statement writes, for which SQLite would create a temporary table each time.
package struct OutboxTriggers {
  package let entity: Entity
  package let priority: Int
  package let columns: [SharedColumn]
  let keepsUserEdits: Bool
  private let marks: UserEditTriggers?
  private let computed: ComputedColumns?
  /// The foreign keys to synced records.
  private let references: [Dependency]
  /// The foreign keys of one column by which synced records reference a value of this entity other than the local id.
  let referring: [Referring]

  package init?(_ entity: Entity, in entities: Entities) {
    guard let behaviour = entity.sync, entity.hasCommonFields else { return nil }
    self.entity = entity
    priority = behaviour.defaultPriority
    columns = entity.sharedColumns(in: entities)
    keepsUserEdits = entity.table.column(Entity.userEditsColumn) != nil
    marks = UserEditTriggers(entity)
    computed = ComputedColumns(entity)
    references = entity.table.foreignKeys.compactMap { key in
      guard let parent = entities.entity(ofTable: key.table), parent.sync != nil else { return nil }
      return Dependency(child: entity, parent: parent, key: key)
    }
    referring = Self.referring(to: entity, in: entities)
  }

  package var statements: [String] {
    [insertion, base, basesOfReferring, edit, move, furtherEdit, queueingAgain, deletion, identity, times, flags]
      .compactMap { $0 }
  }

  /// Queues changed records without an operation: records of an import, and records that a migration wrote without
  /// triggers.
  ///
  /// Works on some thousand records at a time, because SQLite keeps the rows that a statement reads from the table it
  /// writes in memory.
  /// - Parameter lastKey: only records with a greater local id.
  package func queueMissing(after lastKey: Int64 = .min, on connection: WriteConnection) throws {
    var first = lastKey
    while true {
      let next: SQL = """
        SELECT max(\(raw: key)) FROM (SELECT \(raw: key) FROM \(raw: table) WHERE \(raw: key) > \(first)
          ORDER BY \(raw: key) LIMIT 5000)
        """
      guard let last = try connection.fetchOne(next, as: Optional<Int64>.self) ?? nil else { return }
      try connection.execute(queueMissing(from: first, through: last))
      first = last
    }
  }

  /// - Parameter first: the greatest local id before the range.
  func queueMissing(from first: Int64, through last: Int64) -> SQL {
    """
    INSERT INTO OfflineSyncQueue (entityType, entityId, entityUuid, operationType, priority)
    SELECT \(entity.type), \(raw: key), uuid,
      CASE WHEN syncVersion = 0 THEN 'create' WHEN isDeleted = 1 THEN 'delete' ELSE 'update' END, \(priority)
    FROM \(raw: table) AS record
    WHERE isDirty = 1 AND \(raw: key) > \(first) AND \(raw: key) <= \(last) AND (syncVersion > 0 OR isDeleted = 0)
      AND NOT EXISTS (SELECT 1 FROM OfflineSyncQueue
        WHERE entityId = record.\(raw: key) AND entityType = \(entity.type) AND payload IS NULL AND completedAt IS NULL)
      AND NOT EXISTS (SELECT 1 FROM OfflineSyncQueue
        WHERE entityId = record.\(raw: key) AND entityType = \(entity.type) AND payload IS NOT NULL AND completedAt IS NULL)
    """
  }

  // MARK: Parts of the statements

  package var table: String { SQL.quoted(entity.table.name) }
  package var key: String { SQL.quoted(entity.key) }
  package var type: String { "'\(entity.type.replacingQuotes)'" }
  var byUser: String { WriteMode.isByUser }

  /// The pending or conflicted operation of the record.
  private var pending: String {
    "entityId = NEW.\(key) AND entityType = \(type) AND payload IS NULL AND completedAt IS NULL"
  }
  /// The sealed operation of the record.
  private var sealed: String {
    "entityId = NEW.\(key) AND entityType = \(type) AND payload IS NOT NULL AND completedAt IS NULL"
  }
  private var hasPending: String { "EXISTS (SELECT 1 FROM OfflineSyncQueue WHERE \(pending))" }
  private var hasSealed: String { "EXISTS (SELECT 1 FROM OfflineSyncQueue WHERE \(sealed))" }
  private var hasOperation: String { "(\(hasPending) OR \(hasSealed))" }
  var ofRecord: String { "entityId = NEW.\(key) AND entityType = \(type)" }
  /// Whether the record is deleted or restored by a cascade. The root is queued instead.
  var isUnderWay: String { CascadeTriggers.isUnderWay(entity, row: "NEW") }

  private var hasBase: String { "EXISTS (SELECT 1 FROM SyncBase WHERE \(ofRecord))" }

  var watched: [String] {
    columns.map(\.name).filter { computed?.names.contains($0) != true }
      + (keepsUserEdits ? [Entity.userEditsColumn] : [])
  }
  var isEdited: String { isAnyEdited(of: watched) }

  private func isAnyEdited(of names: [String]) -> String {
    "(" + names.map(entity.isChanged).joined(separator: " OR ") + ")"
  }

  /// Equal to strftime with `%Y-%m-%dT%H:%M:%fZ`, but faster.
  private static let now = "(date('now') || 'T' || time('now', 'subsec') || 'Z')"

  /// Queues the record unless it has a pending operation.
  private func queue(_ operation: String, where condition: String? = nil) -> String {
    let values = "\(type), NEW.\(key), NEW.uuid, \(operation), \(priority)"
    return """
        INSERT INTO OfflineSyncQueue (entityType, entityId, entityUuid, operationType, priority)
          \(condition.map { "SELECT \(values) WHERE \($0)" } ?? "VALUES (\(values))") ON CONFLICT DO NOTHING;
      """
  }

  /// Performs `OutboxEvent.edited` on a failed operation.
  private func queueFailedAgain(where condition: String = "") -> String {
    """
      UPDATE OfflineSyncQueue SET status = 'pending', retryCount = 0, scheduledAt = NULL, errorMessage = NULL, errorStatus = NULL
      WHERE \(ofRecord) AND completedAt IS NULL AND status = 'failed'\(condition);
    """
  }

  /// - Parameter goesOn: whether the trigger ``queueingAgain`` fires next.
  private func stamp(goesOn: Bool = false, where condition: String = "") -> String {
    """
      UPDATE \(table) SET\(goesOn ? "\n    createdAt = createdAt," : "")
        updatedAt = CASE WHEN NEW.updatedAt IS OLD.updatedAt THEN \(Self.now) ELSE NEW.updatedAt END,
        isDirty = 1,\(marks.map { "\n    \(Entity.userEditsColumn) = \($0.value(now: SQL.quoted(Entity.userEditsColumn)))," } ?? "")
        syncStatus = CASE OLD.syncStatus WHEN 'conflict' THEN 'conflict' ELSE 'pending' END
      WHERE \(key) = NEW.\(key)\(condition);
    """
  }

  /// Removes the operation of a record that is equal to its base again. Each statement runs only if the one before it
  /// changed a row.
  /// - Parameter userEdits: the expression for the new value of `userEditedFields`.
  private func leaveWhenUnchanged(_ userEdits: String?, where condition: String = "") -> String {
    """
      DELETE FROM OfflineSyncQueue
        WHERE \(pending) AND operationType <> 'delete' AND status = 'pending'\(condition) AND NOT \(hasSealed)
          AND EXISTS (SELECT 1 FROM SyncBase WHERE \(ofRecord) AND isDeleted = NEW.isDeleted
            \(userEdits.map { "AND userEditedFields IS \($0)" } ?? "")
            AND fields = \(RowJSON.object(columns, row: "NEW", computed: computed))\(hasNoJSONNull));
      UPDATE \(table) SET isDirty = 0, syncStatus = CASE syncVersion WHEN 0 THEN 'pending' ELSE 'synced' END,
          updatedAt = (SELECT updatedAt FROM SyncBase WHERE \(ofRecord))
        WHERE \(key) = NEW.\(key) AND changes() = 1;
      DELETE FROM SyncBase WHERE \(ofRecord) AND changes() = 1;
      DELETE FROM SyncMoved WHERE \(ofRecord) AND changes() = 1;
    """
  }

  /// The condition that no JSON column has the JSON null, which cannot be sent and looks like NULL in a base.
  private var hasNoJSONNull: String {
    columns.filter { $0.column.type == .json && $0.reference == nil && computed?.names.contains($0.name) != true }
      .map { "\n          AND json(NEW.\(SQL.quoted($0.name))) IS NOT 'null'" }.joined()
  }

  private func edits(_ row: String) -> String { "\(row).\(Entity.userEditsColumn)" }

  func trigger(_ name: String, _ event: String, when condition: String, _ body: [String]) -> String {
    """
    CREATE TRIGGER \(DerivedTriggers.name(name, of: entity)) \(event) ON \(table)
    WHEN \(condition)
    BEGIN
    \(body.filter { !$0.isEmpty }.joined(separator: "\n"))
    END
    """
  }

  // MARK: The triggers

  /// Queues a new record and resets the common fields that only sync may set.
  private var insertion: String {
    trigger(
      "queue_insert", "AFTER INSERT", when: WriteMode.isTyped,
      [
        queue("'create'", where: "NEW.isDeleted = 0"),
        """
          UPDATE \(table) SET isDirty = 1, syncStatus = 'pending', syncVersion = 0, serverId = NULL, lastSyncedAt = NULL
            WHERE \(key) = NEW.\(key) AND (NEW.isDirty = 0 OR NEW.syncVersion <> 0 OR NEW.syncStatus <> 'pending'
              OR NEW.serverId IS NOT NULL OR NEW.lastSyncedAt IS NOT NULL);
        """,
      ])
  }

  /// The first edit of a clean record.
  private var edit: String? {
    if watched.isEmpty { return nil }
    return trigger(
      "stamp", "AFTER UPDATE OF \(names)", when: "OLD.isDirty = 0 AND (\(isKnownSomewhere)) AND \(isEdit)",
      [
        queue("CASE WHEN NEW.isDeleted = 1 THEN 'delete' WHEN OLD.syncVersion = 0 THEN 'create' ELSE 'update' END"),
        stamp(),
      ])
  }

  /// A further edit of a changed record. SQLite allocates the memory of all statements of a trigger before it
  /// evaluates the condition. So the statements that a first edit does not need are in a trigger of their own, which
  /// fires when `createdAt` is set.
  private var furtherEdit: String? {
    if watched.isEmpty { return nil }
    return trigger(
      "stamp_again", "AFTER UPDATE OF \(names)", when: "OLD.isDirty = 1 AND \(isEdit)",
      [stamp(goesOn: true, where: " AND (\(isKnownSomewhere))")])
  }

  /// Continues ``furtherEdit``. It also fires for a program that writes `createdAt` itself. If this program edits the
  /// record as well, nothing is to be done yet; otherwise the work is already done.
  private var queueingAgain: String {
    let edited = watched.filter { $0 != Entity.userEditsColumn }
    let isUnedited = edited.isEmpty ? "" : " AND NOT \(isAnyEdited(of: edited))"
    return trigger(
      "queue_again", "AFTER UPDATE OF createdAt",
      when: """
        NEW.isDirty = 1 AND NEW.syncStatus IN ('pending', 'conflict')\(isUnedited)
          AND NEW.isDeleted = OLD.isDeleted AND \(hasOperation) AND \(byUser)
        """,
      [
        queueFailedAgain(),
        queue(
          "CASE WHEN NEW.isDeleted = 1 THEN 'delete' WHEN OLD.syncVersion = 0 AND NOT \(hasSealed) THEN 'create' ELSE 'update' END",
          where: "NOT \(hasPending) AND (\(isKnownSomewhere))"),
        leaveWhenUnchanged(keepsUserEdits ? edits("NEW") : nil),
      ])
  }

  private var names: String { watched.map(SQL.quoted).joined(separator: ", ") }
  private var isEdit: String { "\(isEdited) AND NEW.isDeleted = OLD.isDeleted AND \(byUser)" }
  /// Excludes records that were deleted before they were sent.
  private var isKnownSomewhere: String { "NEW.isDeleted = 0 OR OLD.syncVersion > 0" }

  /// Stores the parents that a record no longer references. It is a separate trigger, so that other edits do not pay
  /// for it. It runs before the row changes, so that the operation can be removed afterwards.
  private var move: String? {
    let columns = references.flatMap { $0.key.columns.map(\.from) }
    guard !columns.isEmpty else { return nil }
    func isMoved(_ names: [String]) -> String {
      "(" + names.map { "NEW.\(SQL.quoted($0)) IS NOT OLD.\(SQL.quoted($0))" }.joined(separator: " OR ") + ")"
    }
    let watched = Set(columns).sorted()
    return trigger(
      "move", "BEFORE UPDATE OF \(watched.map(SQL.quoted).joined(separator: ", "))",
      when: """
        \(isMoved(watched)) AND NEW.isDeleted = OLD.isDeleted AND (OLD.syncVersion > 0 OR \(hasSealed)) AND \(byUser)
        """,
      references.map { reference in
        """
          INSERT INTO SyncMoved (entityType, entityId, parentType, parentId)
            SELECT \(type), NEW.\(key), '\(reference.parent.type.replacingQuotes)', parent.\(SQL.quoted(reference.parent.key))
            FROM \(SQL.quoted(reference.parent.table.name)) AS parent
            WHERE \(reference.isReferring(child: "OLD", parent: "parent"))
              AND \(isMoved(reference.key.columns.map(\.from))) ON CONFLICT DO NOTHING;
        """
      })
  }

  /// A record is marked as deleted, or restored; alone or by a cascade.
  private var deletion: String {
    let goes = "NEW.isDeleted = 1"
    return trigger(
      "mark", "AFTER UPDATE OF isDeleted", when: "NEW.isDeleted <> OLD.isDeleted AND \(byUser)",
      [
        queueFailedAgain(where: " AND OLD.isDirty = 1"),
        // A record that the server may have is created first, or found, so that the delete knows its id.
        """
          UPDATE OfflineSyncQueue SET payload = sentPayload, sentPayload = NULL
            WHERE \(pending) AND \(goes) AND operationType = 'create' AND status = 'pending' AND sentPayload IS NOT NULL;
        """,
        // A record that the server never had needs no delete. A pending operation becomes the delete.
        "  DELETE FROM OfflineSyncQueue WHERE \(pending) AND \(goes) AND operationType = 'create' AND status = 'pending';",
        "  UPDATE OfflineSyncQueue SET operationType = CASE WHEN \(goes) THEN 'delete' ELSE 'update' END\n"
          + "    WHERE \(pending) AND operationType <> 'create' AND status = 'pending';",
        queue(
          "CASE WHEN \(goes) THEN 'delete' WHEN OLD.syncVersion = 0 AND NOT \(hasSealed) THEN 'create' ELSE 'update' END",
          where: """
            NOT \(hasPending) AND CASE WHEN \(goes) THEN \(hasSealed) OR (OLD.syncVersion > 0 OR \(hasBase)) AND NOT \(isUnderWay)
              ELSE NOT \(isUnderWay) OR \(hasSealed) OR OLD.syncVersion = 0 END
            """),
        "  DELETE FROM SyncCascade WHERE \(ofRecord) AND (isUnderWay = 0 OR NEW.isDeleted = 0);",
        stamp(where: " AND \(hasOperation)"),
        // The record was never sent, so no local change remains.
        "  UPDATE \(table) SET isDirty = 0 WHERE \(key) = NEW.\(key) AND OLD.isDirty = 1 AND OLD.syncVersion = 0 AND NOT \(hasOperation);",
        leaveWhenUnchanged(
          keepsUserEdits ? marks?.value(now: edits("NEW")) ?? edits("NEW") : nil, where: " AND OLD.isDirty = 1"),
      ])
  }

  /// Protects the UUID, the local id and the server columns. A program that writes back a complete record writes the
  /// values that it read.
  private var identity: String {
    trigger(
      "identity", "AFTER UPDATE OF \(key), uuid, serverId, syncVersion, lastSyncedAt",
      when: """
        (NEW.uuid IS NOT OLD.uuid OR NEW.\(key) IS NOT OLD.\(key) OR NEW.serverId IS NOT OLD.serverId
          OR NEW.syncVersion IS NOT OLD.syncVersion OR NEW.lastSyncedAt IS NOT OLD.lastSyncedAt) AND \(byUser)
        """,
      [
        """
          SELECT RAISE(ABORT, 'uuid and local id of a record cannot be changed')
            WHERE NEW.uuid IS NOT OLD.uuid OR NEW.\(key) IS NOT OLD.\(key);
          UPDATE \(table) SET serverId = OLD.serverId, syncVersion = OLD.syncVersion, lastSyncedAt = OLD.lastSyncedAt
            WHERE \(key) = NEW.\(key);
        """
      ])
  }

  /// Restores times that are written without an edit. They are never sent, so the record would differ from the
  /// server's. The creation time is sent with the create only.
  private var times: String {
    let isEdited = watched.isEmpty ? "0" : isEdited
    let isUnedited = "OLD.isDirty = 0 AND NEW.isDirty = 0 AND NEW.isDeleted = OLD.isDeleted AND NOT \(isEdited)"
    return trigger(
      "times", "AFTER UPDATE OF createdAt, updatedAt",
      when: """
        (NEW.createdAt IS NOT OLD.createdAt AND (OLD.syncVersion > 0 OR OLD.isDirty = 0)
          OR NEW.updatedAt IS NOT OLD.updatedAt AND \(isUnedited)) AND \(byUser)
        """,
      [
        """
          UPDATE \(table) SET createdAt = OLD.createdAt, updatedAt = CASE WHEN \(isUnedited) THEN OLD.updatedAt ELSE updatedAt END
            WHERE \(key) = NEW.\(key);
        """
      ])
  }

  /// Keeps a record dirty exactly as long as it has an operation, independent of the values that a program writes.
  private var flags: String {
    trigger(
      "flags", "AFTER UPDATE OF isDirty, syncStatus",
      when: """
        (NEW.isDirty <> OLD.isDirty OR NEW.syncStatus <> OLD.syncStatus)
          AND NEW.isDirty <> CASE WHEN \(hasPending) THEN 1 ELSE \(hasSealed) END AND \(byUser)
        """,
      [
        """
          UPDATE \(table) SET isDirty = 1 - NEW.isDirty, syncStatus = CASE WHEN NEW.isDirty = 0 THEN coalesce(
              (SELECT CASE status WHEN 'processing' THEN 'syncing' ELSE status END FROM OfflineSyncQueue
                WHERE \(ofRecord) AND completedAt IS NULL ORDER BY payload IS NULL LIMIT 1), 'pending')
            WHEN NEW.syncVersion > 0 THEN 'synced' ELSE 'pending' END
          WHERE \(key) = NEW.\(key);
        """
      ])
  }
}
