import SyncModel

extension SyncService {
  func push(_ call: RouteCall) async throws -> Response {
    let body = try object(call)
    guard case .array(let operations)? = body["operations"] else {
      throw HTTPProblem.badRequest("operations is missing, or not a list", field: "operations")
    }
    guard operations.count <= limits.pushOperations else {
      throw HTTPProblem(
        413, "Too many operations", "a request has at most \(limits.pushOperations) operations", field: "operations")
    }
    for operation in operations { _ = try IncomingOperation.id(of: operation) }
    try checkSchemas(of: operations)
    var cursor: String?
    if case .text(let text)? = body["cursor"] { cursor = text }
    let answer = try await storage.write(call.member.account) { [cursor, entities = storage.entities, now, log] data in
      try Self.perform(operations, cursor: cursor, entities: entities, now: now, log: log, in: data)
    }
    return .json(answer)
  }

  private static func perform(
    _ operations: [SyncValue], cursor text: String?, entities: [String: EntityDescription], now: Int64, log: RequestLog,
    in data: any RecordWriting
  ) throws -> SyncValue {
    let before = try data.lastSequence
    var batch = PushBatch(entities: entities, now: now, log: log)
    var results: [SyncValue] = []
    for operation in operations { results.append(try batch.perform(operation, in: data)) }
    var answer: SyncObject = ["serverTime": wireTime(now), "results": .array(results)]
    if let text, batch.isAsSent, let cursor = try known(text, data), cursor.sequence == before {
      // Nobody else changed anything: the device has seen all up to here.
      answer["cursor"] = .text(
        Cursor(identity: cursor.identity, sequence: try data.lastSequence, floor: cursor.floor).text)
    }
    return .object(answer)
  }

  /// The cursor of a push is only a help: one that is not known is none.
  private static func known(_ text: String, _ data: any RecordReading) throws -> Cursor? {
    do {
      return try Cursor(text, for: data)
    } catch is HTTPProblem {
      return nil
    }
  }

  private func checkSchemas(of operations: [SyncValue]) throws(HTTPProblem) {
    for operation in operations {
      guard case .object(let members) = operation, case .text(let type)? = members["entityType"],
        case .integer(let version)? = members["schemaVersion"], let entity = storage.entities[type],
        let served = storage.schemas.first(where: { $0.name == entity.schemaName }), version > served.version
      else { continue }
      throw HTTPProblem(
        409, "The server's schema is too old", "it has version \(served.version) of the schema \(served.name)",
        type: "urn:fieldvault:schema-too-old")
    }
  }
}
