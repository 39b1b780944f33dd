import CipherSQL
import Foundation
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SyncServer

/// An account that limits devices to the projects of which their users are members.
@Suite(.serialized) struct MembershipTests {
  private static let engines = MemberServer.Engine.allCases

  private func text(_ value: SyncValue?) -> String { if case .text(let text)? = value { text } else { "" } }

  @Test("A project is its creator's until it has members, and then theirs", arguments: engines)
  func creator(_ engine: MemberServer.Engine) async throws {
    let server = try MemberServer(engine)
    let (ada, ben) = (try await server.user("ada"), try await server.user("ben"))
    let (project, all) = try await server.makeProject(by: ada)
    var (device, other) = (MemberDevice(ada), MemberDevice(ben))
    let users = Set(server.records.values)
    try await device.pull { all.contains($0) ? project : nil }
    try await other.pull { _ in nil }
    #expect(device.uuids == users.union(all))
    #expect(other.uuids == users)

    // With ben as the first member, the creator is none.
    let crew = newUuid()
    #expect(try await ben.results([server.adding("ben", to: project)]) == ["conflict parent_missing projectId"])
    #expect(try await ada.results([server.adding("ben", to: project, as: crew)]) == ["accepted"])
    try await device.pull { all.contains($0) ? project : nil }
    #expect(device.uuids == users && device.removed == [[project]])
    try await other.pull(limit: 2) { all.contains($0) || $0 == crew ? project : nil }
    #expect(other.uuids == users.union(all).union([crew]), "the older records follow")

    // A member adds another one, who may leave.
    let mine = newUuid()
    #expect(try await ada.results([server.adding("ada", to: project, as: newUuid())]) == ["rejected 403"])
    #expect(try await ben.results([server.adding("ada", to: project, as: mine)]) == ["accepted"])
    try await device.pull { _ in project }
    #expect(device.uuids == users.union(all).union([crew, mine]))
    #expect(try await ada.results([Operation.delete("ProjectCrew", mine, version: 1)]) == ["accepted"])
    try await device.pull { users.contains($0) ? nil : project }
    #expect(device.uuids == users && device.removed == [[project], [project]])
    // The announcement comes until the cursor is behind it.
    let cursor = try #require(device.cursor)
    #expect(try await ada.get("/v1/changes?cursor=\(cursor)").list("removedProjects") == [])
    await server.stop()
  }

  @Test("An identifier of another project is like one that does not exist, on every route", arguments: engines)
  func strangers(_ engine: MemberServer.Engine) async throws {
    let server = try MemberServer(engine)
    let (ada, eve) = (try await server.user("ada"), try await server.user("eve"))
    let (project, all) = try await server.makeProject(by: ada)
    let note = all[3]
    let unknown = newUuid()

    func records(_ uuid: String, _ type: String) async throws -> [SyncValue] {
      let response = try await eve.request(
        "POST", "/v1/records", ["entityType": .text(type), "uuids": [.text(uuid)]])
      return [response["changes"] ?? .null, .bool(response.list("missing") == [.text(uuid)])]
    }
    for type in ["Project", "Note", "Room", "Location"] {
      for uuid in all { #expect(try await records(uuid, type) == records(unknown, type), "\(type)") }
    }
    let digests = try await eve.get("/v1/digests")
    #expect(digests.list("memberProjects") == [] && digests["memberProjects"] == .array([]))
    #expect(
      digests["entities", "Project"] == nil && digests["entities", "Note"] == nil && digests["entities", "User"] != nil)
    for query in ["", "?projects=\(project)"] {
      #expect(try await eve.get("/v1/digests\(query)")["entities", "Room"] == nil)
      #expect(try await eve.get("/v1/digests/Room\(query)")["buckets"] == .object([:]))
      #expect(try await eve.get("/v1/digests/Room/\(all[2].suffix(2))\(query)").list("records") == [])
      #expect(try await eve.get("/v1/changes\(query)").list("changes").allSatisfy { $0["entityType"] == "User" })
    }

    // The same results, and no effect.
    func pushed(_ uuid: String, _ project: String) async throws -> [String] {
      var results: [String] = []
      for operation in [
        Operation.update("Note", uuid, ["body": "dry"], version: 1), Operation.delete("Note", uuid, version: 1),
        Operation.create("Note", newUuid(), ["projectId": .text(project), "body": "x"]),
        server.adding("eve", to: project),
      ] { results += try await eve.results([operation]) }
      return results
    }
    let before = try await ada.get("/v1/digests")["entities"]
    #expect(try await pushed(note, project) == pushed(unknown, newUuid()))
    #expect(try await eve.results([Operation.create("Note", note, ["body": "x"])]) == ["rejected 403"])
    #expect(try await ada.get("/v1/digests")["entities"] == before)
    #expect(
      try await ada.request("POST", "/v1/records", ["entityType": "Note", "uuids": [.text(note)]])
        .list("changes").first?["isDeleted"] != true)

    // A record of eve cannot come to a project of others, or refer to a record of theirs.
    let (own, ownAll) = try await server.makeProject(by: eve)
    #expect(
      try await eve.results([Operation.update("Note", ownAll[3], ["projectId": .text(project)], version: 1)])
        == ["conflict parent_missing projectId"])
    #expect(
      try await eve.results([Operation.update("Note", ownAll[3], ["roomId": .text(all[2])], version: 1)])
        == ["conflict parent_missing roomId"])
    #expect(try await eve.get("/v1/digests").list("memberProjects") == [.text(own)])

    // Programs beside the server see all.
    #expect(Set(try await server.office.pull().changes.map { text($0["entityUuid"]) }).isSuperset(of: all + ownAll))
    await server.stop()
  }

  @Test("A former member is told why an operation fails, and it is executed after the user is a member again")
  func formerMembers() async throws {
    let server = try MemberServer(.folder)
    let (ada, ben) = (try await server.user("ada"), try await server.user("ben"))
    let (project, all) = try await server.makeProject(by: ada)
    let (crew, own) = (newUuid(), newUuid())
    #expect(
      try await ada.results([server.adding("ada", to: project, as: own), server.adding("ben", to: project, as: crew)])
        == ["accepted", "accepted"])
    #expect(try await ada.results([Operation.delete("ProjectCrew", crew, version: 1)]) == ["accepted"])
    let edit = Operation.update("Note", all[3], ["body": "dry"], version: 1)
    let refused = try await ben.push([edit]).list("results")
    #expect(refused.map(\.word) == ["rejected 403"])
    #expect(refused[0]["problem"]?["type"] == .text(ServerProblem.notMember))
    #expect(
      try await ben.results([Operation.create("Note", newUuid(), ["projectId": .text(project), "body": "x"])])
        == ["rejected 403"])
    #expect(try await ada.results([server.adding("ben", to: project)]) == ["accepted"])
    #expect(try await ben.push([edit]).list("results").map(\.word) == ["accepted"], "the same key")
    await server.stop()
  }

  @Test("Waiting requests are told of memberships, and not of other projects", arguments: engines)
  func waiting(_ engine: MemberServer.Engine) async throws {
    let server = try MemberServer(engine)
    let (ada, ben) = (try await server.user("ada"), try await server.user("ben"))
    let (project, _) = try await server.makeProject(by: ada)
    let cursor = try await ben.pull().cursor
    #expect(try await ben.get("/v1/watch?cursor=\(cursor)&timeout=1")["changed"] == false)
    // Nothing of the project ends the wait, until a membership of ben does.
    let wait = Task { try await ben.get("/v1/watch?cursor=\(cursor)&timeout=55") }
    #expect(
      try await ada.results([Operation.create("Note", newUuid(), ["projectId": .text(project), "body": "x"])])
        == ["accepted"])
    #expect(try await ben.get("/v1/watch?cursor=\(cursor)&timeout=1")["changed"] == false)
    let crew = newUuid()
    #expect(
      try await ada.results([server.adding("ada", to: project), server.adding("ben", to: project, as: crew)])
        == ["accepted", "accepted"])
    #expect(try await wait.value["changed"] == true)
    #expect(try await ben.get("/v1/watch?cursor=\(cursor)&timeout=55")["changed"] == true, "also one that comes later")
    let next = try await ben.pull(after: cursor).cursor
    let end = Task { try await ben.get("/v1/watch?cursor=\(next)&timeout=55") }
    #expect(try await ada.results([Operation.delete("ProjectCrew", crew, version: 1)]) == ["accepted"])
    #expect(try await end.value["changed"] == true)
    #expect(try await ben.get("/v1/watch?cursor=\(next)&timeout=55")["changed"] == true)
    await server.stop()
  }

  @Test("A request that waits at another node is told of a membership")
  func otherNode() async throws {
    let server = try MemberServer(.postgres)
    let (ada, ben) = (try await server.user("ada"), try await server.user("ben"))
    let node = try server.startNode()
    let other = TestClient(url: node.url, token: ben.token)
    let (project, _) = try await server.makeProject(by: ada)
    let cursor = try await other.pull().cursor
    let wait = Task { try await other.get("/v1/watch?cursor=\(cursor)&timeout=55") }
    // Without a membership, nothing ends the wait.
    try await Task.sleep(for: .milliseconds(300))
    #expect(try await ada.results([server.adding("ben", to: project)]) == ["accepted"])
    #expect(try await wait.value["changed"] == true)
    #expect(try await other.pull(after: cursor).changes.count == 5)
    await node.stop()
    await server.stop()
  }

  @Test("Turning the limit on or off has devices compare, and projects without known creators are open")
  func turned() async throws {
    let server = try MemberServer(.folder, isLimited: false)
    let (ada, ben) = (try await server.user("ada"), try await server.user("ben"))
    let (project, all) = try await server.makeProject(by: ada)
    let open = try await ben.pull()
    #expect(open.changes.count == all.count + 2)
    _ = try await server.user("cid")
    #expect(Set(try server.directory.setMembership(true, of: "water")) == ["office"])
    #expect(try await ben.get("/v1/changes?cursor=\(open.cursor)").status == 410)
    #expect(try await ben.get("/v1/watch?cursor=\(open.cursor)").status == 410)
    let limited = try await ben.pull()
    #expect(limited.changes.count == 3)
    #expect(try await ada.pull().changes.count == all.count + 3, "the creator was stored before the limit")
    _ = try server.directory.setMembership(false, of: "water")
    #expect(try await ben.get("/v1/changes?cursor=\(limited.cursor)").status == 410)
    #expect(try await ben.get("/v1/watch?cursor=\(limited.cursor)").status == 410)
    #expect(try await ben.get("/v1/digests")["memberProjects"] == nil)
    #expect(try await ben.pull().changes.count == all.count + 3)
    #expect(throws: ServerError.self) { try server.directory.setMembership(true, of: "fire") }
    _ = project
    await server.stop()
  }

  @Test("Members learn that their project is deleted, and get it back with its restoration", arguments: engines)
  func deletedProject(_ engine: MemberServer.Engine) async throws {
    let server = try MemberServer(engine)
    let (ada, ben) = (try await server.user("ada"), try await server.user("ben"))
    let (project, all) = try await server.makeProject(by: ada)
    let crew = [newUuid(), newUuid()]
    #expect(
      try await ada.results([
        server.adding("ada", to: project, as: crew[0]), server.adding("ben", to: project, as: crew[1]),
      ]) == ["accepted", "accepted"])
    var device = MemberDevice(ben)
    let users = Set(server.records.values)
    try await device.pull { users.contains($0) ? nil : project }
    #expect(device.uuids == users.union(all).union(crew))
    #expect(try await ada.results([Operation.delete("Project", project, version: 1)]) == ["accepted"])
    try await device.pull { users.contains($0) ? nil : project }
    #expect(device.uuids == users && device.removed.isEmpty, "as deletions, not as a lost membership")
    #expect(
      try await ada.results([Operation.update("Project", project, [:], version: 2, isDeleted: false)]) == ["accepted"])
    try await device.pull { users.contains($0) ? nil : project }
    #expect(device.uuids == users.union(all).union(crew))
    // A deletion of the user's own record is the end of the membership.
    #expect(
      try await server.office.results([Operation.delete("User", server.records["ben"] ?? "", version: 1)])
        == ["accepted"])
    try await device.pull { users.contains($0) ? nil : project }
    #expect(device.removed == [[project]] && device.uuids == users.subtracting([server.records["ben"] ?? ""]))
    await server.stop()
  }

  @Test("A user whose record is deleted is no member, in any order of deletions", arguments: engines)
  func deletedUser(_ engine: MemberServer.Engine) async throws {
    let server = try MemberServer(engine)
    let (ada, ben) = (try await server.user("ada"), try await server.user("ben"))
    let (project, all) = try await server.makeProject(by: ada)
    #expect(
      try await ada.results([server.adding("ada", to: project), server.adding("ben", to: project)])
        == ["accepted", "accepted"])
    let cursor = try await ben.pull().cursor
    #expect(try await ada.results([Operation.delete("Project", project, version: 1)]) == ["accepted"])
    let record = server.records["ben"] ?? ""
    #expect(try await server.office.results([Operation.delete("User", record, version: 1)]) == ["accepted"])
    let restoration = Operation.update("Project", project, [:], version: 2, isDeleted: false)
    #expect(try await ben.results([restoration]) == ["rejected 403"])
    #expect(try await ben.get("/v1/changes?cursor=\(cursor)").list("removedProjects") == [.text(project)])
    #expect(try await ada.results([restoration]) == ["accepted"])
    #expect(Set(try await ben.pull().changes.map { text($0["entityUuid"]) }).isDisjoint(with: all))
    #expect(try await ben.results([Operation.update("Note", all[3], ["body": "x"], version: 3)]) == ["rejected 403"])
    await server.stop()
  }

  @Test("A user who gets another record compares, and a stored response is for members only")
  func relinked() async throws {
    let server = try MemberServer(.folder)
    let (ada, ben) = (try await server.user("ada"), try await server.user("ben"))
    let (project, all) = try await server.makeProject(by: ada)
    let record = server.records["ben"] ?? ""
    try server.directory.linkUser("ben", to: nil)
    #expect(
      try await ada.results([server.adding("ada", to: project), server.adding("ben", to: project)])
        == ["accepted", "accepted"])
    let cursor = try await ben.pull().cursor
    try server.directory.linkUser("ben", to: record)
    #expect(try await ben.get("/v1/changes?cursor=\(cursor)").status == 410)
    #expect(try await ben.get("/v1/watch?cursor=\(cursor)").status == 410)
    #expect(Set(try await ben.pull().changes.map { text($0["entityUuid"]) }).isSuperset(of: all))
    // A cursor of another user is none of ben's.
    #expect(try await ben.get("/v1/changes?cursor=\(try await ada.pull().cursor)").status == 410)

    #expect(try await ada.results([Operation.update("Note", all[3], ["body": "secret"], version: 1)]) == ["accepted"])
    let edit = Operation.update("Note", all[3], ["title": "mine"], version: 1)
    #expect(try await ben.push([edit]).list("results").map(\.word) == ["merged"])
    try server.directory.linkUser("ben", to: nil)
    let repeated = try await ben.push([edit])
    #expect(repeated.list("results").map(\.word) == ["rejected 404"] && !repeated.json.json.contains("secret"))
    await server.stop()
  }
}
