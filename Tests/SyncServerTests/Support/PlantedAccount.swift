import Foundation
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SyncServer

/// A place where a test plants a text that nothing else contains.
enum Plant: String, CaseIterable {
  case value, text, fileName, content, deleted, losing, device, user, label, upload
}

/// The planted texts of one account.
struct Markers {
  private let suffix = newUuid().suffix(12)
  subscript(_ plant: Plant) -> String { "planted\(plant.rawValue)\(suffix)" }
  var all: [String] { Plant.allCases.map { self[$0] } }
}

extension MemberServer {
  /// Stores records, a user, a token and a device with the markers in the account `water`. Files and uploads are left to the caller.
  /// - Returns: a client of the user, the markers, and the content that a record references.
  func plantMarkers() async throws -> (client: TestClient, markers: Markers, content: String) {
    let markers = Markers()
    let added = try directory.addUser(markers[.user], account: "water", role: .device, expires: nil)
    let boss = TestClient(url: server.url, token: added.token)
    _ = try directory.addToken(to: markers[.user], role: .admin, label: markers[.label], expires: nil)
    let user = try #require(try directory.member(token: added.token))
    try directory.note([
      DeviceContact.Key(user.account, markers[.device]): DeviceContact(tokenId: user.tokenId, time: 1_767_225_600_000)
    ])
    let (project, note, gone, content) = (newUuid(), newUuid(), newUuid(), newUuid())
    let long = String(repeating: "a long text ", count: 2_000)
    let body: SyncObject = [
      "deviceId": .text(markers[.device]), "deviceCounter": 1,
      "operations": .array([
        Operation.create("Project", project, ["title": .text(markers[.value])]),
        Operation.create(
          "Note", note, ["projectId": .text(project), "body": .text(long + markers[.text] + long)]),
        Operation.create("Note", gone, ["projectId": .text(project), "body": .text(markers[.deleted])]),
        Operation.create(
          "Photo", newUuid(),
          [
            "projectId": .text(project), "fileName": .text(markers[.fileName]), "fileSize": 5,
            "mimeType": "image/jpeg",
            "contentUuid": .text(content), "capturedAt": "2026-03-01T08:00:00.000Z",
          ]),
      ]),
    ]
    let response = try await boss.request("POST", "/v1/push", .object(body))
    #expect(response.list("results").map(\.word).allSatisfy { $0 == "accepted" }, "\(response.json)")
    #expect(try await boss.results([Operation.delete("Note", gone, version: 1)]) == ["accepted"])
    // The losing edit is in no record later, and only the response to the conflict has it.
    func edit(_ title: String, over base: String, _ version: Int64) -> SyncValue {
      Operation.update("Project", project, ["title": .text(title)], base: ["title": .text(base)], version: version)
    }
    let (value, losing) = (markers[.value], markers[.losing])
    #expect(try await boss.results([edit(losing, over: value, 1)]) == ["accepted"])
    #expect(try await boss.results([edit("another", over: value, 1)]) == ["conflict concurrent_edit title"])
    #expect(try await boss.results([edit(value, over: losing, 2)]) == ["accepted"])
    return (boss, markers, content)
  }
}
