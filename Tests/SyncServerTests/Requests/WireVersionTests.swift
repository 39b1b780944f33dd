import CipherSQL
import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage
@testable import SyncServer

/// Versions, keys, epochs and device ids, as a device sees them.
@Suite struct WireVersionTests {
  private let server: TestServer
  private let client: TestClient
  private let project = newUuid()
  private let account: AccountName

  init() async throws {
    server = try TestServer()
    client = try server.client("ada")
    account = try #require(try server.withDirectory { try $0.accounts() }.first)
    _ = try await client.push([Operation.create("Project", project, ["title": "Elm"])])
  }

  private func startEpoch() async throws -> String {
    try await server.server.storage.write(account) { try $0.startEpoch(at: 1) }
  }

  @Test("Every sync route refuses a request without the version header before any effect")
  func versions() async throws {
    let operation = Operation.update("Project", project, ["title": "Oak"], base: ["title": "Elm"], version: 1)
    let body: SyncValue = ["deviceId": "d", "deviceCounter": 1, "operations": [operation]]
    for (method, path, json) in [
      ("GET", "/v1/account", nil), ("GET", "/v1/changes", nil), ("GET", "/v1/watch?cursor=x", nil),
      ("GET", "/v1/digests", nil), ("GET", "/v1/digests/Project", nil), ("GET", "/v1/digests/Project/00", nil),
      ("POST", "/v1/records", [:]), ("POST", "/v1/push", body),
    ] as [(String, String, SyncValue?)] {
      for version in ["", "1", "3"] {
        let response = try await client.request(method, path, json, headers: [WireProtocol.header: version])
        #expect(response.status == 426 && response["type"] == .text(ServerProblem.otherProtocol), "\(path)")
      }
    }
    #expect(try await client.pull().changes.first?["version"] == 1)
    #expect(try await client.request("GET", "/v1/health", headers: [WireProtocol.header: ""])["protocol"] == 2)
    #expect(try await client.get("/v1/account")["protocol"] == 2)
    await server.server.stop()
  }

  @Test("A cursor of another epoch is unknown, and every response names the epoch")
  func cursors() async throws {
    let old = try await client.get("/v1/account").text("epoch")
    let cursor = try await client.pull().cursor
    #expect(try await client.get("/v1/changes?cursor=\(cursor)").text("epoch") == old)
    let new = try await startEpoch()
    #expect(new != old)
    for path in ["/v1/account", "/v1/changes", "/v1/digests", "/v1/digests/Project", "/v1/digests/Project/00"] {
      #expect(try await client.get(path).text("epoch") == new, "\(path)")
    }
    let refused = try await client.get("/v1/changes?cursor=\(cursor)")
    #expect(refused.status == 410 && refused["type"] == .text(ServerProblem.cursorUnknown))
    #expect(try await client.push([]).text("epoch") == new)
    await server.server.stop()
  }

  @Test("A base of another epoch is trusted up to the shared version only")
  func bases() async throws {
    let old = try await client.get("/v1/account").text("epoch")
    func update(_ fields: SyncObject, base: SyncObject, version: Int64, epoch: String) -> SyncValue {
      guard case .object(var operation) = Operation.update("Project", project, fields, base: base, version: version)
      else { return .null }
      operation["baseEpoch"] = .text(epoch)
      return .object(operation)
    }
    _ = try await startEpoch()
    let shared = try await client.request(
      "POST", "/v1/records", ["entityType": "Project", "uuids": [.text(project)], "epoch": .text(old)])
    #expect(shared.list("changes").first?["sharedVersion"] == 1)
    // The device saw versions that the server lost: its edit stands on the last one that both have.
    #expect(
      try await client.results([update(["title": "Oak"], base: ["title": "Ash"], version: 9, epoch: old)]) == [
        "accepted"
      ])
    let changed = try await client.request(
      "POST", "/v1/records", ["entityType": "Project", "uuids": [.text(project)], "epoch": .text(old)])
    #expect(changed.list("changes").first?["sharedVersion"] == 1)
    // Now the server has changed the title since the shared version, so the manual policy asks.
    #expect(
      try await client.results([update(["title": "Fir"], base: ["title": "Ash"], version: 9, epoch: old)]) == [
        "conflict concurrent_edit title"
      ])
    // An unknown epoch: only the values decide.
    #expect(
      try await client.results([update(["title": "Fir"], base: ["title": "Elm"], version: 2, epoch: "x")]) == [
        "conflict concurrent_edit title"
      ])
    #expect(
      try await client.results([update(["title": "Fir"], base: ["title": "Oak"], version: 7, epoch: "x")]) == ["merged"]
    )
    // A base above the record's version is an unnoticed restore.
    let current = try await client.get("/v1/account").text("epoch")
    #expect(
      try await client.results([update(["title": "Yew"], base: ["title": "Elm"], version: 90, epoch: current)]) == [
        "conflict concurrent_edit title"
      ])
    await server.server.stop()
  }

  @Test("A response of version 1 without a digest is returned only for the operation that the record shows")
  func responsesWithoutDigest() async throws {
    let operation = Operation.update("Project", project, ["title": "Oak"], base: ["title": "Elm"], version: 1, id: "op")
    #expect(try await client.results([operation]) == ["accepted"])
    let database = try AccountDatabase.records.open(
      account.folder, in: try ServerFolder(server.folder.path + "/data", isCreating: false))
    defer { database.close() }
    try await database.write { _ = try $0.execute("UPDATE ServerAnswer SET digest = NULL") }
    #expect(try await client.results([operation]) == ["accepted"])
    let other = Operation.update(
      "Project", project, ["projectNumber": "A-12"], base: ["projectNumber": .null], version: 1, id: "op")
    let refused = try await client.push([other]).list("results")
    #expect(refused.map(\.word) == ["rejected 409"])
    #expect(refused[0]["problem"]?["type"] == .text(ServerProblem.keyReused))
    #expect(try await client.pull().changes.first?["version"] == 2)
    await server.server.stop()
  }

  @Test("A counter that a device used before with other operations is refused, and nothing is executed")
  func copiedDevice() async throws {
    func push(_ counter: Int64, _ title: String) async throws -> JSONResponse {
      let uuid = newUuid()
      return try await client.request(
        "POST", "/v1/push",
        [
          "deviceId": "d", "deviceCounter": .integer(counter),
          "operations": [Operation.create("Project", uuid, ["title": .text(title)], id: title)],
        ])
    }
    #expect(try await push(4, "a").status == 200)
    #expect(try await push(5, "b").status == 200)
    for (counter, title) in [(5, "c"), (4, "d"), (0, "e")] {
      let response = try await push(Int64(counter), title)
      #expect(response.status == 409 && response["type"] == .text(ServerProblem.deviceCopied))
    }
    #expect(try await client.pull().changes.count == 3)
    await server.server.stop()
  }

  @Test("A device that moves a record to another project receives the record's dependents")
  func movedDependents() async throws {
    let folder = try TemporaryFolder()
    let data = try ServerFolder(folder.path + "/data", isCreating: true)
    let server = try FieldVaultServer(.init(folder: data, listen: "127.0.0.1:0", schemas: [CascadeJobTests.chain]))
    let directory = try ServerDirectory(in: data)
    defer { directory.close() }
    let client = TestClient(url: server.url, token: try directory.addUser("ada", account: "one").token)
    let (other, room) = (newUuid(), newUuid())
    let readings = (0..<3).map { _ in newUuid() }
    let created = try await client.push(
      [
        Operation.create("Project", project, ["title": "Elm"]), Operation.create("Project", other, ["title": "Oak"]),
        Operation.create("Room", room, ["projectId": .text(project)]),
      ] + readings.map { Operation.create("Reading", $0, ["roomId": .text(room)]) },
      cursor: try await client.pull(projects: other).cursor)
    let edited = try await client.push(
      [Operation.update("Project", other, ["title": "Ash"], base: ["title": "Oak"], version: 1)],
      cursor: created.text("cursor"))
    #expect(!edited.text("cursor").isEmpty)
    let moved = try await client.push(
      [Operation.update("Room", room, ["projectId": .text(other)], base: ["projectId": .text(project)], version: 1)],
      cursor: edited.text("cursor"))
    #expect(moved.list("results").map(\.word) == ["accepted"] && moved["cursor"] == nil)
    // The device goes on from where it was.
    let changes = try await client.pull(after: edited.text("cursor"), projects: other).changes
    let uuids = changes.map { $0["entityUuid"] ?? .null }
    for reading in readings { #expect(uuids.contains(.text(reading))) }
    await server.stop()
    await self.server.server.stop()
  }

  @Test("Results carry the times that the server stored, and a cascaded record names its root")
  func timesAndRoots() async throws {
    let room = newUuid()
    let response = try await client.push([
      Operation.create(
        "Room", room, ["title": "Hall", "projectId": .text(project)], at: "2999-01-01T00:00:00.000Z")
    ])
    let stored = try #require(try await client.pull().changes.first { $0["entityUuid"] == .text(room) })
    let result = response.list("results")[0]
    #expect(result["createdAt"] == stored["createdAt"] && result["updatedAt"] == stored["updatedAt"])
    guard case .text(let time)? = result["updatedAt"] else { throw Unexpected("no time") }
    #expect(time < "2999")
    #expect(stored["deletedWith"] == nil)
    let cursor = try await client.pull().cursor
    _ = try await client.push([Operation.delete("Project", project, version: 1)])
    let deleted = try await client.pull(after: cursor).changes
    let cascaded = try #require(deleted.first { $0["entityUuid"] == .text(room) })
    #expect(cascaded["deletedWith"] == ["entityType": "Project", "entityUuid": .text(project)])
    #expect(deleted.first { $0["entityUuid"] == .text(project) }?["deletedWith"] == nil)
    await server.server.stop()
  }
}
