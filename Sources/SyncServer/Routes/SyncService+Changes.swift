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
      return .json([
        "serverTime": wireTime(now), "epoch": .text(epoch), "changes": .array(page.records.map { $0.json(entities) }),
        "cursor": .text(next.text), "hasMore": .bool(page.remaining > 0), "remaining": .integer(Int64(page.remaining)),
      ])
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
    return .json(["changed": .bool(hasChanged)])
  }

  private static let answerWeight = 64 << 20
  private static let tooMuch = HTTPProblem(413, "The answer would be too large", "ask for fewer records at once")

  func records(_ call: RouteCall<Member>) async throws -> Response {
    let body = try object(call)
    guard case .text(let type)? = body["entityType"], storage.entities[type] != nil else {
      throw HTTPProblem.invalid("there is no such kind of record", field: "entityType")
    }
    guard case .array(let elements)? = body["uuids"], elements.count <= limits.recordsPerRequest else {
      throw HTTPProblem.invalid("uuids is a list of at most \(limits.recordsPerRequest)", field: "uuids")
    }
    var uuids: [String] = []
    for element in elements {
      guard case .text(let uuid) = element, UUIDText.isCanonical(uuid) else {
        throw HTTPProblem.invalid("uuids are UUIDs in lower case", field: "uuids")
      }
      uuids.append(uuid)
    }
    var epoch: String?
    if case .text(let text)? = body["epoch"] { epoch = text }
    let entities = storage.entities
    let now = now
    try await storage.applyPendingCascades(call.caller.account, uuids.map { RecordName(type, $0) })
    return try await storage.read(call.caller.account) { [uuids, epoch] data in
      let current = try data.epochs.current
      var found: [SyncValue] = []
      var missing: [SyncValue] = []
      var weight = 0
      for uuid in uuids {
        if let record = try data.record(RecordName(type, uuid)) {
          weight += record.weight
          if weight > Self.answerWeight, !found.isEmpty { throw Self.tooMuch }
          // Within one epoch all versions are shared.
          let shared = try epoch.flatMap { $0 == current ? nil : try data.sharedVersion(of: record, with: $0) }
          found.append(record.json(entities, sharedVersion: shared))
        } else {
          missing.append(.text(uuid))
        }
      }
      return .json([
        "serverTime": wireTime(now), "epoch": .text(current), "changes": .array(found), "missing": .array(missing),
      ])
    }
  }
}
