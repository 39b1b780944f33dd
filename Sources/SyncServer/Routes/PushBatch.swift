import HTTPServer
import Platform
import ServerStorage
import SyncModel

/// Executes the operations of one request in order within one transaction, each in a savepoint.
struct PushBatch {
  let entities: [String: EntityDescription]
  let epochs: EpochHistory
  let now: Int64
  /// The time to store with changes and responses; see ``RetentionClock``.
  let storedAt: Int64
  let role: TokenRole
  let viewer: Viewer
  /// The greatest number of records of the account; `nil` without a limit.
  let recordLimit: Int?
  let log: RequestLog
  /// Records of which an operation of this request was not stored, with that operation.
  private var notStored: [RecordName: SentOperation] = [:]
  /// Whether the server stored exactly the sent payloads, and no other record changed with them.
  private(set) var isUnmodified = true

  init(
    entities: [String: EntityDescription], epochs: EpochHistory, now: Int64, storedAt: Int64, role: TokenRole,
    viewer: Viewer, recordLimit: Int? = nil, log: RequestLog
  ) {
    self.entities = entities
    self.epochs = epochs
    self.now = now
    self.storedAt = storedAt
    self.role = role
    self.viewer = viewer
    self.recordLimit = recordLimit
    self.log = log
  }

  /// Executes an operation and returns its result.
  mutating func perform(_ sent: SentOperation, in storage: any RecordWriting) throws -> PushResult {
    let stored = try storage.storedResponse(for: sent.content.key)
    let result = try stored.map { try PushResult(json: Array($0.result.utf8)) }
    let verdict = try KeyDecision(stored: stored.map(\.digest), content: sent.content) {
      try result.map { try isResult($0, of: sent, in: storage) } ?? false
    }
    switch (verdict, result) {
    case (.returnStoredResponse, let stored?) where stored.outcome.isStored || !sent.content.isRenamed:
      // The user may have lost the project since.
      if viewer.isLimited, let name = sent.name, let project = try storage.located(name)?.project,
        let refusal = try gate(storage).refusal(of: .update, project)
      {
        notStored[name] = sent
        isUnmodified = false
        return PushResult(operationId: sent.id, outcome: refusal)
      }
      noteStored(stored, sent)
      return PushResult(operationId: sent.id, outcome: stored.outcome)
    case (.execute, _):
      let before = try storage.lastSequence
      let outcome = try attempt(sent, in: storage)
      if case .accepted = outcome {} else { isUnmodified = false }
      // An operation that moves other records, for example to another project, changes more than its payload.
      if try storage.lastSequence > before + 1 { isUnmodified = false }
      return PushResult(operationId: sent.id, outcome: outcome)
    case (.keyReused, _), (.returnStoredResponse, _):
      // A conflict or a refusal may be about former names of fields. It had no effect, so the device seals the operation again.
      isUnmodified = false
      if let name = sent.name { notStored[name] = sent }
      return PushResult(operationId: sent.id, outcome: .rejected(HTTPProblem.keyReused.problem))
    }
  }

  private mutating func attempt(_ sent: SentOperation, in storage: any RecordWriting) throws -> PushResult.Outcome {
    let operation: PushOperation
    do throws(HTTPProblem) {
      operation = try PushOperation(checking: sent.members, now: now)
    } catch {
      if let name = sent.name { notStored[name] = sent }
      return try keep(.rejected(error.problem), sent, in: storage)
    }
    if let other = dependency(of: operation) {
      notStored[operation.name] = sent
      return .waiting(for: other)
    }
    let handler = PushHandler(
      entities: entities, storage: storage, epochs: epochs, role: role, recordLimit: recordLimit, now: now,
      storedAt: storedAt)
    do {
      // The effect and the response are stored together or not at all.
      let (outcome, taken) = try storage.attempt {
        let handled = try gate(storage).admit(operation) { try handler.handle(operation) }
        if handled.outcome.isFinal {
          let response = PushResult(operationId: sent.id, outcome: handled.outcome).wire.json
          try storage.keep(response: response, to: sent.content, at: storedAt)
        }
        return handled
      }
      if taken > 0 { isUnmodified = false }
      if !outcome.isStored { notStored[operation.name] = sent }
      return outcome
    } catch {
      guard HTTPProblem(ofMachine: error) == nil else { throw error }
      log.failure("an operation on \(entities[operation.name.entityType]?.type ?? "an unknown kind"): \(error)")
      notStored[operation.name] = sent
      return .rejected(HTTPProblem.failure.problem)
    }
  }

  private func gate(_ storage: any RecordWriting) -> MemberGate {
    MemberGate(viewer: viewer, entities: entities, storage: storage)
  }

  private func keep(
    _ outcome: PushResult.Outcome, _ sent: SentOperation, in storage: any RecordWriting
  ) throws -> PushResult.Outcome {
    do {
      let text = PushResult(operationId: sent.id, outcome: outcome).wire.json
      try storage.attempt { try storage.keep(response: text, to: sent.content, at: storedAt) }
      return outcome
    } catch {
      guard HTTPProblem(ofMachine: error) == nil else { throw error }
      log.failure("cannot store a response: \(error)")
      return .rejected(HTTPProblem.failure.problem)
    }
  }

  /// Returns the earlier operation that this operation needs and that was not stored.
  private func dependency(of operation: PushOperation) -> String? {
    if let own = notStored[operation.name] { return own.id }
    guard !notStored.isEmpty, let entity = entities[operation.name.entityType] else { return nil }
    let fields = operation.patch.fields
    for reference in entity.references {
      if let targets = reference.targets {
        let values = reference.fields.map { fields[$0] ?? .null }
        if values.contains(.null) { continue }
        let other = notStored.first { $0.entityType == reference.entityType && $1.values(of: targets) == values }
        if let other { return other.value.id }
      } else if let name = reference.fields.first, case .text(let uuid)? = fields[name] {
        if let other = notStored[RecordName(reference.entityType, uuid)] { return other.id }
      }
    }
    return nil
  }

  /// Notes the stored response of an operation for the operations that follow.
  private mutating func noteStored(_ result: PushResult, _ sent: SentOperation) {
    switch result.outcome {
    case .accepted: break
    case .merged: isUnmodified = false
    case .conflict, .rejected, .waiting:
      isUnmodified = false
      if let name = sent.name { notStored[name] = sent }
    }
  }

  /// Returns whether a response without a digest, which version 1 stored, can belong to this operation. Two copies of a
  /// vault could use one operation id for different edits.
  private func isResult(_ result: PushResult, of sent: SentOperation, in storage: any RecordWriting) throws -> Bool {
    let version: Int64
    switch result.outcome {
    case .accepted(let accepted, _, _): version = accepted
    case .merged(let merged, _): version = merged.state.syncVersion
    // The operation was not stored, so the device tells its user and no edit is lost.
    case .conflict, .rejected, .waiting: return true
    }
    let operation: PushOperation
    do throws(HTTPProblem) {
      operation = try PushOperation(checking: sent.members, now: now)
    } catch {
      return false
    }
    guard let record = try storage.record(operation.name) else { return true }
    return record.mayContain(operation.patch, since: version)
  }
}

/// An operation of a request, with the members that every operation must have.
struct SentOperation: Sendable {
  /// The members of the operation.
  let members: SyncObject
  /// The operation's id on the device.
  let id: String
  /// The idempotency key and the digest of the content.
  let content: OperationContent

  /// Reads the ids of an operation.
  /// - Throws: ``HTTPProblem`` with 400 if the operation has no valid ids.
  init(_ value: SyncValue) throws(HTTPProblem) {
    guard case .object(let members) = value else {
      throw .badRequest("every operation must be an object", field: "operations")
    }
    self.members = members
    id = try PushId.read("operationId", of: members)
    content = OperationContent(key: try PushId.read("idempotencyKey", of: members), operation: members)
  }

  /// Returns the values that the operation sets.
  fileprivate func values(of names: [String]) -> [SyncValue] {
    guard case .object(let fields)? = members["fields"] else { return [] }
    return names.map { fields[$0] ?? .null }
  }

  /// What the operation says about the rows that it will need.
  func outline(in entities: [String: EntityDescription]) -> OperationOutline {
    guard let name, let entity = entities[name.entityType] else {
      return OperationOutline(key: content.key, record: name)
    }
    var fields: SyncObject = [:]
    if case .object(let sent)? = members["fields"] { fields = sent }
    let referenced = entity.references.filter { $0.targets == nil }.compactMap { reference in
      reference.fields.first.flatMap { fields.text($0) }.map { RecordName(reference.entityType, $0) }
    }
    var serverId: Int64?
    if case .integer(let id)? = members["serverId"] { serverId = id }
    return OperationOutline(
      key: content.key, record: name, referenced: referenced, fields: fields, serverId: serverId,
      isCreation: members["operationType"] == .text(OperationKind.create.rawValue),
      changesDeletion: members["operationType"] == .text(OperationKind.delete.rawValue)
        || members["isDeleted"] == .bool(false))
  }

  /// The record that the operation names; `nil` if it does not name a record.
  var name: RecordName? {
    guard case .text(let type)? = members["entityType"], case .text(let uuid)? = members["entityUuid"] else {
      return nil
    }
    return RecordName(type, uuid)
  }
}

extension ServerRecord {
  /// Returns whether a patch can have been stored with a version: each of its values is unchanged, or was changed
  /// later.
  func mayContain(_ patch: RecordPatch, since version: Int64) -> Bool {
    if let isDeleted = patch.isDeleted, isDeleted != state.isDeleted,
      !hasChanged(RecordState.deletionField, after: version)
    {
      return false
    }
    return patch.fields.members.allSatisfy { member in
      state.fields[member.name] == member.value || hasChanged(member.name, after: version)
    }
  }
}

/// The ids of a push: device, operation and idempotency key.
enum PushId {
  /// The longest id in bytes.
  static let greatestLength = 200

  /// Whether an id has an allowed length.
  private static func isValid(_ id: String) -> Bool { (1...greatestLength).contains(id.utf8.count) }

  /// Checks the id of a device, which is also sent in a header and therefore has visible ASCII characters only.
  /// - Parameters:
  ///   - name: the member, parameter or header with the id.
  ///   - isParameter: whether a parameter of the query has the id. The status is 422 in this case, and 400 otherwise.
  static func check(device id: String, _ name: String, isParameter: Bool = false) throws(HTTPProblem) {
    guard isValid(id), id.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      let rule = "\(name) must have 1 to \(greatestLength) visible ASCII characters"
      throw isParameter ? .invalid(rule, field: name) : .badRequest(rule, field: name)
    }
  }

  /// Returns an id of an operation.
  static func read(_ name: String, of object: SyncObject) throws(HTTPProblem) -> String {
    guard case .text(let id)? = object[name], isValid(id) else {
      throw .badRequest("\(name) must be a string of 1 to \(greatestLength) bytes", field: name)
    }
    return id
  }
}

extension PushOperation {
  /// The record that the operation names.
  var name: RecordName { RecordName(entityType, entityUuid) }

  /// Parses and checks an operation of a request.
  /// - Parameter now: the server's time in milliseconds, which replaces every later time of the operation.
  /// - Throws: ``HTTPProblem`` that names the member.
  init(checking members: SyncObject, now: Int64) throws(HTTPProblem) {
    do throws(SyncModelError) {
      self = try PushOperation(wire: .object(members))
    } catch {
      throw .invalid("\(error)", field: error.member)
    }
    guard UUIDText.isCanonical(entityUuid) else {
      throw .invalid("entityUuid must be a lowercase UUID", field: "entityUuid")
    }
    guard baseVersion <= Self.greatestVersion else {
      throw .invalid("baseVersion must be at most \(Self.greatestVersion)", field: "baseVersion")
    }
    if kind == .create { (baseVersion, baseEpoch) = (0, nil) }
    patch.updatedAt = min(patch.updatedAt, now)
    patch.editTimes = patch.editTimes.mapValues { min($0, now) }
    createdAt = min(createdAt ?? patch.updatedAt, now)
  }

  /// The greatest version that an operation may name.
  static let greatestVersion: Int64 = 1 << 52
}
