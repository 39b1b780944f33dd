import SyncModel

/// Does the operations of one request in order, inside one transaction, each by itself.
struct PushBatch {
  let entities: [String: EntityDescription]
  let now: Int64
  let log: RequestLog
  /// Records of which an operation of this request was not stored, with the id of that operation.
  private var unsettled: [RecordName: String] = [:]
  /// Whether the server has exactly what the device sent, and nothing else changed along with it.
  private(set) var isAsSent = true

  init(entities: [String: EntityDescription], now: Int64, log: RequestLog) {
    self.entities = entities
    self.now = now
    self.log = log
  }

  /// Does an operation and returns its result.
  mutating func perform(_ value: SyncValue, in storage: any RecordWriting) throws -> SyncValue {
    let id = try IncomingOperation.id(of: value)
    if let stored = try storage.answer(to: id) {
      let result = try SyncValue(parsing: stored)
      noteStored(result, value, id)
      return result
    }
    let outcome = try attempt(value, id, in: storage)
    if case .accepted = outcome {} else { isAsSent = false }
    return outcome.json(operationId: id, entities: entities)
  }

  private mutating func attempt(
    _ value: SyncValue, _ id: String, in storage: any RecordWriting
  ) throws -> PushOutcome {
    let operation: IncomingOperation
    do throws(HTTPProblem) {
      operation = try IncomingOperation(value, now: now)
    } catch {
      if let name = Self.name(of: value) { unsettled[name] = id }
      return try keep(.rejected(error), id, in: storage)
    }
    if let other = dependency(of: operation) {
      unsettled[operation.name] = id
      return .waiting(for: other)
    }
    let judge = OperationJudge(entities: entities, storage: storage, now: now)
    do {
      // The effect and the answer to it are there together or not at all.
      let (outcome, taken) = try storage.attempt {
        let judged = try judge.judge(operation)
        let text = judged.outcome.json(operationId: id, entities: entities).json
        if judged.outcome.isFinal { try storage.keep(answer: text, to: id, at: now) }
        return judged
      }
      if taken > 0 { isAsSent = false }
      if !outcome.isStored { unsettled[operation.name] = id }
      return outcome
    } catch {
      guard HTTPProblem(ofMachine: error) == nil else { throw error }
      log.failure("an operation on \(entities[operation.name.entityType]?.type ?? "an unknown kind"): \(error)")
      unsettled[operation.name] = id
      return .rejected(.failure)
    }
  }

  private func keep(_ outcome: PushOutcome, _ id: String, in storage: any RecordWriting) throws -> PushOutcome {
    do {
      let text = outcome.json(operationId: id, entities: entities).json
      try storage.attempt { try storage.keep(answer: text, to: id, at: now) }
      return outcome
    } catch {
      guard HTTPProblem(ofMachine: error) == nil else { throw error }
      log.failure("an answer could not be kept: \(error)")
      return .rejected(.failure)
    }
  }

  /// The operation before this one that was not stored and that it needs.
  private func dependency(of operation: IncomingOperation) -> String? {
    if let own = unsettled[operation.name] { return own }
    guard !unsettled.isEmpty, let entity = entities[operation.name.entityType] else { return nil }
    for member in operation.patch.fields.members {
      guard let reference = entity.references[member.name], case .text(let uuid) = member.value else { continue }
      if let other = unsettled[RecordName(reference.entityType, uuid)] { return other }
    }
    return nil
  }

  /// What was answered before counts for what follows.
  private mutating func noteStored(_ result: SyncValue, _ value: SyncValue, _ id: String) {
    guard case .object(let object) = result, case .text(let word)? = object["result"] else { return }
    if word != "accepted" { isAsSent = false }
    guard word != "accepted", word != "merged", let name = Self.name(of: value) else { return }
    unsettled[name] = id
  }

  private static func name(of value: SyncValue) -> RecordName? {
    guard case .object(let operation) = value, case .text(let type)? = operation["entityType"],
      case .text(let uuid)? = operation["entityUuid"]
    else { return nil }
    return RecordName(type, uuid)
  }
}
