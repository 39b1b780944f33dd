import SyncModel

/// Decides about one operation, and stores it.
struct OperationJudge {
  let entities: [String: EntityDescription]
  let storage: any RecordWriting
  /// The server's time in milliseconds since 1970-01-01 UTC.
  let now: Int64

  /// What becomes of an operation, and how many other records went or came back with it.
  func judge(_ operation: IncomingOperation) throws -> (outcome: PushOutcome, taken: Int) {
    let judged = try judgeWhole(operation)
    // What was edited before a deletion is worth keeping, and no reason to refuse the deletion.
    guard operation.kind == .delete, !operation.patch.fields.isEmpty, judged.outcome.isBrokenRule else { return judged }
    var deletion = operation
    deletion.patch.fields = [:]
    return try judgeWhole(deletion)
  }

  private func judgeWhole(_ operation: IncomingOperation) throws -> (outcome: PushOutcome, taken: Int) {
    guard let entity = entities[operation.name.entityType] else {
      return (.rejected(.invalid("there is no such kind of record", field: "entityType")), 0)
    }
    if let problem = validate(operation, entity) { return (.rejected(problem), 0) }
    var operation = operation
    if !entity.hasUserEdits { operation.patch.userEditedFields = nil }
    let existing = try storage.record(operation.name)
    if existing == nil, operation.kind == .delete { return (.accepted(version: 0, serverId: nil), 0) }
    if existing == nil, operation.kind == .update {
      return (.rejected(HTTPProblem(404, "There is no such record", "an update makes no record")), 0)
    }
    if operation.kind != .delete, let conflict = try conflict(ofReferences: operation, entity, existing) {
      return (conflict, 0)
    }
    do {
      return try decide(operation, entity, existing)
    } catch let refusal as StorageRefusal {
      switch refusal {
      case .invalid(let field, let message): return (.rejected(.invalid(message, field: field)), 0)
      case .notUnique(let columns): return (.conflict(.notUnique, fields: columns, existing), 0)
      }
    }
  }

  private func validate(_ operation: IncomingOperation, _ entity: EntityDescription) -> HTTPProblem? {
    for member in operation.patch.fields.members {
      guard let message = entity.problem(member.name, member.value) else { continue }
      return .invalid("\(member.name) \(message)", field: member.name)
    }
    return nil
  }

  private func decide(
    _ operation: IncomingOperation, _ entity: EntityDescription, _ existing: ServerRecord?
  ) throws -> (PushOutcome, Int) {
    guard let existing else {
      let state = RecordState(fields: [:], updatedAt: operation.patch.updatedAt).applying(operation.patch)
      let record = try store(operation, state, over: nil)
      return (.accepted(version: record.version, serverId: record.serverId), 0)
    }
    guard operation.kind == .create || operation.baseVersion < existing.version else {
      return try apply(operation, entity, to: existing)
    }
    return try merge(operation, entity, with: existing)
  }

  /// Nothing has changed since the device's version.
  private func apply(
    _ operation: IncomingOperation, _ entity: EntityDescription, to existing: ServerRecord
  ) throws -> (PushOutcome, Int) {
    var patch = operation.patch
    // A field that is marked as edited stays marked.
    patch.userEditedFields = patch.userEditedFields.map { $0.union(existing.state.userEditedFields) }
    let state = existing.state.applying(patch)
    if let conflict = try conflict(ofBringingBack: state, entity, existing) { return (conflict, 0) }
    let (record, taken) = try store(operation, state, changing: existing)
    return (.accepted(version: record.version, serverId: record.serverId), taken)
  }

  private func merge(
    _ operation: IncomingOperation, _ entity: EntityDescription, with existing: ServerRecord
  ) throws -> (PushOutcome, Int) {
    let sides = MergeSides(operation, existing)
    let result = SyncModel.merge(
      base: sides.base, local: sides.local, remote: existing.state, rules: entity.rules,
      clock: MergeClock(serverNow: now))
    if let conflict = result.conflict {
      return (.conflict(conflict.kind, fields: conflict.fields, existing), 0)
    }
    if let conflict = try conflict(ofBringingBack: result.merged, entity, existing) { return (conflict, 0) }
    let (record, taken) = try store(
      operation, result.merged, changing: existing, computing: result.fieldsToCompute)
    return (.merged(record, lost: result.lost), taken)
  }

  /// Stores a state where it says something new; what goes with a record is deleted and comes back with it.
  private func store(
    _ operation: IncomingOperation, _ state: RecordState, changing existing: ServerRecord, computing: [String] = []
  ) throws -> (ServerRecord, Int) {
    if state.hasContent(of: existing.state) {
      if operation.kind == .delete { try storage.keepDeleted(existing) }
      return (existing, 0)
    }
    let record = try store(operation, state, over: existing, computing: computing)
    if operation.kind == .delete { try storage.keepDeleted(record) }
    switch (existing.state.isDeleted, state.isDeleted) {
    case (false, true): return (record, try storage.deleteDependents(of: record, at: now))
    case (true, false): return (record, try storage.restoreDependents(of: record, at: now))
    default: return (record, 0)
    }
  }

  private func store(
    _ operation: IncomingOperation, _ state: RecordState, over existing: ServerRecord?, computing: [String] = []
  ) throws -> ServerRecord {
    try storage.store(
      NewVersion(
        name: operation.name, previous: existing, state: state,
        createdAt: existing?.createdAt ?? operation.createdAt, computing: computing), at: now)
  }
}
