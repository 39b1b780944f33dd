import CipherSQL
import SyncModel

/// What came of the operations of a push, for the history and for people.
package struct PushCounts: Sendable, Equatable {
  /// Stored at the server, as sent or merged.
  package var pushed = 0
  package var merged = 0
  package var conflicts = 0
  /// Not tried again by itself.
  package var failed = 0
  /// Tried again later.
  package var delayed = 0

  package init() {}

  package static func += (left: inout PushCounts, right: PushCounts) {
    left.pushed += right.pushed
    left.merged += right.merged
    left.conflicts += right.conflicts
    left.failed += right.failed
    left.delayed += right.delayed
  }
}

extension SyncTransaction {
  /// Takes the server's answer to an operation. One that is settled already changes nothing, so that an answer may come
  /// twice.
  /// - Parameters:
  ///   - sent: the operation as it was sent.
  ///   - jitter: 0 to 1, spreads the next tries of devices that failed together.
  package func acknowledge(
    _ outcome: PushResult.Outcome, of sent: PushOperation, jitter: Double, counts: inout PushCounts
  ) throws {
    guard
      let queued = try QueuedOperation.all(
        where: "operationId = ? AND completedAt IS NULL AND payload IS NOT NULL", [.text(sent.operationId)],
        in: connection
      ).first, let table = catalog.tables[queued.entityType]
    else { return }
    let record = try table.find(key: queued.entityId, in: connection)
    switch outcome {
    case .accepted(let version, let serverId, let times):
      counts.pushed += 1
      try complete(queued)
      if let record { try accepted(sent, version, serverId, times, record, table, queued.beside) }
    case .merged(let remote, let lost):
      counts.pushed += 1
      counts.merged += 1
      try complete(queued)
      if let record { try merged(sent, remote, lost, record, table) }
    case .conflict(_, _, let remote?, _) where record.map({ $0.state.syncVersion > remote.state.syncVersion }) == true:
      // The response is older than what is known of the record, so the server has not seen the operation as it is now.
      try reseal(queued, .stale, &counts)
    case .conflict(let kind, let fields, let remote, _)
    where record.map { hasDiscardedReferences(fields, of: sent, kind, remote, $0, table) } == true:
      // Sealed before the reference was given up: it goes without it.
      counts.delayed += 1
      try reopen(queued)
      try setStatus("pending", queued)
    case .conflict(let kind, let fields, let remote, let other):
      try conflicted(queued, sent, kind, fields, remote, other, record, table, &counts)
    case .rejected(let problem) where problem.type == ServerProblem.keyReused:
      try reseal(queued, problem, &counts)
    case .rejected(let problem):
      try rejected(queued, sent, problem, record, table, jitter, &counts)
    case .waiting:
      counts.delayed += 1
      try reopenUnlessFollowed(queued)
    }
    try admit(queued.entityUuid, counts: &counts)
  }

  // MARK: Stored

  private func accepted(
    _ sent: PushOperation, _ version: Int64, _ serverId: ServerId?, _ times: RecordTimes?, _ record: StoredRecord,
    _ table: RecordTable, _ beside: RelatedRows
  ) throws {
    // A pull has stored the operation's effect already, or a later version. A version that is not above that of the base
    // is no effect: the server had the sent values before.
    let isPulled =
      record.state.syncVersion > version || record.state.syncVersion == version && version > sent.baseVersion
    if isPulled, version > 0 { return try keepBase(of: record, table) }
    try forgetKeptFields(sent.patch.fields.names, of: sent.entityType, sent.entityUuid)
    let before = beside.hasBase ? try BaseTable.find(table.entity.type, record.key, in: connection) : nil
    var serverState = try asSent(sent, before, table)
    serverState.syncVersion = version
    serverState.updatedAt = times?.updatedAt ?? record.state.updatedAt
    try advanceBase(to: serverState, serverId ?? record.serverId, createdAt: times?.createdAt, record, table, beside)
  }

  /// The record as the server has it when it has stored what was sent.
  ///
  /// What is sent without a base has all columns that there were then. Those that a migration has added since have their
  /// default there, and that is no edit.
  private func asSent(_ sent: PushOperation, _ before: RecordState?, _ table: RecordTable) throws -> RecordState {
    if let before { return before.applying(sent.patch) }
    let added = table.columns.map(\.name).filter { sent.patch.fields[$0] == nil }
    let fields = added.isEmpty ? [:] : try table.defaults(of: added, in: connection)
    return RecordState(fields: fields, updatedAt: sent.patch.updatedAt).applying(sent.patch)
  }

  /// Makes `serverState` the base of the record. Edits beyond it stay queued.
  private func advanceBase(
    to serverState: RecordState, _ serverId: ServerId?, createdAt: Int64? = nil, _ record: StoredRecord,
    _ table: RecordTable,
    _ beside: RelatedRows = RelatedRows()
  ) throws {
    let type = table.entity.type
    // Restored while the deletion of what the server does not have was sent: all of it is to be sent.
    let isRestored = serverState.isDeleted && serverState.syncVersion == 0 && !record.state.isDeleted
    let serverState = isRestored ? .tombstone(at: serverState.updatedAt) : serverState
    let unsent = RecordPatch(from: serverState, to: record.state)
    let pending = beside.hasPending ? try QueuedOperation.pending(type, record.key, in: connection) : []
    var state = record.state
    state.syncVersion = serverState.syncVersion
    let isDone = unsent.isEmpty && record.unsendable == nil
    if isDone {
      for operation in pending { try remove(operation) }
      try BaseTable.forget(type, record.key, beside, in: connection)
      state.updatedAt = serverState.updatedAt
    } else {
      try BaseTable.set(serverState, type, record.key, keepsUserEdits: table.keepsUserEdits, in: connection)
      try ensurePending(unsent.isDeleted == true ? .delete : .update, pending, record, table)
    }
    try table.update(
      record.key, from: record.state, to: state,
      .init(
        serverId: serverId, createdAt: record.corrected(createdAt: createdAt ?? record.createdAt), isDirty: !isDone,
        syncStatus: isDone ? "synced" : "pending", lastSyncedAt: serverNow), references: references, in: connection)
  }

  /// Keeps the base of a record whose version, or a later one, a pull has stored already.
  private func keepBase(of record: StoredRecord, _ table: RecordTable) throws {
    let type = table.entity.type
    let base = try BaseTable.find(type, record.key, in: connection) ?? record.state
    try advanceBase(to: base, record.serverId, record, table)
  }

  private func merged(
    _ sent: PushOperation, _ remote: RemoteRecord, _ lost: [OverwrittenValue], _ record: StoredRecord,
    _ table: RecordTable
  ) throws {
    let before = try BaseTable.find(table.entity.type, record.key, in: connection)
    let asSent = try asSent(sent, before, table)
    // The server tells what it has made of both versions, and what its own version lost by that.
    var theirs = remote.state
    for value in lost where value.side == .remote { value.restore(in: &theirs) }
    try noteLost(lost, base: before, local: asSent, remote: theirs, record, table, resolution: nil)
    if record.state.syncVersion >= remote.state.syncVersion { return try keepBase(of: record, table) }
    // What was changed since it was sent stands on what the server made of it.
    let isStored = try storing(remote, table) { try rebase(record, base: asSent, on: remote, table) }
    guard !isStored else { return }
    // Until it can be stored, the record is as it was sent, and what comes later is merged with that.
    var serverState = asSent
    serverState.syncVersion = record.state.syncVersion
    serverState.updatedAt = record.state.updatedAt
    try advanceBase(to: serverState, remote.serverId, record, table)
  }

  // MARK: Not stored

  /// Whether the server does not have records that a sealed operation references, and the record has other references by now.
  private func hasDiscardedReferences(
    _ fields: [String], of sent: PushOperation, _ kind: ConflictKind, _ remote: RemoteRecord?, _ record: StoredRecord,
    _ table: RecordTable
  ) -> Bool {
    guard kind == .deletedRemotely || kind == .parentMissing, !fields.isEmpty, !record.state.isDeleted,
      remote?.state.isDeleted != true
    else { return false }
    return fields.allSatisfy { name in
      guard let place = table.places[name], table.columns[place].reference != nil else { return false }
      return sent.patch.fields[name] != record.state.fields[name]
    }
  }

  private func conflicted(
    _ queued: QueuedOperation, _ sent: PushOperation, _ kind: ConflictKind, _ fields: [String],
    _ remote: RemoteRecord?, _ other: RecordReference?, _ record: StoredRecord?, _ table: RecordTable,
    _ counts: inout PushCounts
  ) throws {
    guard let record else { return try complete(queued) }
    let isGone = kind == .deletedRemotely || kind == .parentMissing
    if record.state.isDeleted, isGone, remote == nil || remote?.state.isDeleted == true {
      // Deleted on both sides.
      try complete(queued)
      if let remote,
        try storing(remote, table, { try keepEdits(of: record, fields, refused: sent, on: remote, table) })
      {
        return
      }
      for operation in try QueuedOperation.pending(queued.entityType, record.key, in: connection) {
        try remove(operation)
      }
      return try markClean(record, table)
    }
    counts.conflicts += 1
    let base = try BaseTable.find(queued.entityType, record.key, in: connection)
    try openConflict(kind, fields, base: base, remote: remote?.state, other: other, record, table)
  }

  /// Puts the edits of a deleted record on top of the server's version, which is deleted as well, so that a record that is
  /// restored has them. References to records that the server does not have, or has as deleted, keep the server's values.
  /// Edits that the server has refused on top of this version are dropped.
  private func keepEdits(
    of record: StoredRecord, _ fields: [String], refused sent: PushOperation, on remote: RemoteRecord,
    _ table: RecordTable
  ) throws {
    var (record, remote) = (record, remote)
    let references = fields.filter { name in table.places[name].map { table.columns[$0].reference != nil } == true }
    var kept = record.state
    for name in references { kept.fields[name] = remote.state.fields[name] }
    if kept != record.state {
      try table.update(
        record.key, from: record.state, to: kept,
        .init(
          serverId: record.serverId, createdAt: record.createdAt, isDirty: true, syncStatus: "pending",
          lastSyncedAt: serverNow), references: self.references, isGone: true, in: connection)
      record = try table.find(key: record.key, in: connection) ?? record
    }
    // The row keeps a reference whose server value is a record that is missing here. It is not sent again: after a
    // restoration the server's version replaces it.
    for name in references { remote.state.fields[name] = record.state.fields[name] }
    let base = try BaseTable.find(table.entity.type, record.key, in: connection)
    var edits = RecordPatch(from: base ?? remote.state, to: record.state).fields
    for name in references { edits[name] = nil }
    if edits == sent.patch.fields, sent.baseVersion == remote.state.syncVersion {
      return try adopt(record, on: remote.state, remote: remote.state, table)
    }
    _ = try rebase(record, base: base, on: remote, table)
  }

  private func rejected(
    _ queued: QueuedOperation, _ sent: PushOperation, _ problem: ServerProblem, _ record: StoredRecord?,
    _ table: RecordTable, _ jitter: Double, _ counts: inout PushCounts
  ) throws {
    if problem.status == 404, sent.kind == .delete {
      // What is to be deleted is not there.
      counts.pushed += 1
      try complete(queued)
      if let record { try accepted(sent, record.state.syncVersion, record.serverId, nil, record, table, queued.beside) }
      return
    }
    if problem.status == 404, sent.kind == .update,
      try BaseTable.find(queued.entityType, queued.entityId, in: connection)?.isOfTombstone == true
    {
      // The server has forgotten the deletion as well, so the record is new to it.
      counts.delayed += 1
      try BaseTable.forget(queued.entityType, queued.entityId, .withoutFamily, in: connection)
      try reopen(queued)
      return try setStatus("pending", queued)
    }
    if problem.status == 429 {
      counts.delayed += 1
      return try schedule(queued, after: 1000)
    }
    if problem.status >= 500 { return try attemptFailed(queued, problem, jitter: jitter, counts: &counts) }
    counts.failed += 1
    try fail(queued, problem)
    // It was not stored, so it may grow again: what came behind it becomes part of it.
    for operation in try QueuedOperation.pending(queued.entityType, queued.entityId, in: connection) {
      try remove(operation)
    }
    let mayBeThere = problem.type == ServerProblem.perhapsTaken
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET payload = NULL, sendCount = CASE WHEN \(mayBeThere) THEN sendCount ELSE 0 END,
        idempotencyKey = CASE WHEN \(mayBeThere) THEN idempotencyKey END
      WHERE queueNumber = \(queued.number)
      """)
    if let record, record.state.isDeleted, queued.kind == .create {
      try remove(queued)
      try markClean(record, table)
    }
  }

  /// The operation is sealed again under a new key, on top of what is known of the record by then. A server that never
  /// executes it makes it fail.
  private func reseal(_ queued: QueuedOperation, _ problem: ServerProblem, _ counts: inout PushCounts) throws {
    guard queued.retryCount < queued.maxRetries else {
      counts.failed += 1
      return try fail(queued, problem)
    }
    counts.delayed += 1
    try reopen(queued)
    try connection.execute(
      "UPDATE OfflineSyncQueue SET retryCount = retryCount + 1 WHERE queueNumber = \(queued.number)")
    try setStatus("pending", queued)
  }

  /// Makes a sealed operation pending, together with the edits that followed it.
  func reopen(_ queued: QueuedOperation) throws {
    for operation in try QueuedOperation.pending(queued.entityType, queued.entityId, in: connection) {
      try remove(operation)
    }
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET status = 'pending', payload = NULL, idempotencyKey = NULL, sendCount = 0
      WHERE queueNumber = \(queued.number)
      """)
  }

  /// The server failed, which may not happen again: the operation is tried again after ``RetryDelay``, then it fails.
  private func attemptFailed(
    _ queued: QueuedOperation, _ problem: ServerProblem, jitter: Double, counts: inout PushCounts
  ) throws {
    guard queued.retryCount < queued.maxRetries else {
      counts.failed += 1
      return try fail(queued, problem)
    }
    counts.delayed += 1
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET retryCount = retryCount + 1, errorMessage = \(problem.message), errorStatus = \(problem.status)
      WHERE queueNumber = \(queued.number)
      """)
    try schedule(queued, after: RetryDelay.milliseconds(afterRetries: queued.retryCount, jitter: jitter))
  }

  private func schedule(_ queued: QueuedOperation, after milliseconds: Int64) throws {
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET status = 'pending', scheduledAt = \(WireTime.text(now + milliseconds))
      WHERE queueNumber = \(queued.number)
      """)
    try setStatus("pending", queued)
  }

  private func fail(_ queued: QueuedOperation, _ problem: ServerProblem) throws {
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET status = 'failed', scheduledAt = NULL, retryCount = max(retryCount, 1),
        errorMessage = \(problem.message), errorStatus = \(problem.status)
      WHERE queueNumber = \(queued.number)
      """)
    try setStatus("failed", queued)
  }

  /// An operation whose record has a value that cannot be sent fails before it leaves the device.
  func fail(_ queued: QueuedOperation, _ unsendable: UnsendableField) throws {
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET status = 'failed', scheduledAt = NULL, errorMessage = \(unsendable.message), errorStatus = NULL
      WHERE queueNumber = \(queued.number)
      """)
    try setStatus("failed", queued)
  }

  private func reopenUnlessFollowed(_ queued: QueuedOperation) throws {
    let isFollowed = try !QueuedOperation.pending(queued.entityType, queued.entityId, in: connection).isEmpty
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET status = 'pending', payload = CASE WHEN \(isFollowed) THEN payload END,
        idempotencyKey = CASE WHEN \(isFollowed) THEN idempotencyKey END
      WHERE queueNumber = \(queued.number)
      """)
    try setStatus("pending", queued)
  }

  // MARK: The queue

  func remove(_ queued: QueuedOperation) throws {
    try connection.execute("DELETE FROM OfflineSyncQueue WHERE queueNumber = \(queued.number)")
  }

  func ensurePending(
    _ kind: OperationKind, _ pending: [QueuedOperation], _ record: StoredRecord, _ table: RecordTable
  ) throws {
    if let first = pending.first {
      try connection.execute(
        "UPDATE OfflineSyncQueue SET operationType = \(kind.rawValue) WHERE queueNumber = \(first.number)")
      return
    }
    try connection.execute(
      """
      INSERT INTO OfflineSyncQueue (entityType, entityId, entityUuid, operationType, priority)
      VALUES (\(table.entity.type), \(record.key), \(record.uuid), \(kind.rawValue), \(table.entity.sync?.defaultPriority ?? 2))
      """)
  }
}

extension ServerProblem {
  /// A response about an older version than the one that is known here.
  static let stale = ServerProblem(title: "", status: 409, detail: "the response is about an older version")

  /// For people: what is wrong, and with which field.
  package var message: String {
    let text = detail.isEmpty ? (title.isEmpty ? "the server answered \(status)" : title) : detail
    return field.map { text.contains($0) ? text : "\($0): \(text)" } ?? text
  }
}
