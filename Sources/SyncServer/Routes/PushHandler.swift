import HTTPServer
import ServerStorage
import SyncModel

/// Decides about one operation, and stores it.
struct PushHandler {
  let entities: [String: EntityDescription]
  let storage: any RecordWriting
  let epochs: EpochHistory
  /// The role of the sender.
  let role: TokenRole
  /// The greatest number of records of the account; `nil` without a limit.
  let recordLimit: Int?
  /// The server's time in milliseconds since 1970-01-01 UTC.
  let now: Int64
  /// The time under which changes are stored; see ``RetentionClock``.
  let storedAt: Int64

  /// Stores an operation as far as the rules permit.
  /// - Returns: the outcome, and the number of other records that were deleted or restored with the record.
  func handle(_ operation: PushOperation) throws -> (outcome: PushResult.Outcome, taken: Int) {
    var handled = try handleWhole(operation)
    // Edits before a deletion are kept, and are no reason to refuse the deletion.
    if operation.kind == .delete, !operation.patch.fields.isEmpty, handled.outcome.isBrokenRule {
      var deletion = operation
      deletion.patch.fields = [:]
      handled = try handleWhole(deletion)
    }
    handled.outcome = try namingLostEdits(of: operation, handled.outcome)
    return handled
  }

  /// Returns the outcome with the edits of a deleted record that were not stored: those that break a rule of the data, and
  /// references to missing records. An accepted operation was stored whole.
  private func namingLostEdits(
    of operation: PushOperation, _ outcome: PushResult.Outcome
  ) throws -> PushResult.Outcome {
    guard case .accepted = outcome, !operation.patch.fields.isEmpty, let record = try storage.record(operation.name),
      record.state.isDeleted
    else { return outcome }
    let lost = operation.patch.fields.members.filter { record.state.fields[$0.name] ?? .null != $0.value }
    if lost.isEmpty { return outcome }
    return .merged(
      record.remote(entities), lost: lost.map { OverwrittenValue(field: $0.name, side: .local, value: $0.value) })
  }

  private func handleWhole(_ operation: PushOperation) throws -> (outcome: PushResult.Outcome, taken: Int) {
    guard let entity = entities[operation.name.entityType] else {
      return (.rejected(HTTPProblem.invalid("unknown entity", field: "entityType").problem), 0)
    }
    if let problem = validate(operation, entity) { return (.rejected(problem.problem), 0) }
    var operation = operation
    if !entity.hasUserEdits { operation.patch.userEditedFields = nil }
    let existing = try storage.record(operation.name)
    if existing == nil, let outcome = try handleUnknown(operation) { return (outcome, 0) }
    if let recordLimit, existing?.state.isDeleted != false, operation.kind != .delete,
      existing == nil || operation.patch.isDeleted == false, try storage.recordCount >= recordLimit
    {
      return (.rejected(HTTPProblem.tooManyRecords(recordLimit).problem), 0)
    }
    do {
      // A deletion or restoration that a dependent refuses leaves nothing behind.
      return try operation.kind == .delete || existing?.state.isDeleted == true
        ? storage.attempt { try decide(operation, entity, existing) } : decide(operation, entity, existing)
    } catch let refusal as StorageRefusal {
      switch refusal {
      case .invalid(let field, let message): return (.rejected(HTTPProblem.invalid(message, field: field).problem), 0)
      case .parentMissing(let columns): return (conflict(.parentMissing, columns, existing), 0)
      case .parentDeleted(let columns): return (conflict(.deletedRemotely, columns, existing), 0)
      case .notUnique(let columns, let holder):
        return (conflict(.notUnique, columns, existing, other: holder), 0)
      // The other side of the conflict is a record that uses the deleted one, or a dependent that stays deleted.
      case .referenced(let other):
        let kind: ConflictKind = existing?.state.isDeleted == true ? .deletedRemotely : .deletedLocally
        return (conflict(kind, [], existing, other: other), 0)
      }
    }
  }

  /// Returns the outcome of an operation on a record that the server lacks; `nil` if it creates the record.
  ///
  /// The deletion of such a record is stored, because another device may have the record: after a restore of the
  /// server, or because an earlier deletion is forgotten. A deleted record can only be restored by an undeletion.
  private func handleUnknown(_ operation: PushOperation) throws -> PushResult.Outcome? {
    switch operation.kind {
    case .delete:
      try storage.keepTombstone(of: operation.name, at: storedAt)
      return .accepted(version: 0, serverId: nil)
    case .create:
      return try storage.hasTombstone(of: operation.name) ? conflict(.deletedRemotely, [], nil) : nil
    case .update:
      if operation.patch.isDeleted == false, try storage.hasTombstone(of: operation.name) { return nil }
      return .rejected(HTTPProblem.noSuchRecord.problem)
    }
  }

  private func validate(_ operation: PushOperation, _ entity: EntityDescription) -> HTTPProblem? {
    for member in operation.patch.fields.members {
      guard let message = entity.problem(member.name, member.value) else { continue }
      return .invalid("\(member.name) \(message)", field: member.name)
    }
    return nil
  }

  private func decide(
    _ operation: PushOperation, _ entity: EntityDescription, _ existing: ServerRecord?
  ) throws -> (PushResult.Outcome, Int) {
    var operation = operation
    let admitted = writers(entity).admitted(
      operation.patch, over: existing?.state, serviceFields: existing?.serviceFields ?? [])
    operation.patch = admitted.patch
    guard let existing else {
      let state = RecordState(fields: [:], updatedAt: operation.patch.updatedAt).applying(operation.patch)
      let record = try store(operation, state, entity, over: nil)
      if operation.kind == .update { try storage.removeTombstone(of: operation.name) }
      return (.accepted(record), 0)
    }
    let trusted = epochs.trustedBase(
      operation.baseVersion, of: operation.baseEpoch, version: existing.version, startVersions: existing.startVersions)
    if operation.kind != .create, trusted == existing.version {
      let (outcome, taken) = try apply(operation, entity, to: existing)
      guard case .accepted = outcome, !admitted.kept.isEmpty, let record = try storage.record(operation.name) else {
        return (outcome, taken)
      }
      return (.merged(record.remote(entities), lost: []), taken)
    }
    return try merge(operation, MergeSides(operation, existing, trustedBase: trusted), entity, with: existing)
  }

  private func writers(_ entity: EntityDescription) -> WriterRules { WriterRules(role: role, rules: entity.rules) }

  /// Applies an operation to a record that has not changed since the device's version.
  private func apply(
    _ operation: PushOperation, _ entity: EntityDescription, to existing: ServerRecord
  ) throws -> (PushResult.Outcome, Int) {
    var patch = operation.patch
    // A field that is marked as edited stays marked.
    patch.userEditedFields = patch.userEditedFields.map { $0.union(existing.state.userEditedFields) }
    let state = existing.state.applying(patch)
    let (record, taken) = try store(operation, state, entity, changing: existing)
    return (.accepted(record), taken)
  }

  private func merge(
    _ operation: PushOperation, _ sides: MergeSides, _ entity: EntityDescription, with existing: ServerRecord
  ) throws -> (PushResult.Outcome, Int) {
    let result = SyncModel.merge(
      base: sides.base, local: sides.local, remote: existing.state, rules: entity.rules,
      clock: MergeClock(serverNow: now),
      writers: MergeWriters(isLocalService: role == .service, serviceFields: existing.serviceFields))
    if let conflict = result.conflict {
      return (self.conflict(conflict.kind, conflict.fields, existing), 0)
    }
    let (record, taken) = try store(
      operation, result.merged, entity, changing: existing, computing: result.fieldsToCompute)
    return (.merged(record.remote(entities), lost: result.lost), taken)
  }

  /// Stores a state if it differs. Dependents are deleted and restored with it.
  private func store(
    _ operation: PushOperation, _ state: RecordState, _ entity: EntityDescription, changing existing: ServerRecord,
    computing: [String] = []
  ) throws -> (ServerRecord, Int) {
    if state.hasContent(of: existing.state) {
      if operation.kind == .delete { try storage.keepDeleted(existing) }
      return (existing, 0)
    }
    let record = try store(operation, state, entity, over: existing, computing: computing)
    if operation.kind == .delete { try storage.keepDeleted(record) }
    guard existing.state.isDeleted != state.isDeleted else { return (record, 0) }
    return (record, try storage.cascade(from: record, at: storedAt))
  }

  private func store(
    _ operation: PushOperation, _ state: RecordState, _ entity: EntityDescription, over existing: ServerRecord?,
    computing: [String] = []
  ) throws -> ServerRecord {
    let changed = state.fields.members.filter { existing?.state.fields[$0.name] ?? .null != $0.value }.map(\.name)
    return try storage.store(
      operation.name, over: existing, state,
      createdAt: existing?.createdAt ?? operation.createdAt ?? operation.patch.updatedAt,
      formerId: operation.serverId, computing: computing,
      serviceFields: writers(entity).serviceFields(before: existing?.serviceFields ?? [], changed: changed),
      at: storedAt)
  }
}

extension PushHandler {
  /// Returns a conflict of the operation's record. `other` is the record that holds the UNIQUE value or the reference.
  func conflict(
    _ kind: ConflictKind, _ fields: [String], _ existing: ServerRecord?, other: RecordName? = nil
  ) -> PushResult.Outcome {
    .conflict(kind, fields: fields, record: existing?.remote(entities), other: other?.reference)
  }
}

extension PushResult.Outcome {
  /// Returns the outcome of an operation that is stored as it was sent.
  static func accepted(_ record: ServerRecord) -> Self {
    .accepted(
      version: record.version, serverId: .integer(record.serverId),
      times: RecordTimes(
        createdAt: record.createdAt, updatedAt: record.state.updatedAt, editTimes: record.state.editTimes))
  }

  /// Whether the server has the state that the device wants.
  var isStored: Bool {
    switch self {
    case .accepted, .merged: true
    case .conflict, .rejected, .waiting: false
    }
  }

  /// Whether the response is final. An operation that may succeed later has no stored response.
  var isFinal: Bool {
    switch self {
    case .accepted, .merged, .conflict: true
    // A refused user may become a member, and an account may get room.
    case .rejected(let problem):
      problem.status < 500 && ![ServerProblem.notMember, ServerProblem.quotaExceeded].contains(problem.type)
    case .waiting: false
    }
  }

  /// Whether a value of the operation breaks a rule of the data.
  var isBrokenRule: Bool {
    switch self {
    case .conflict(.notUnique, _, _, _): true
    case .rejected(let problem): problem.status == 422
    case .accepted, .merged, .conflict, .waiting: false
    }
  }
}

/// The two versions of a merge that the server does not store: the base of the device, and its local version.
///
/// The server keeps no old versions. It knows which fields have changed since the base; the others have their old
/// value. For changed fields that the device changed too, the operation has the old value.
struct MergeSides {
  /// The base; `nil` if it is unknown.
  let base: RecordState?
  /// The device's version, as far as the operation describes it.
  let local: RecordState

  /// - Parameter trustedBase: the version up to which the operation's base is known to be the server's; `nil` if only
  ///   the values that the device sent as base are known. A creation is based on version 0 and does not need it.
  init(_ operation: PushOperation, _ existing: ServerRecord, trustedBase: Int64?) {
    let known = operation.kind == .create ? 0 : trustedBase
    func hasChanged(_ field: String) -> Bool { known.map { existing.hasChanged(field, after: $0) } ?? true }
    var fields = SyncObject()
    for member in existing.state.fields.members {
      if !hasChanged(member.name) {
        fields[member.name] = member.value
      } else if let old = operation.base[member.name] {
        fields[member.name] = old
      }
    }
    let wasDeleted = Self.wasDeleted(
      operation, existing, hasChanged: hasChanged(RecordState.deletionField))
    let base = RecordState(
      fields: fields, isDeleted: wasDeleted, syncVersion: operation.baseVersion, updatedAt: existing.state.updatedAt)
    self.base = operation.kind == .create && fields.isEmpty ? nil : base
    local = RecordState(
      fields: fields.overlaid(with: operation.patch.fields), isDeleted: operation.patch.isDeleted ?? wasDeleted,
      syncVersion: operation.baseVersion, updatedAt: operation.patch.updatedAt, editTimes: operation.patch.editTimes,
      userEditedFields: operation.patch.userEditedFields ?? existing.state.userEditedFields)
  }

  /// Returns whether the record was deleted in the base. A device deletes an existing record and restores a deleted
  /// one. Otherwise the server's last change decides.
  private static func wasDeleted(
    _ operation: PushOperation, _ existing: ServerRecord, hasChanged: Bool
  ) -> Bool {
    if operation.kind == .create { return false }
    if let change = operation.patch.isDeleted { return !change }
    return hasChanged ? !existing.state.isDeleted : existing.state.isDeleted
  }
}
