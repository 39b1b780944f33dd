import Foundation
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SyncServer

/// The export of an account over the network.
@Suite(.serialized) struct AccountExportRouteTests {
  private func text(_ value: SyncValue?) -> String { if case .text(let text)? = value { text } else { "" } }

  /// Returns the UUIDs of all pages of an export.
  private func export(_ client: TestClient) async throws -> Set<String> {
    var uuids: Set<String> = []
    var cursor: String?
    repeat {
      let page = try await client.request(
        "POST", "/v1/account/export", .object(SyncObject(cursor.map { [("cursor", .text($0))] } ?? [])))
      guard page.status == 200 else { throw Unexpected("an export got \(page.status)") }
      uuids.formUnion(page.list("changes").map { text($0["entityUuid"]) })
      cursor = page["hasMore"] == true ? page.text("cursor") : nil
    } while cursor != nil
    return uuids
  }

  @Test(
    "A member exports the records and files of its projects, a service and an administrator those of all",
    arguments: MemberServer.Engine.allCases)
  func roles(_ engine: MemberServer.Engine) async throws {
    let server = try MemberServer(engine)
    let (ada, eve) = (try await server.user("ada"), try await server.user("eve"))
    let (first, second) = (try await server.makeProject(by: ada), try await server.makeProject(by: eve))
    let boss = TestClient(
      url: server.server.url,
      token: try server.directory.addUser("boss", account: "water", role: .admin, expires: nil).token)
    let users = Set(server.records.values)
    #expect(try await export(ada) == users.union(first.all))
    #expect(try await export(eve) == users.union(second.all))
    let all = users.union(first.all).union(second.all)
    for client in [server.office!, boss] { #expect(try await export(client) == all) }

    // A member who has lost a project is told, and the records of the project are in no later page.
    let page = try await ada.request("POST", "/v1/account/export", [:])
    #expect(try await ada.results([server.adding("eve", to: first.project)]) == ["accepted"])
    let next = try await ada.request("POST", "/v1/account/export", ["cursor": .text(page.text("cursor"))])
    #expect(next.list("removedProjects") == [.text(first.project)])
    #expect(try await export(ada) == users)
    let log = try server.directory.auditLog(since: nil, atMost: 100).filter { $0.action == "account exported" }
    #expect(
      log.map(\.actor) == ["ada", "eve", "office", "boss", "ada", "ada"].map { "user \($0)" }, "one for each export")
    await server.stop()
  }

  @Test("A member and an administrator fetch the files that they export, and no stranger does") func files()
    async throws
  {
    let server = try MemberServer(.folder)
    let (ada, eve) = (try await server.user("ada"), try await server.user("eve"))
    let (project, _) = try await server.makeProject(by: ada)
    let boss = TestClient(
      url: server.server.url,
      token: try server.directory.addUser("boss", account: "water", role: .admin, expires: nil).token)
    let content = newUuid()
    let fields: SyncObject = [
      "projectId": .text(project), "fileName": "a.jpg", "mimeType": "image/jpeg", "fileSize": 1_000,
      "contentUuid": .text(content),
    ]
    #expect(try await ada.results([Operation.create("Photo", newUuid(), fields)]) == ["accepted"])
    try await FileClient(ada).upload(bytes(1_000), as: content)
    #expect(try await FileClient(boss).fetch(content).body == bytes(1_000))
    #expect(try await FileClient(ada).fetch(content).status == 200)
    #expect(try await FileClient(eve).fetch(content).status == 404)
    // An administrator neither sends files nor reads records otherwise.
    #expect(try await FileClient(boss).begin(5, as: newUuid()).status == 403)
    #expect(try await boss.get("/v1/changes").status == 403)
    await server.stop()
  }

  @Test("Records that change during an export are counted at the end of a page") func lateRecords() async throws {
    let server = try TestServer { $0.pageSize = 2 }
    let client = try server.client("ada")
    let uuids = (0..<3).map { _ in newUuid() }
    let made = uuids.map { Operation.create("Project", $0, ["title": "Elm"]) }
    #expect(try await client.results(made) == ["accepted", "accepted", "accepted"])
    let first = try await client.request("POST", "/v1/account/export", [:])
    #expect(first.list("changes").count == 2 && first["late"] == 0 && first["hasMore"] == true)
    #expect(
      try await client.results([
        Operation.update("Project", uuids[0], ["title": "Oak"], base: ["title": "Elm"], version: 1)
      ]) == ["accepted"])
    let second = try await client.request("POST", "/v1/account/export", ["cursor": .text(first.text("cursor"))])
    #expect(second.list("changes").map { text($0["entityUuid"]) } == [uuids[2], uuids[0]])
    #expect(second["late"] == 1 && second["hasMore"] == false)
    await server.server.stop()
  }

  @Test("A bad body, an unknown cursor and a bad token are refused, and no export is noted") func refused() async throws
  {
    let server = try TestServer()
    let client = try server.client("ada")
    let bad: [(SyncValue, Int)] = [
      ([], 400), (["cursor": 5], 400), (["cursor": "x"], 410), (["cursor": "1.other.0.0"], 410),
    ]
    for (body, status) in bad { #expect(try await client.request("POST", "/v1/account/export", body).status == status) }
    let stranger = TestClient(url: server.server.url, token: "fv_unknown")
    #expect(try await stranger.request("POST", "/v1/account/export", [:]).status == 401)
    #expect(try await stranger.request("DELETE", "/v1/account").status == 401)
    #expect(try server.withDirectory { try $0.lastTime(of: .accountExported) } == nil)
    await server.server.stop()
  }
}
