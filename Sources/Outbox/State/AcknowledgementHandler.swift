import CipherSQL
import RecordStore
import SyncModel

/// The results of the operations of a push, counted for the report of the round.
package struct PushCounts: Sendable, Equatable {
  /// Operations whose effect the server stored, as sent or merged.
  package var pushed = 0
  package var merged = 0
  package var conflicts = 0
  /// Operations that are not sent again automatically.
  package var failed = 0
  /// Operations that are sent again later.
  package var delayed = 0
  /// Records that have a new operation because of a response, and not because of a user's edit. A record that appears here again
  /// and again shows that the server and the device do not agree.
  package var requeued: [RecordIdentity] = []

  package init() {}

  package static func += (left: inout PushCounts, right: PushCounts) {
    left.pushed += right.pushed
    left.merged += right.merged
    left.conflicts += right.conflicts
    left.failed += right.failed
    left.delayed += right.delayed
    left.requeued += right.requeued
  }
}

/// Handles the server's response to an operation: ends or returns the operation, moves the base of its record, and opens
/// conflicts.
///
/// Writes that concern only the operation and its record go to ``writes``, which stores those of several responses
/// together.
struct AcknowledgementHandler: SyncComponent {
  let sync: SyncTransaction
  let queued: QueuedOperation
  /// The operation as it was sent.
  let sent: PushOperation
  let table: RecordTable
  /// The record; `nil` if its row was removed.
  let record: StoredRecord?
  let base: RecordState?
  /// The operation that follows, if the record has one.
  let pending: QueuedOperation?
  /// 0 to 1. Spreads the retries of devices that failed together.
  let jitter: Double
  let writes: AcknowledgementWrites
  var counts: PushCounts

  private var type: String { queued.entityType }

  mutating func handle(_ outcome: PushResult.Outcome) throws {
    switch outcome {
    case .accepted(let version, let serverId, let times):
      counts.pushed += 1
      writes.add(.acknowledged, queued)
      if let record { try accepted(version, serverId, times, record) }
    case .merged(let remote, let lost):
      counts.pushed += 1
      counts.merged += 1
      try outbox.apply(.acknowledged, to: queued)
      if let record { try merged(remote, lost, record) }
    case .conflict(let kind, let fields, let remote, let other):
      try conflicted(kind, fields, remote, other, record)
    case .rejected(let problem): try rejected(problem, record)
    case .waiting: returned(.notExecuted)
    }
  }

  /// Applies an event after which the operation is sent again later, or has failed.
  private mutating func returned(_ event: OutboxEvent, _ problem: ServerProblem? = nil) {
    writes.add(event, queued, problem.map(Outbox.Problem.init), jitter: jitter)
    guard queued.operation.after(event)?.operation.state != .failed else { return counts.failed += 1 }
    counts.delayed += 1
    if event == .notExecuted || event == .reopened { noteRequeued() }
  }

  private mutating func noteRequeued() {
    counts.requeued.append(RecordIdentity(entityType: type, entityUuid: queued.entityUuid))
  }

  // MARK: Stored

  private mutating func accepted(
    _ version: Int64, _ serverId: ServerId?, _ times: RecordTimes?, _ record: StoredRecord
  ) throws {
    // A pull has stored the operation's effect already, or a later version. A version that is not above that of the base
    // is no effect: the server had the sent values before.
    let isPulled =
      record.state.syncVersion > version || record.state.syncVersion == version && version > sent.baseVersion
    if isPulled, version > 0 { return keepBase(of: record) }
    writes.noteStored(sent)
    var serverState = try asSent(over: base)
    serverState.syncVersion = version
    serverState.updatedAt = times?.updatedAt ?? record.state.updatedAt
    advanceBase(to: serverState, serverId ?? record.serverId, createdAt: times?.createdAt, record)
  }

  /// Returns the record as the server has it after it stored the payload.
  ///
  /// A payload without a base has all columns of its time. Columns that a migration added later have their default, which is
  /// not an edit.
  private func asSent(over base: RecordState?) throws -> RecordState {
    if let base { return base.applying(sent.patch) }
    let added = table.columns.map(\.name).filter { sent.patch.fields[$0] == nil }
    let fields = added.isEmpty ? [:] : try table.defaults(of: added, in: connection)
    return RecordState(fields: fields, updatedAt: sent.patch.updatedAt).applying(sent.patch)
  }

  /// Makes `serverState` the base of the record. Edits beyond it stay queued.
  private mutating func advanceBase(
    to serverState: RecordState, _ serverId: ServerId?, createdAt: Int64? = nil, _ record: StoredRecord
  ) {
    // The user restored the record while a deletion was sent that the server did not need. The whole record is sent.
    let isRestored = serverState.isDeleted && serverState.syncVersion == 0 && !record.state.isDeleted
    let serverState = isRestored ? .tombstone(at: serverState.updatedAt) : serverState
    let unsent = RecordPatch(from: serverState, to: record.state)
    var state = record.state
    state.syncVersion = serverState.syncVersion
    let isDone = unsent.isEmpty && record.unsendable == nil
    if isDone {
      writes.forget(queued, pending)
      state.updatedAt = serverState.updatedAt
    } else {
      writes.set(serverState, of: queued, keepsUserEdits: table.keepsUserEdits)
      writes.queue(unsent.isDeleted == true ? .delete : .update, record, table, pending)
      if pending == nil { noteRequeued() }
    }
    writes.update(
      record, to: state,
      .init(
        serverId: serverId, createdAt: record.corrected(createdAt: createdAt ?? record.createdAt), isDirty: !isDone,
        syncStatus: isDone ? "synced" : "pending", lastSyncedAt: serverNow),
      in: table)
  }

  /// Keeps the base of a record whose version, or a later one, a pull has stored already.
  private mutating func keepBase(of record: StoredRecord) {
    advanceBase(to: base ?? record.state, record.serverId, record)
  }

  private mutating func merged(_ remote: RemoteRecord, _ lost: [OverwrittenValue], _ record: StoredRecord) throws {
    let asSent = try asSent(over: base)
    // The response has the merged version and the values that the merge overwrote. Together they are the server's own version.
    var theirs = remote.state
    for value in lost where value.side == .remote { value.restore(in: &theirs) }
    try conflicts.noteOverwritten(lost, base: base, local: asSent, remote: theirs, record, table, resolution: nil)
    // A version that is not above that of the base is no effect: the server kept all of its values.
    let isPulled =
      record.state.syncVersion > remote.state.syncVersion
      || record.state.syncVersion == remote.state.syncVersion && remote.state.syncVersion > sent.baseVersion
    if isPulled { return keepBase(of: record) }
    // Edits since the operation was sealed are rebased on the merged version.
    var rebasing = RemoteChanges.Rebasing.clean
    let isStored = try changes.storing(remote, table) {
      rebasing = try changes.rebase(record, base: asSent, on: remote, table)
      try changes.keepUnknownFields(of: remote, table)
    }
    if isStored {
      if rebasing == .queued, pending == nil { noteRequeued() }
      return
    }
    // Until the version can be stored, the payload is the base, and later edits are merged with it.
    var serverState = asSent
    serverState.syncVersion = record.state.syncVersion
    serverState.updatedAt = record.state.updatedAt
    advanceBase(to: serverState, remote.serverId, record)
  }

  // MARK: Conflicts

  private mutating func conflicted(
    _ kind: ConflictKind, _ fields: [String], _ remote: RemoteRecord?, _ other: RecordReference?,
    _ record: StoredRecord?
  ) throws {
    guard let record else {
      try outbox.apply(.acknowledged, to: queued)
      return
    }
    if let remote, record.state.syncVersion > remote.state.syncVersion { return returned(.outdated, .stale) }
    if try hasDiscardedReferences(fields, kind, remote, record) { return returned(.reopened) }
    let isMissing = kind == .deletedRemotely || kind == .parentMissing
    if record.state.isDeleted, isMissing, remote == nil || remote?.state.isDeleted == true {
      return try deletedOnBothSides(fields, remote, record)
    }
    counts.conflicts += 1
    try conflicts.open(
      kind, fields, base: base, remote: remote?.state, other: other, createdAt: remote?.createdAt,
      serverId: remote?.serverId, record, table)
    if let remote { try changes.keepUnknownFields(of: remote, table) }
  }

  /// Returns whether the server refused references that the record no longer has. The next payload omits them.
  private func hasDiscardedReferences(
    _ fields: [String], _ kind: ConflictKind, _ remote: RemoteRecord?, _ record: StoredRecord
  ) throws -> Bool {
    guard kind == .deletedRemotely || kind == .parentMissing, !fields.isEmpty, !record.state.isDeleted,
      remote?.state.isDeleted != true, fields.allSatisfy(isReference)
    else { return false }
    let asSent = try asSent(over: base)
    let changed = Set(fields.filter { asSent.fields[$0] != record.state.fields[$0] })
    let keys = table.keys(within: fields)
    return !keys.isEmpty && keys.allSatisfy { !changed.isDisjoint(with: $0.columns) }
  }

  private func isReference(_ name: String) -> Bool { table.keys.contains { $0.columns.contains(name) } }

  private mutating func deletedOnBothSides(
    _ fields: [String], _ remote: RemoteRecord?, _ record: StoredRecord
  ) throws {
    try outbox.apply(.acknowledged, to: queued)
    if let remote, try changes.storing(remote, table, { try keepEdits(of: record, fields, on: remote) }) { return }
    for operation in try QueuedOperation.pending(type, record.key, in: connection) {
      try outbox.remove(operation)
    }
    try sync.markClean(record, table)
  }

  /// Puts the edits of a deleted record on top of the server's version, which is deleted as well, so that a record that is
  /// restored has them. References to records that the server does not have, or has as deleted, keep the server's values.
  /// Edits that the server has refused on top of this version are dropped.
  private func keepEdits(of record: StoredRecord, _ fields: [String], on remote: RemoteRecord) throws {
    var (record, remote) = (record, remote)
    try changes.keepUnknownFields(of: remote, table)
    let references = fields.filter(isReference)
    var kept = record.state
    for name in references { kept.fields[name] = remote.state.fields[name] }
    if kept != record.state {
      try table.update(
        record.key, from: record.state, to: kept,
        .init(
          serverId: record.serverId, createdAt: record.createdAt, isDirty: true, syncStatus: "pending",
          lastSyncedAt: serverNow), isGone: true, in: connection)
      record = try table.find(key: record.key, in: connection) ?? record
    }
    // The row keeps a reference whose server value is a record that is missing here. It is not sent again.
    let keepsReference = references.contains { remote.state.fields[$0] != record.state.fields[$0] }
    for name in references { remote.state.fields[name] = record.state.fields[name] }
    let base = try BaseTable.find(type, record.key, in: connection)
    var edits = RecordPatch(from: base ?? remote.state, to: record.state).fields
    for name in references { edits[name] = nil }
    let isRefused = try edits == sent.patch.fields && isOnTop(of: remote.state, base)
    // With the version of its reference, the server merges later edits and a restoration, and its own reference replaces
    // this one.
    if keepsReference, record.state.syncVersion > 0 { remote.state.syncVersion = record.state.syncVersion }
    if isRefused {
      try resolver.adopt(record, on: remote.state, remote: remote.state, table)
    } else {
      try changes.rebase(record, base: base, on: remote, table)
    }
  }

  /// Returns whether the operation was sent on top of a version. If the row keeps references because this device lacks the
  /// records of the version, its base has the other values of the version under an older number.
  private func isOnTop(of remote: RecordState, _ base: RecordState?) throws -> Bool {
    if sent.baseVersion == remote.syncVersion { return true }
    guard let base, base.isDeleted == remote.isDeleted else { return false }
    let missing = try table.keys.filter { try table.lacksParent(by: $0, in: remote.fields, connection) }
    let kept = Set(missing.flatMap(\.columns))
    return table.columns.allSatisfy { kept.contains($0.name) || base.fields[$0.name] == remote.fields[$0.name] }
  }

  // MARK: Rejections

  private mutating func rejected(_ problem: ServerProblem, _ record: StoredRecord?) throws {
    switch problem.status {
    case _ where problem.type == ServerProblem.keyReused: returned(.outdated, problem)
    case 404 where sent.kind == .delete:
      // The record to delete does not exist.
      counts.pushed += 1
      writes.add(.acknowledged, queued)
      if let record { try accepted(record.state.syncVersion, record.serverId, nil, record) }
    case 404 where sent.kind == .update && sent.patch.isDeleted == false:
      // The server has forgotten the deletion, so the restored record is new to it.
      try BaseTable.forget(type, queued.entityId, .withoutFamily, in: connection)
      if let record, record.state.syncVersion > 0 { try forgetVersion(of: record) }
      returned(.reopened)
    case 429: returned(.throttled)
    case 500...: returned(.attemptFailed, problem)
    default:
      let event = OutboxEvent.rejected(
        mayBeStored: problem.type == ServerProblem.perhapsTaken, isRecordDeleted: record?.state.isDeleted == true)
      writes.add(event, queued, Outbox.Problem(problem))
      counts.failed += 1
      if let record, queued.operation.after(event)?.effects.contains(.remove) == true { writes.clean(record, table) }
    }
  }

  private func forgetVersion(of record: StoredRecord) throws {
    var state = record.state
    state.syncVersion = 0
    try table.update(
      record.key, from: record.state, to: state,
      .init(serverId: nil, isDirty: record.isDirty, syncStatus: record.syncStatus),
      in: connection)
  }
}

extension ServerProblem {
  /// A response about an older version than the device has.
  fileprivate static let stale = ServerProblem(
    title: "", status: 409, detail: "the response is about an older version")

  private static let notMemberMessage = """
    the user is not a member of the project; ask a member to add the user and retry the operation, or discard it
    """

  /// The reason and the field, for the user.
  package var message: String {
    if type == Self.notMember { return Self.notMemberMessage }
    let text = detail.isEmpty ? (title.isEmpty ? "the server returned \(status)" : title) : detail
    return field.map { text.contains($0) ? text : "\($0): \(text)" } ?? text
  }
}
