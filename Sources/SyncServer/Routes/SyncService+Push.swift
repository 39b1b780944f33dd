import HTTPServer
import ServerStorage
import SyncModel

extension SyncService {
  func push(_ call: RouteCall<Member>) async throws -> Response {
    let request = try call.body(as: PushEnvelope.self)
    guard request.operations.count <= limits.pushOperations else {
      throw HTTPProblem(
        413, "Too many operations", "a request has at most \(limits.pushOperations) operations", field: "operations")
    }
    let sent = try request.operations.map { operation throws(HTTPProblem) in try SentOperation(operation) }
    try checkSchemas(of: sent)
    try PushId.check(request.deviceId, "deviceId")
    let (device, cursor) = (request.deviceId, request.cursor)
    let mark = DeviceCounter(counter: request.deviceCounter, operations: sent.map(\.content))
    // A client that disconnects cancels its request. The work continues, and the repeated request finds the stored
    // responses.
    let (role, storedAt) = (call.caller.role, storingTime(now))
    let work = Task { [storage, now, log] in
      try await storage.write(call.caller.account) { [entities = storage.entities] data in
        if mark.provesCopy(after: try data.mark(of: device)) { throw HTTPProblem.deviceCopied }
        try data.keep(mark, of: device, at: storedAt)
        let batch = PushBatch(
          entities: entities, epochs: try data.epochs, now: now, storedAt: storedAt, role: role, log: log)
        return try Self.perform(sent, cursor: cursor, batch, in: data)
      }
    }
    return .json(try await work.value.wire)
  }

  private static func perform(
    _ operations: [SentOperation], cursor text: String?, _ batch: PushBatch, in data: any RecordWriting
  ) throws -> PushResponse {
    let before = try data.lastSequence
    var batch = batch
    var response = PushResponse(serverTime: batch.now, epoch: batch.epochs.current, cursor: nil, results: [])
    for operation in operations { response.results.append(try batch.perform(operation, in: data)) }
    if let text, batch.isUnmodified, let cursor = try known(text, data), cursor.sequence == before {
      // No other device changed a record: this one has seen everything up to here.
      response.cursor = Cursor(epoch: cursor.epoch, sequence: try data.lastSequence, floor: cursor.floor).text
    }
    return response
  }

  /// The cursor of a push is only a help: one that is not known is none.
  private static func known(_ text: String, _ data: any RecordReading) throws -> Cursor? {
    do {
      return try Cursor(text, for: data)
    } catch is HTTPProblem {
      return nil
    }
  }

  private func checkSchemas(of operations: [SentOperation]) throws(HTTPProblem) {
    for operation in operations {
      guard case .text(let type)? = operation.members["entityType"],
        case .integer(let version)? = operation.members["schemaVersion"], let entity = storage.entities[type],
        let served = storage.schemas.first(where: { $0.name == entity.schemaName }), version > served.version
      else { continue }
      throw HTTPProblem(
        409, "The server's schema is too old", "it has version \(served.version) of the schema \(served.name)",
        type: ServerProblem.schemaTooOld)
    }
  }
}
