import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SyncServer

/// Texts with the character U+0000, which PostgreSQL cannot store, have the same effect on both engines.
struct NullCharacterTests {
  private static let text = "a\u{0}b"

  /// Returns the responses to requests with such a text at each place.
  private func responses(of engine: MemberServer.Engine, isLimited: Bool) async throws -> [String] {
    let server = try MemberServer(engine, isLimited: isLimited)
    let client = isLimited ? try await server.user("ada") : try #require(server.office)
    let text = SyncValue.text(Self.text)
    let project = newUuid()
    let made: [SyncValue] = [
      Operation.create("Project", project, ["title": text]),
      Operation.create("Room", newUuid(), ["title": "Hall", "projectId": .text(project), "level": text]),
      Operation.create("Room", newUuid(), ["title": "Hall", "projectId": text]),
      Operation.create("Room", Self.text, ["title": "Hall", "projectId": .text(project)]),
      Operation.create(Self.text, newUuid(), ["title": "Hall"]),
      Operation.create("Project", newUuid(), [Self.text: "Elm"]),
      Operation.create("Project", newUuid(), ["title": "Elm"], base: ["title": text]),
      Operation.create("Project", newUuid(), ["title": "Elm"], id: Self.text),
      Operation.create("User", newUuid(), ["email": text]),
      Operation.create("User", newUuid(), ["email": text]),
      Operation.create("Photo", newUuid(), ["projectId": .text(project), "contentUuid": text]),
      Operation.update("Project", Self.text, ["title": "Oak"], version: 1),
      Operation.delete(Self.text, Self.text, version: 1), Operation.delete("Project", Self.text, version: 1),
    ]
    var words: [String] = []
    for operation in made { words += try await client.results([operation]) }
    words += try await client.results(
      made.map { operation in
        guard case .object(var members) = operation else { return operation }
        members["operationId"] = .text(newUuid())
        members["idempotencyKey"] = members["operationId"]
        return .object(members)
      })
    let envelope: SyncObject = ["deviceId": text, "deviceCounter": 1, "operations": []]
    words.append("device \(try await client.request("POST", "/v1/push", .object(envelope)).status)")
    for path in [
      "/v1/watch?cursor=a%00b", "/v1/changes?cursor=a%00b", "/v1/digests/a%00b", "/v1/digests/Room/a%00b",
      "/v1/watch?cursor=x&deviceId=a%00b",
    ] {
      words.append("\(path) \(try await client.get(path).status)")
    }
    for body in [
      ["entityType": text, "uuids": []], ["entityType": "Room", "uuids": [text]],
      ["entityType": "Room", "epoch": text, "uuids": [.text(project)]],
    ] as [SyncObject] {
      words.append("records \(try await client.request("POST", "/v1/records", .object(body)).status)")
    }
    words.append("changes \(try await client.pull().changes.count)")
    await server.stop()
    let failures = server.lines.withLock { $0 }.filter { $0.contains("error") || $0.contains("cannot") }
    #expect(failures == [], "the log of \(engine) reports a failure")
    return words
  }

  @Test("Both engines respond equally, and neither fails", arguments: [false, true])
  func equal(isLimited: Bool) async throws {
    let embedded = try await responses(of: .folder, isLimited: isLimited)
    #expect(try await responses(of: .postgres, isLimited: isLimited) == embedded)
    #expect(!embedded.contains { $0.contains("500") || $0 == "?" }, "\(embedded)")
  }
}
