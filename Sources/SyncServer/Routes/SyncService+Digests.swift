import HTTPServer
import ServerStorage
import SyncModel

extension SyncService {
  func digests(_ call: RouteCall<Member>) async throws -> Response {
    let projects = try call.projects()
    let columns = storage.entities.mapValues(\.digestColumns).filter { $0.value != DigestColumns() }
    let now = now
    return try await storage.read(call.caller.account) { data in
      let entities = try data.entityDigests(projects: projects)
      let end = try data.lastSequence
      let cursor = Cursor(epoch: try data.epochs.current, sequence: end, floor: end)
      return .json(
        EntityDigests(
          serverTime: now, epoch: cursor.epoch, cursor: cursor.text, entities: entities, columns: columns
        ).wire)
    }
  }

  func buckets(_ call: RouteCall<Member>) async throws -> Response {
    let projects = try call.projects()
    let type = try entityType(call)
    return try await storage.read(call.caller.account) { data in
      let buckets = try data.bucketDigests(of: type, projects: projects)
      return .json(BucketDigests(epoch: try data.epochs.current, buckets: buckets).wire)
    }
  }

  func bucket(_ call: RouteCall<Member>) async throws -> Response {
    let projects = try call.projects()
    let type = try entityType(call)
    let bucket = call.variables["bucket"] ?? ""
    guard bucket.utf8.count == 2, bucket.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { throw HTTPProblem.invalid("a bucket must be two lowercase hexadecimal digits", field: "bucket") }
    return try await storage.read(call.caller.account) { data in
      let records = try data.recordDigests(of: type, bucket: bucket, projects: projects)
      return .json(RecordDigests(epoch: try data.epochs.current, records: records).wire)
    }
  }

  private func entityType(_ call: RouteCall<Member>) throws(HTTPProblem) -> String {
    guard let type = call.variables["entity"], storage.entities[type] != nil else {
      throw HTTPProblem(404, "No such entity", "GET /v1/digests lists the entities that have records")
    }
    return type
  }
}
