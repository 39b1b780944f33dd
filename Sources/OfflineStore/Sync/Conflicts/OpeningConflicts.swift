import CipherSQL
import SyncModel

extension SyncTransaction {
  /// Parks a record until a person has decided: its conflict is written or brought up to date, its operation waits, and
  /// what a person changes meanwhile becomes part of the local version.
  /// - Parameter other: the record that stands in the way, if one does.
  func openConflict(
    _ kind: ConflictKind, _ fields: [String], base: RecordState?, remote: RecordState?,
    other: RecordReference? = nil, _ record: StoredRecord, _ table: RecordTable
  ) throws {
    let type = table.entity.type
    let names = SyncValue.array(fields.map { .text($0) }).json
    let open = try connection.fetchOne(
      """
      SELECT conflictId FROM OfflineConflictResolution
      WHERE entityId = \(record.key) AND entityType = \(type) AND resolvedAt IS NULL
      """, as: String.self)
    if let open {
      try connection.execute(
        """
        UPDATE OfflineConflictResolution SET base = \(base.map(RecordVersion.json).sqlArgument), conflictType = \(kind.rawValue),
          localVersion = \(RecordVersion.json(record.state)), remoteVersion = \(remote.map(RecordVersion.json).sqlArgument),
          fields = \(names), otherType = \((other?.entityType).sqlArgument), otherUuid = \((other?.entityUuid).sqlArgument)
        WHERE conflictId = \(open)
        """)
    } else {
      try connection.execute(
        """
        INSERT INTO OfflineConflictResolution
          (entityType, entityId, entityUuid, base, localVersion, remoteVersion, conflictType, fields, otherType, otherUuid)
        VALUES (\(type), \(record.key), \(record.uuid), \(base.map(RecordVersion.json).sqlArgument),
          \(RecordVersion.json(record.state)), \(remote.map(RecordVersion.json).sqlArgument), \(kind.rawValue), \(names),
          \((other?.entityType).sqlArgument), \((other?.entityUuid).sqlArgument))
        """)
    }
    try park(record, table)
  }

  /// One operation of the record stays, as contested; it is rewritten when the conflict is resolved.
  private func park(_ record: StoredRecord, _ table: RecordTable) throws {
    let type = table.entity.type
    let operations = try QueuedOperation.ofRecord(type, record.key, in: connection)
    for operation in operations.dropFirst() { try remove(operation) }
    let kind: OperationKind =
      record.state.isDeleted ? .delete : record.state.syncVersion == 0 ? .create : .update
    try ensurePending(kind, Array(operations.prefix(1)), record, table)
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET status = 'conflict', payload = NULL, idempotencyKey = NULL, sendCount = 0,
        scheduledAt = NULL, parkedBehind = NULL
      WHERE queueNumber IN (
        SELECT queueNumber FROM OfflineSyncQueue
        WHERE entityId = \(record.key) AND entityType = \(type) AND payload IS NULL AND completedAt IS NULL
        UNION ALL SELECT queueNumber FROM OfflineSyncQueue
        WHERE entityId = \(record.key) AND entityType = \(type) AND payload IS NOT NULL AND completedAt IS NULL)
      """)
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) SET isDirty = 1, syncStatus = 'conflict'
      WHERE \(identifier: table.entity.key) = \(record.key)
      """)
  }

  /// Replaces the remote version of a record's open conflict, if it has one.
  /// - Parameter keepsBase: whether the base is a version that the server still has.
  func replaceRemote(
    ofConflictOf record: StoredRecord, by remote: RecordState, keepsBase: Bool, _ table: RecordTable
  ) throws {
    try connection.execute(
      """
      UPDATE OfflineConflictResolution
      SET remoteVersion = \(RecordVersion.json(remote)), base = CASE WHEN \(keepsBase) THEN base END
      WHERE entityId = \(record.key) AND entityType = \(table.entity.type) AND resolvedAt IS NULL
      """)
  }

  /// Closes the open conflict of a record, if it has one.
  ///
  /// The table keeps the local version as it was until now, with the edits since the conflict was found: it is the last
  /// place that has what was given up.
  /// - Parameters:
  ///   - record: the record before anything of the resolution is written.
  ///   - person: who decided; nil for a discarded operation, `policy` when nobody had to decide.
  func closeConflict(
    of record: StoredRecord, _ table: RecordTable, resolution: String, by person: String?, note: String?,
    choices: SyncObject? = nil
  ) throws {
    try connection.execute(
      """
      UPDATE OfflineConflictResolution SET resolvedAt = \(WireTime.text(now)), resolution = \(resolution),
        resolvedBy = \(person.sqlArgument), notes = \(note.sqlArgument),
        choices = \(choices.map { SyncValue.object($0).json }.sqlArgument), localVersion = \(RecordVersion.json(record.state))
      WHERE entityId = \(record.key) AND entityType = \(table.entity.type) AND resolvedAt IS NULL
      """)
  }

  /// Writes down what a policy let lose although a person had entered it, so that it can still be seen.
  func noteLost(
    _ lost: [OverwrittenValue], base: RecordState?, local: RecordState, remote: RecordState,
    kind: ConflictKind = .concurrentEdit,
    _ record: StoredRecord, _ table: RecordTable, resolution: String?
  ) throws {
    guard !lost.isEmpty else { return }
    let sides = Set(lost.map(\.side))
    let outcome = resolution ?? (sides == [.local] ? "remote_wins" : sides == [.remote] ? "local_wins" : "merge")
    let policy = table.rules.policy.rawValue
    try connection.execute(
      """
      INSERT INTO OfflineConflictResolution (entityType, entityId, entityUuid, base, localVersion, remoteVersion,
        conflictType, fields, resolvedAt, resolution, resolvedBy, notes)
      VALUES (\(table.entity.type), \(record.key), \(record.uuid), \(base.map(RecordVersion.json).sqlArgument),
        \(RecordVersion.json(local)), \(RecordVersion.json(remote)), \(kind.rawValue),
        \(SyncValue.array(lost.map { .text($0.field) }).json), \(WireTime.text(now)), \(outcome), 'policy',
        \("settled by the policy \(policy)"))
      """)
  }
}
