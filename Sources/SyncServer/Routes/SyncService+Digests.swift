import SyncModel

extension SyncService {
  func digests(_ call: RouteCall) async throws -> Response {
    let projects = try call.projects()
    let types = storage.entities.keys.sorted()
    let now = now
    return try await storage.read(call.member.account) { data in
      var entities = SyncObject()
      for type in types {
        var sum = DigestSum()
        try data.forEachDigest(type, bucket: nil, projects: projects) { sum.add($0) }
        if sum.summary != .none { entities[type] = sum.summary.wire }
      }
      let end = try data.lastSequence
      let cursor = Cursor(identity: try data.identity, sequence: end, floor: end)
      return .json(["serverTime": wireTime(now), "cursor": .text(cursor.text), "entities": .object(entities)])
    }
  }

  func buckets(_ call: RouteCall) async throws -> Response {
    let projects = try call.projects()
    let type = try entityType(call)
    return try await storage.read(call.member.account) { data in
      var sums: [String: DigestSum] = [:]
      try data.forEachDigest(type, bucket: nil, projects: projects) { record in
        sums[record.bucket, default: DigestSum()].add(record)
      }
      return .json(["buckets": .object(SyncObject(sums.map { ($0.key, $0.value.summary.wire) }))])
    }
  }

  func bucket(_ call: RouteCall) async throws -> Response {
    let projects = try call.projects()
    let type = try entityType(call)
    let bucket = call.variables["bucket"] ?? ""
    guard bucket.utf8.count == 2, bucket.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { throw HTTPProblem.invalid("a bucket is two hexadecimal digits in lower case", field: "bucket") }
    return try await storage.read(call.member.account) { data in
      var records: [SyncValue] = []
      try data.forEachDigest(type, bucket: bucket, projects: projects) { record in
        records.append(record.wire)
      }
      return .json(["records": .array(records)])
    }
  }

  private func entityType(_ call: RouteCall) throws(HTTPProblem) -> String {
    guard let type = call.variables["entity"], storage.entities[type] != nil else {
      throw HTTPProblem(404, "No such kind of record", "GET /v1/digests names the kinds that have records")
    }
    return type
  }
}
