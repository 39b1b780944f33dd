import Foundation
import ServerSupport
import SyncModel
import Testing

@testable import SyncServer

@Suite struct PullTests {
  private let server: TestServer
  private let client: TestClient

  init() throws {
    server = try TestServer()
    client = try server.client("ada")
  }

  private func makeProjects(_ count: Int, with client: TestClient? = nil) async throws -> [String] {
    let uuids = (0..<count).map { _ in newUuid() }
    for start in stride(from: 0, to: count, by: 25) {
      let part = uuids[start..<min(start + 25, count)]
      let words = try await (client ?? self.client).results(
        part.map { Operation.create("Project", $0, ["title": .text($0)]) })
      #expect(words.allSatisfy { $0 == "accepted" })
    }
    return uuids
  }

  @Test("A pull returns pages in order with the number of remaining changes") func pagesAndRemaining() async throws {
    let uuids = try await makeProjects(30)
    let page = try await client.get("/v1/changes?limit=12")
    #expect(page["hasMore"] == true && page["remaining"] == 18 && page.list("changes").count == 12)
    let (changes, cursor) = try await client.pull(limit: 7)
    #expect(changes.map { $0["entityUuid"] } == uuids.map { .text($0) })
    #expect(try await client.pull(after: cursor).changes.isEmpty)
  }

  @Test("Only the first page counts the remaining changes, and later changes still come") func countsOnce() async throws
  {
    let uuids = try await makeProjects(10)
    var page = try await client.get("/v1/changes?limit=4")
    #expect(page["remaining"] == 6)
    let later = try await makeProjects(3)
    var seen = page.list("changes").compactMap { $0["entityUuid"]?.string }
    var remaining: [SyncValue?] = []
    while page["hasMore"] == true {
      page = try await client.get("/v1/changes?limit=4&cursor=\(try #require(page.text("cursor")))")
      seen += page.list("changes").compactMap { $0["entityUuid"]?.string }
      remaining.append(page["remaining"])
    }
    #expect(seen == uuids + later)
    #expect(remaining == [2, 1, 0])
  }

  @Test("A first pull omits deleted records, and later pulls announce deletions") func firstPullLeavesOutWhatIsDeleted()
    async throws
  {
    let uuids = try await makeProjects(2)
    let start = try await client.pull().cursor
    _ = try await client.push([Operation.delete("Project", uuids[0], version: 1)])
    #expect(try await client.pull().changes.map { $0["entityUuid"] } == [.text(uuids[1])])
    let later = try await client.pull(after: start).changes
    #expect(later.map { $0["entityUuid"] } == [.text(uuids[0])] && later[0]["isDeleted"] == true)
  }

  @Test("A pull can be limited to projects") func projectsNarrowWhatIsPulled() async throws {
    let uuids = try await makeProjects(2)
    let (room, note, material) = (newUuid(), newUuid(), newUuid())
    _ = try await client.push([
      Operation.create("Room", room, ["title": "Hall", "projectId": .text(uuids[0])]),
      Operation.create("Note", note, ["body": "wet", "projectId": .text(uuids[1])]),
      Operation.create("Material", material, ["name": "Oak"]),
    ])
    let (changes, cursor) = try await client.pull(projects: uuids[0])
    #expect(Set(changes.compactMap { $0["entityUuid"]?.string }) == [uuids[0], room, material])
    // A room that moves to another project is a change for the devices that follow that project.
    _ = try await client.push([Operation.update("Room", room, ["projectId": .text(uuids[1])], version: 1)])
    #expect(try await client.pull(after: cursor, projects: uuids[1]).changes.map { $0["entityUuid"] } == [.text(room)])
    #expect(try await client.get("/v1/changes?projects=x").status == 422)
  }

  @Test("A cursor of other data is refused with 410") func cursorsOfOtherDataAreNotKnown() async throws {
    _ = try await makeProjects(1)
    let other = try server.client("eve", account: "other")
    let cursor = try await other.pull().cursor
    for bad in [
      cursor, "x", "1.2.3.4", "1..0.0", try await client.pull().cursor.replacingOccurrences(of: ".1.", with: ".9."),
    ] {
      let response = try await client.get("/v1/changes?cursor=\(bad)")
      #expect(response.status == 410 && response.text("type") == "urn:fieldvault:cursor-unknown", "\(bad)")
    }
  }

  @Test("An account neither sees nor changes records of another") func accountsDoNotSeeEachOther() async throws {
    let uuids = try await makeProjects(1)
    let other = try server.client("eve", account: "other")
    #expect(try await other.pull().changes.isEmpty)
    #expect(
      try await other.results([
        Operation.create("Room", newUuid(), ["title": "Hall", "projectId": .text(uuids[0])]),
        Operation.update("Project", uuids[0], ["title": "Mine"], version: 1),
      ]) == ["conflict parent_missing projectId", "rejected 404"])
    let response = try await other.request(
      "POST", "/v1/records", ["entityType": "Project", "uuids": [.text(uuids[0])]])
    #expect(response.list("changes").isEmpty && response.list("missing") == [.text(uuids[0])])
    // The same uuid and the same operation id in another account are others.
    #expect(try await other.results([Operation.create("Project", uuids[0], ["title": "Own"])]) == ["accepted"])
  }

  @Test("Digests of entities, buckets and records agree with the pulled records") func digestsOfAllLevels() async throws
  {
    let uuids = try await makeProjects(3)
    let (changes, _) = try await client.pull()
    let top = try await client.get("/v1/digests")
    let columns = try DigestColumns(wire: top["columns", "Project"] ?? ["added": [:], "computed": []])
    func fields(of record: SyncValue) -> SyncObject {
      if case .object(let fields)? = record["fields"] { return fields }
      return [:]
    }
    let digests = changes.sorted { ($0["entityUuid"]?.string ?? "") < ($1["entityUuid"]?.string ?? "") }.map { record in
      (
        uuid: record["entityUuid"]?.string ?? "",
        digest: SyncValue.object([
          "createdAt": record["createdAt"] ?? .null, "entityType": "Project",
          "entityUuid": record["entityUuid"] ?? .null,
          "fields": .object(columns.counted(fields(of: record))), "updatedAt": record["updatedAt"] ?? .null,
        ]).digest
      )
    }
    var sum = DigestSum()
    for record in digests { sum.add(RecordDigest(entityUuid: record.uuid, version: 1, digest: record.digest)) }
    #expect(top["entities", "Project", "count"] == 3 && top["entities", "Room"] == nil)
    #expect(top["entities", "Project", "digest"] == .text(sum.summary.digest))
    #expect(try await client.pull(after: top.text("cursor")).changes.isEmpty)
    let bucket = String(uuids[0].suffix(2))
    #expect(try await client.get("/v1/digests/Project")["buckets", bucket, "count"] != nil)
    let records = try await client.get("/v1/digests/Project/\(bucket)").list("records")
    #expect(records.contains { $0["entityUuid"] == .text(uuids[0]) && $0["version"] == 1 })
    #expect(records.contains { $0["digest"]?.string == digests.first { $0.uuid == uuids[0] }?.digest })
    #expect(try await client.get("/v1/digests/Spaceship").status == 404)
    let buckets = Set(uuids.map { String($0.suffix(2)) }).sorted()
    let all = try await client.get("/v1/digests/Project/\(buckets.joined(separator: ","))").list("records")
    #expect(Set(all.compactMap { $0["entityUuid"]?.string }) == Set(uuids))
    let limit = try await client.get("/v1/digests/Project")["bucketLimit"]
    #expect(limit == .integer(Int64(ServerLimits().bucketsPerRequest)))
  }

  @Test("Several buckets in one request have a limited number of records, and one bucket always responds")
  func recordsOfSeveralBuckets() async throws {
    let server = try TestServer { $0.digestsPerRequest = 3 }
    let client = try server.client("ada")
    let uuids = (0..<4).map { String(newUuid().dropLast(2)) + ["0f", "0f", "0f", "a3"][$0] }
    _ = try await client.results(uuids.map { Operation.create("Project", $0, ["title": "Elm"]) })
    #expect(try await client.get("/v1/digests/Project/0f,a3").status == 422)
    #expect(try await client.get("/v1/digests/Project/0f,a4").list("records").count == 3)
    _ = try await client.results([
      Operation.create("Project", String(newUuid().dropLast(2)) + "0f", ["title": "Elm"])
    ])
    #expect(try await client.get("/v1/digests/Project/0f").list("records").count == 4)
  }

  @Test(
    "A request for digests of records names one or more buckets",
    arguments: [
      ("zz", 422), ("0f,", 422), ("0f,g0", 422), ("0f,a3,0f", 200),
      (Array(repeating: "0f", count: 64).joined(separator: ","), 200),
      (Array(repeating: "0f", count: 65).joined(separator: ","), 422),
    ])
  func namesOfBuckets(names: String, status: Int) async throws {
    #expect(try await client.get("/v1/digests/Project/\(names)").status == status)
  }

  @Test("A watch responds to a change at once and otherwise at its timeout") func watchRespondsAtOnce() async throws {
    let cursor = try await client.pull().cursor
    let bob = try server.client("bob")
    async let watched = bob.get("/v1/watch?cursor=\(cursor)&timeout=30")
    try await Task.sleep(for: .milliseconds(300))
    let start = ContinuousClock.now
    _ = try await makeProjects(1)
    #expect(try await watched["changed"] == true)
    // Far from the timeout; how fast it is on a busy machine is no matter of right or wrong.
    #expect(ContinuousClock.now - start < .seconds(15))
    #expect(try await bob.get("/v1/watch?cursor=\(cursor)&timeout=30")["changed"] == true, "there is a change already")
    let now = try await client.pull().cursor
    #expect(try await bob.get("/v1/watch?cursor=\(now)&timeout=1")["changed"] == false)
    #expect(try await bob.get("/v1/watch?cursor=\(now)&timeout=99").status == 422)
    for device in ["", String(repeating: "d", count: 201)] {
      #expect(try await bob.get("/v1/watch?cursor=\(now)&timeout=1&deviceId=\(device)").status == 422)
    }
    #expect(try await bob.get("/v1/watch?cursor=\(now)&timeout=1&deviceId=tablet")["changed"] == false)
  }

  @Test("A watch for projects passes over changes of others, and goes on behind them") func watchOfProjects()
    async throws
  {
    let bob = try server.client("bob")
    let own = try #require(try await makeProjects(1).first)
    let cursor = try await bob.pull().cursor
    _ = try await makeProjects(2)
    let passed = try await bob.get("/v1/watch?cursor=\(cursor)&timeout=1&projects=\(own)")
    #expect(passed["changed"] == false)
    let next = try #require(passed.text("cursor"))
    let pulled = try await bob.get("/v1/changes?cursor=\(cursor)").text("cursor")
    #expect(next != cursor && next == pulled)
    #expect(try await bob.get("/v1/watch?cursor=\(cursor)&timeout=1")["changed"] == true, "without projects")
    let unchanged = try await bob.get("/v1/watch?cursor=\(next)&timeout=1&projects=\(own)")
    #expect(unchanged["changed"] == false && unchanged["cursor"] == nil)
    #expect(try await bob.get("/v1/watch?cursor=\(next)&timeout=1&projects=elm").status == 422)
  }

  @Test("No concurrent push is missed by a cursor") func concurrentPushesNeverSlipUnderACursor() async throws {
    let pushers = 4
    let each = 10
    let expected = pushers * each
    let pulled = try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<pushers {
        group.addTask {
          for _ in 0..<each {
            _ = try await client.results([Operation.create("Project", newUuid(), ["title": "x"])])
          }
        }
      }
      var seen: Set<String> = []
      var cursor: String?
      let end = ContinuousClock.now + .seconds(60)
      while seen.count < expected, ContinuousClock.now < end {
        let page = try await client.pull(after: cursor)
        cursor = page.cursor
        for change in page.changes { seen.insert(change["entityUuid"]?.string ?? "") }
      }
      try await group.waitForAll()
      return seen.count
    }
    #expect(pulled == expected)
  }
}

extension SyncValue {
  var string: String? {
    if case .text(let text) = self { return text }
    return nil
  }
}
