import HTTPServer
import ServerStorage
import SyncModel

extension SyncService {
  func push(_ call: RouteCall<Member>) async throws -> Response {
    let body = try object(call)
    guard case .array(let operations)? = body["operations"] else {
      throw HTTPProblem.badRequest("operations is missing, or not a list", field: "operations")
    }
    guard operations.count <= limits.pushOperations else {
      throw HTTPProblem(
        413, "Too many operations", "a request has at most \(limits.pushOperations) operations", field: "operations")
    }
    var sent: [SentOperation] = []
    for operation in operations { sent.append(try SentOperation(operation)) }
    try checkSchemas(of: operations)
    let device = try IncomingOperation.id("deviceId", of: body)
    guard case .integer(let counter)? = body["deviceCounter"], counter >= 0 else {
      throw HTTPProblem.badRequest("deviceCounter is a whole number from 0 on", field: "deviceCounter")
    }
    var cursor: String?
    if case .text(let text)? = body["cursor"] { cursor = text }
    let mark = DeviceCounter(counter: counter, operations: sent.map(\.content))
    // A client that disconnects cancels its request. The work continues, and the repeated request finds the stored
    // responses.
    let (role, storedAt) = (call.caller.role, storingTime(now))
    let work = Task { [sent, cursor, storage, now, log] in
      try await storage.write(call.caller.account) { [entities = storage.entities] data in
        if mark.provesCopy(after: try data.mark(of: device)) { throw HTTPProblem.deviceCopied }
        try data.keep(mark, of: device, at: storedAt)
        let batch = PushBatch(
          entities: entities, epochs: try data.epochs, now: now, storedAt: storedAt, role: role, log: log)
        return try Self.perform(sent, cursor: cursor, batch, in: data)
      }
    }
    return .json(try await work.value)
  }

  private static func perform(
    _ operations: [SentOperation], cursor text: String?, _ batch: PushBatch, in data: any RecordWriting
  ) throws -> SyncValue {
    let before = try data.lastSequence
    var batch = batch
    var results: [SyncValue] = []
    for operation in operations { results.append(try batch.perform(operation, in: data)) }
    var answer: SyncObject = [
      "serverTime": wireTime(batch.now), "epoch": .text(batch.epochs.current), "results": .array(results),
    ]
    if let text, batch.isUnmodified, let cursor = try known(text, data), cursor.sequence == before {
      // No other device changed a record: this one has seen everything up to here.
      answer["cursor"] = .text(
        Cursor(epoch: cursor.epoch, sequence: try data.lastSequence, floor: cursor.floor).text)
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
        type: ServerProblem.schemaTooOld)
    }
  }
}
