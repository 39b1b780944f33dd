import HTTPServer
import ServerStorage
import SyncModel

extension SyncService {
  func digests(_ call: RouteCall<Member>) async throws -> Response {
    let projects = try call.projects()
    let viewer = viewer(call.caller)
    let columns = storage.entities.mapValues(\.digestColumns).filter { $0.value != DigestColumns() }
    let now = now
    return try await storage.read(call.caller.account) { data in
      let scope = try data.scope(of: viewer)
      let entities = try data.entityDigests(projects: MemberScope.part(of: projects, seenBy: scope))
      let end = try data.lastSequence
      let epoch = try data.epochs.current
      let cursor = Cursor(
        ChangePosition(epoch: epoch, sequence: end, floor: end),
        members: scope.map { _ in MemberPosition(viewer: MemberPosition.mark(of: viewer), followed: end) })
      return .json(
        EntityDigests(
          serverTime: now, epoch: epoch, cursor: cursor.text, entities: entities, columns: columns,
          memberProjects: scope?.projects
        ).wire)
    }
  }

  func buckets(_ call: RouteCall<Member>) async throws -> Response {
    let projects = try call.projects()
    let type = try entityType(call)
    let viewer = viewer(call.caller)
    return try await storage.read(call.caller.account) { data in
      let projects = MemberScope.part(of: projects, seenBy: try data.scope(of: viewer))
      let buckets = try data.bucketDigests(of: type, projects: projects)
      return .json(
        BucketDigests(epoch: try data.epochs.current, buckets: buckets, bucketLimit: limits.bucketsPerRequest).wire)
    }
  }

  func bucketRecords(_ call: RouteCall<Member>) async throws -> Response {
    let projects = try call.projects()
    let type = try entityType(call)
    let buckets = try buckets(named: call.variables["buckets"] ?? "")
    let viewer = viewer(call.caller)
    return try await storage.read(call.caller.account) { data in
      let projects = MemberScope.part(of: projects, seenBy: try data.scope(of: viewer))
      if buckets.count > 1 {
        let digests = try data.bucketDigests(of: type, projects: projects)
        let count = buckets.reduce(0) { $0 + (digests[$1]?.count ?? 0) }
        guard count <= limits.digestsPerRequest else {
          throw HTTPProblem.invalid(
            "these buckets have \(count) records; ask for at most \(limits.digestsPerRequest), or for one bucket",
            field: "buckets")
        }
      }
      let records = try data.recordDigests(of: type, buckets: buckets, projects: projects)
      return .json(RecordDigests(epoch: try data.epochs.current, records: records).wire)
    }
  }

  private func buckets(named text: String) throws(HTTPProblem) -> [String] {
    let names = text.split(separator: ",", omittingEmptySubsequences: false)
    for name in names {
      guard name.utf8.count == 2, name.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
      else {
        throw HTTPProblem.invalid(
          "each bucket must be two lowercase hexadecimal digits, such as 0f,a3", field: "buckets")
      }
    }
    guard names.count <= limits.bucketsPerRequest else {
      throw HTTPProblem.invalid("at most \(limits.bucketsPerRequest) buckets", field: "buckets")
    }
    return Set(names.map(String.init)).sorted()
  }

  private func entityType(_ call: RouteCall<Member>) throws(HTTPProblem) -> String {
    guard let type = call.variables["entity"], storage.entities[type] != nil else {
      throw HTTPProblem(404, "No such entity", "GET /v1/digests lists the entities that have records")
    }
    return type
  }
}
