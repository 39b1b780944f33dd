import Platform
import CipherSQL
import HTTPServer
import ServerStorage
import SyncModel

extension SyncService {
  func changes(_ call: RouteCall<Member>) async throws -> Response {
    let limit = try call.integer("limit", default: min(500, limits.pageSize), in: 1...limits.pageSize)
    let projects = try call.projects()
    let text = call.request.query["cursor"]
    let entities = storage.entities
    let now = now
    return try await storage.read(call.caller.account) { data in
      let cursor = try text.map { try Cursor($0, for: data) }
      let page = try data.changes(after: cursor?.sequence, limit: limit, projects: projects)
      let epoch = try data.epochs.current
      let next = Cursor(
        epoch: epoch, sequence: page.end, floor: try cursor?.floor ?? data.lastSequence)
      return .json(
        ChangesPage(
          serverTime: now, epoch: epoch, changes: page.records.map { $0.remote(entities) }, cursor: next.text,
          hasMore: page.remaining > 0, remaining: Int64(page.remaining)
        ).wire)
    }
  }

  func watch(_ call: RouteCall<Member>) async throws -> Response {
    let seconds = try call.integer("timeout", default: 50, in: 1...55)
    guard let text = call.request.query["cursor"] else {
      throw HTTPProblem.invalid("cursor is missing", field: "cursor")
    }
    let cursor = try await storage.read(call.caller.account) { data in try Cursor(text, for: data) }
    let isAdmitted = waiting.withLock { waiting in
      guard waiting < limits.waiters else { return false }
      waiting += 1
      return true
    }
    guard isAdmitted else { throw HTTPProblem.tooManyRequests(retryAfter: seconds) }
    defer { waiting.withLock { $0 -= 1 } }
    let hasChanged = try await storage.waitForChange(
      call.caller.account, after: cursor.sequence, seconds: seconds)
    return .json(WatchResponse(changed: hasChanged).wire)
  }

  private static let answerWeight = 64 << 20
  private static let tooMuch = HTTPProblem(413, "The answer would be too large", "ask for fewer records at once")

  func records(_ call: RouteCall<Member>) async throws -> Response {
    let request = try call.body(as: RecordsRequest.self)
    let (type, uuids) = (request.entityType, request.uuids)
    guard storage.entities[type] != nil else {
      throw HTTPProblem.invalid("there is no such kind of record", field: "entityType")
    }
    guard uuids.count <= limits.recordsPerRequest else {
      throw HTTPProblem.invalid("uuids is a list of at most \(limits.recordsPerRequest)", field: "uuids")
    }
    guard uuids.allSatisfy(UUIDText.isCanonical) else {
      throw HTTPProblem.invalid("uuids are UUIDs in lower case", field: "uuids")
    }
    let entities = storage.entities
    let now = now
    try await storage.applyPendingCascades(call.caller.account, uuids.map { RecordName(type, $0) })
    return try await storage.read(call.caller.account) { data in
      let current = try data.epochs.current
      var found: [RemoteRecord] = []
      var missing: [String] = []
      var weight = 0
      for uuid in uuids {
        if let record = try data.record(RecordName(type, uuid)) {
          weight += record.weight
          if weight > Self.answerWeight, !found.isEmpty { throw Self.tooMuch }
          // Within one epoch all versions are shared.
          let shared = try request.epoch.flatMap { $0 == current ? nil : try data.sharedVersion(of: record, with: $0) }
          found.append(record.remote(entities, sharedVersion: shared))
        } else {
          missing.append(uuid)
        }
      }
      return .json(RecordsResponse(serverTime: now, epoch: current, changes: found, missing: missing).wire)
    }
  }
}
