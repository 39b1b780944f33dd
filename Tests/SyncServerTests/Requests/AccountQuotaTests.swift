import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SyncServer

/// Limits of the records and devices of an account, on both engines.
struct AccountQuotaTests {
  private func project(_ uuid: String) -> SyncValue { Operation.create("Project", uuid, ["title": "Elm"]) }

  @Test(
    "New and restored records beyond the quota are refused, others go on, and the same operation succeeds with room",
    arguments: MemberServer.Engine.allCases)
  func records(engine: MemberServer.Engine) async throws {
    let server = try MemberServer(engine, isLimited: false) { $0.recordsPerAccount = 3 }
    let client = try #require(server.office)
    let uuids = (0..<5).map { _ in newUuid() }
    let late = project(uuids[3])
    let refused = try await client.push(uuids.prefix(3).map(project) + [late]).list("results")
    #expect(refused.map(\.word) == ["accepted", "accepted", "accepted", "rejected 403"])
    let problem = refused[3]["problem"]
    #expect(problem?["status"] == 403 && problem?["type"] == .text(ServerProblem.quotaExceeded))
    guard case .text(let detail)? = problem?["detail"] else { throw Unexpected("no detail") }
    #expect(detail.contains("limit of records (3)"))

    // Changes and deletions make room.
    #expect(
      try await client.results([
        Operation.update("Project", uuids[0], ["title": "Oak"], base: ["title": "Elm"], version: 1),
        Operation.delete("Project", uuids[1], version: 1), late,
      ]) == ["accepted", "accepted", "accepted"])
    let restored = Operation.update("Project", uuids[1], [:], version: 2, isDeleted: false)
    #expect(try await client.results([restored, project(uuids[4])]) == ["rejected 403", "rejected 403"])
    #expect(
      try await client.results([Operation.delete("Project", uuids[0], version: 2), restored]) == [
        "accepted", "accepted",
      ])
    // A repeated operation gets its stored response.
    #expect(try await client.results([late]) == ["accepted"])
    await server.stop()
  }

  @Test("A device beyond the quota cannot push, and known devices can", arguments: MemberServer.Engine.allCases)
  func devices(engine: MemberServer.Engine) async throws {
    let server = try MemberServer(engine, isLimited: false) { $0.devicesPerAccount = 2 }
    let client = try #require(server.office)
    func push(_ device: String, _ counter: Int64) async throws -> Int {
      try await client.request(
        "POST", "/v1/push",
        ["deviceId": .text(device), "deviceCounter": .integer(counter), "operations": .array([project(newUuid())])]
      ).status
    }
    for device in ["one", "two"] { #expect(try await push(device, 1) == 200) }
    let refused = try await push("three", 1)
    #expect(refused == 403)
    #expect(try await push("one", 2) == 200)
    #expect(try await client.pull().changes.count == 3)
    await server.stop()
  }
}
