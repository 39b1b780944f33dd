import Foundation
import ServerSupport
import SyncModel
import Testing

@testable import SyncServer

/// The results of operations for a device. The policies are those of the restoration schema: Project `manual`, Room
/// `last_write_wins`, AtmosphericLog `server_wins`.
@Suite struct PushTests {
  private let server: TestServer
  private let client: TestClient
  private let project = newUuid()

  init() async throws {
    server = try TestServer()
    client = try server.client("ada")
  }

  private func makeProject() async throws {
    #expect(try await client.results([Operation.create("Project", project, ["title": "Elm"])]) == ["accepted"])
  }

  private func record(_ type: String, _ uuid: String) async throws -> SyncValue {
    let response = try await client.request(
      "POST", "/v1/records", ["entityType": .text(type), "uuids": [.text(uuid)]])
    return try #require(response.list("changes").first)
  }

  @Test("A batch of a parent, its child and an update is applied in order") func batchOfParentAndChildren() async throws
  {
    let room = newUuid()
    let response = try await client.push([
      Operation.create("Project", project, ["title": "Elm"]),
      Operation.create(
        "Room", room, ["title": "Hall", "projectId": .text(project), "squareFootage": .init(real: 12.5) ?? 0]),
      Operation.update("Room", room, ["title": "Kitchen"], base: ["title": "Hall"], version: 1),
    ])
    #expect(response.list("results").map(\.word) == ["accepted", "accepted", "accepted"])
    #expect(response.list("results").map { $0["version"] } == [1, 1, 2])
    let read = try await record("Room", room)
    #expect(read["version"] == 2)
    #expect(read["fields"]?["title"] == "Kitchen" && read["fields"]?["projectId"] == .text(project))
    #expect(read["fields"]?["squareFootage"] == SyncValue(real: 12.5) && read["fields"]?["isAccessible"] == true)
    #expect(read["fields"]?["level"] == .null && read["createdAt"] == "2026-03-01T08:00:00.000Z")
    #expect(read["fields"]?["serverId"] == nil && read["fields"]?["uuid"] == nil)
  }

  @Test("A record whose deletion came before it is stored only when it is restored")
  func deletionBeforeRecord() async throws {
    let (room, other) = (newUuid(), newUuid())
    try await makeProject()
    let fields: SyncObject = ["title": "Hall", "projectId": .text(project)]
    #expect(
      try await client.results([
        Operation.delete("Room", room, version: 3), Operation.create("Room", room, fields),
        Operation.create("Room", other, fields),
      ]) == ["accepted", "conflict deleted_remotely", "accepted"])
    #expect(try await client.pull().changes.filter { $0["entityType"] == "Room" }.count == 1)
    #expect(
      try await client.results([
        Operation.update("Room", room, ["title": "Hall"], version: 0),
        Operation.update("Room", newUuid(), fields, version: 0, isDeleted: false),
      ]) == ["rejected 404", "rejected 404"])
    #expect(
      try await client.results([Operation.update("Room", room, fields, version: 0, isDeleted: false)]) == ["accepted"])
    let read = try await record("Room", room)
    #expect(read["version"] == 1 && read["isDeleted"] == false && read["fields"]?["title"] == "Hall")
    // From here on it is a record like any other.
    #expect(
      try await client.results([
        Operation.delete("Room", room, version: 1),
        Operation.update("Room", room, ["title": "Loft"], version: 2, isDeleted: false),
      ]) == ["accepted", "accepted"])
  }

  @Test("A repeated operation takes effect once, and a reused key is refused with 409")
  func sameOperationTakesEffectOnce() async throws {
    let operation = Operation.create("Project", project, ["title": "Elm"])
    let first = try await client.push([operation])
    let again = try await client.push([operation])
    #expect(first.list("results") == again.list("results"))
    #expect(try await client.pull().changes.count == 1)
    // Another operation under the same key is refused, and nothing of it is executed.
    guard case .text(let id)? = operation["operationId"] else { throw CancellationError() }
    let other = try await client.push([Operation.delete("Project", project, version: 1, id: id)])
    #expect(other.list("results").map(\.word) == ["rejected 409"])
    #expect(other.list("results")[0]["problem"]?["type"] == .text(ServerProblem.keyReused))
    #expect(try await record("Project", project)["isDeleted"] == false)
  }

  @Test("An operation sent concurrently takes effect once") func sameOperationInParallelTakesEffectOnce() async throws {
    try await makeProject()
    let operation = Operation.update("Project", project, ["title": "Oak"], base: ["title": "Elm"], version: 1)
    let responses = try await withThrowingTaskGroup(of: [SyncValue].self) { group in
      for _ in 0..<8 { group.addTask { try await client.push([operation]).list("results") } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(responses.allSatisfy { $0 == responses[0] })
    #expect(try await record("Project", project)["version"] == 2)
  }

  @Test("A refused operation blocks only its dependents") func oneBadOperationDoesNotStopTheOthers() async throws {
    try await makeProject()
    let (bad, good) = (newUuid(), newUuid())
    let words = try await client.results([
      Operation.create("Room", bad, ["title": "", "projectId": .text(project)], id: "op-bad"),
      Operation.create("Room", good, ["title": "Hall", "projectId": .text(project)]),
      Operation.create("Damage", newUuid(), ["roomId": .text(bad), "projectId": .text(project)]),
      Operation.update("Room", bad, ["title": "x"], version: 1),
    ])
    #expect(words == ["rejected 422 title", "accepted", "waiting op-bad", "waiting op-bad"])
  }

  @Test("Each invalid operation is refused with the field at fault") func validation() async throws {
    try await makeProject()
    func create(_ fields: SyncObject, _ type: String = "Room") -> SyncValue {
      var fields = fields
      if type == "Room" { fields["projectId"] = fields["projectId"] ?? .text(project) }
      return Operation.create(type, newUuid(), fields)
    }
    let words = try await client.results([
      create(["title": "a"], "Spaceship"),
      create(["title": "a", "warp": 9]),
      create(["title": 5]),
      create(["title": "a", "squareFootage": "wide"]),
      create(["title": "a", "squareFootage": -1]),
      create(["title": "a", "isAccessible": "yes"]),
      create([:]),
      create(["title": "a", "projectId": "not a uuid"]),
      create(["title": "a", "projectId": .text(newUuid())]),
      Operation.create("Room", "NOT-A-UUID", ["title": "a"]),
      Operation.update("Room", newUuid(), ["title": "a"], version: 3),
      Operation.delete("Room", newUuid(), version: 3),
      [
        "operationId": "odd", "idempotencyKey": "odd", "operationType": "explode", "entityType": "Room",
        "entityUuid": "x",
      ],
    ])
    #expect(
      words == [
        "rejected 422 entityType", "rejected 422 warp", "rejected 422 title", "rejected 422 squareFootage",
        "rejected 422 squareFootage", "rejected 422 isAccessible", "rejected 422 title",
        "conflict parent_missing projectId",
        "conflict parent_missing projectId", "rejected 422 entityUuid", "rejected 404", "accepted",
        "rejected 422 operationType",
      ])
  }

  @Test("Fields that two devices changed differently are merged by policy")
  func fieldsThatTwoChangedDifferentlyAreMergedByPolicy() async throws {
    try await makeProject()
    let room = newUuid()
    _ = try await client.push([Operation.create("Room", room, ["title": "Hall", "projectId": .text(project)])])
    let other = try server.client("bob")
    _ = try await other.push([
      Operation.update(
        "Room", room, ["title": "Bob's"], base: ["title": "Hall"], version: 1, at: "2026-03-01T12:00:00.000Z")
    ])
    // Another field: both changes stay. The same field: the later edit wins.
    let response = try await client.push([
      Operation.update("Room", room, ["level": "2"], base: ["level": .null], version: 1),
      Operation.update(
        "Room", room, ["title": "Ada's"], base: ["title": "Hall"], version: 1, at: "2026-03-01T11:00:00.000Z"),
    ])
    let results = response.list("results")
    #expect(results.map(\.word) == ["merged", "merged"])
    #expect(results[0]["record"]?["fields"]?["title"] == "Bob's" && results[0]["record"]?["fields"]?["level"] == "2")
    #expect(results[1]["lost"] == [["field": "title", "side": "local", "value": "Ada's"]])
    #expect(results[1]["version"] == 3, "nothing new, so no new version")
    // A later edit wins over the stored value.
    let late = try await client.push([
      Operation.update(
        "Room", room, ["title": "Late"], base: ["title": "Hall"], version: 1, at: "2026-03-01T13:00:00.000Z")
    ])
    #expect(late.list("results").first?["record"]?["fields"]?["title"] == "Late")
    #expect(late.list("results").first?["lost"] == [["field": "title", "side": "remote", "value": "Bob's"]])
  }

  @Test("Under the manual policy two edits of a field are a conflict") func manualPolicyMakesAConflict() async throws {
    try await makeProject()
    _ = try await client.push([
      Operation.update("Project", project, ["title": "Oak"], base: ["title": "Elm"], version: 1)
    ])
    let response = try await client.push([
      Operation.update("Project", project, ["title": "Ash"], base: ["title": "Elm"], version: 1)
    ])
    #expect(response.list("results").map(\.word) == ["conflict concurrent_edit title"])
    #expect(response.list("results").first?["record"]?["fields"]?["title"] == "Oak")
    #expect(response["cursor"] == nil)
    #expect(
      try await client.results([Operation.update("Project", project, ["status": "archived"], version: 1)]) == ["merged"]
    )
    #expect(
      try await client.results([Operation.create("Project", project, ["title": "Twin"])]).first?.hasPrefix("conflict")
        == true)
  }

  @Test("An edit time in the future is capped at the server's clock") func timesOfTheFutureCountAsNow() async throws {
    _ = try await client.push([
      Operation.create("Project", project, ["title": "Elm"], at: "2999-01-01T00:00:00.000Z")
    ])
    guard case .text(let time)? = try await record("Project", project)["updatedAt"] else { throw CancellationError() }
    #expect(time < "2999")
  }

  @Test("A deletion cascades, and edits of deleted records are conflicts")
  func deletionTakesAlongAndEditsOfWhatIsGoneAreConflicts() async throws {
    try await makeProject()
    let (room, log) = (newUuid(), newUuid())
    _ = try await client.push([
      Operation.create("Room", room, ["title": "Hall", "projectId": .text(project)]),
      Operation.create("Note", log, ["projectId": .text(project), "roomId": .text(room), "body": "wet"]),
    ])
    let before = try await client.pull().cursor
    let response = try await client.push([Operation.delete("Project", project, version: 1)], cursor: before)
    #expect(response.list("results").map(\.word) == ["accepted"])
    #expect(response["cursor"] == nil, "the device has to hear of the versions of what went along")
    let changes = try await client.pull(after: before).changes
    #expect(changes.count == 3 && changes.allSatisfy { $0["isDeleted"] == true && $0["version"] == 2 })
    #expect(
      try await client.results([
        Operation.create("Room", newUuid(), ["title": "New", "projectId": .text(project)]),
        // The later edit would win over the deletion, and the room then be without its project.
        Operation.update(
          "Room", room, ["title": "Edited"], base: ["title": "Hall"], version: 1, id: "edit", at: Self.soon),
        Operation.update("Room", room, [:], version: 2, isDeleted: false),
      ]) == ["conflict deleted_remotely projectId", "conflict deleted_remotely projectId", "waiting edit"])
    #expect(try await client.results([Operation.delete("Room", room, version: 1)]) == ["merged"])
    #expect(
      try await client.results([
        Operation.update("Project", project, [:], version: 2, isDeleted: false),
        Operation.update("Room", room, ["title": "Back"], version: 2, isDeleted: false),
      ]) == ["accepted", "accepted"])
    #expect(try await record("Room", room)["isDeleted"] == false)
  }

  /// The server's own time, which is later than all times of these tests.
  private static let soon = "2999-01-01T00:00:00.000Z"

  @Test("Invalid edits before a deletion do not prevent the deletion") func whatWasEditedBeforeADeletionDoesNotStopIt()
    async throws
  {
    try await makeProject()
    let room = newUuid()
    _ = try await client.push([Operation.create("Room", room, ["title": "Hall", "projectId": .text(project)])])
    let edits: SyncObject = ["title": "", "locationId": .text(newUuid())]
    #expect(try await client.results([Operation.delete("Room", room, version: 1, fields: edits)]) == ["merged"])
    let read = try await record("Room", room)
    #expect(read["isDeleted"] == true && read["fields"]?["title"] == "Hall")
  }

  // Found by the simulation, seed 11231, world 5: without a new version no device takes the deletion.
  @Test("The deletion of a record that was moved below one which is not there has a version of its own")
  func deletedBelowWhatIsNotThere() async throws {
    try await makeProject()
    let location = newUuid()
    _ = try await client.push([
      Operation.create("Location", location, ["title": "Hall", "type": "unit", "projectId": .text(project)])
    ])
    let cursor = try await client.pull().cursor
    let edits: SyncObject = ["parentLocationId": .text(newUuid())]
    #expect(try await client.results([Operation.delete("Location", location, version: 1, fields: edits)]) == ["merged"])
    let changes = try await client.pull(after: cursor).changes
    #expect(changes.count == 1 && changes.allSatisfy { $0["isDeleted"] == true && $0["version"] == 2 })
  }

  @Test("A duplicate of a unique value is a conflict") func uniqueValuesAreAConflict() async throws {
    try await makeProject()
    let user = newUuid()
    let fields: SyncObject = ["projectId": .text(project), "userId": .text(user)]
    _ = try await client.push([
      Operation.create("User", user, ["email": "ada@example.org"]),
      Operation.create("ProjectCrew", newUuid(), fields),
    ])
    let twin = newUuid()
    let words = try await client.results([
      Operation.create("ProjectCrew", twin, fields, id: "twin"), Operation.delete("ProjectCrew", twin, version: 0),
    ])
    #expect(words == ["conflict not_unique projectId userId", "waiting twin"])
  }

  @Test("A push returns an advanced cursor unless others changed records")
  func cursorComesBackWhileNobodyElseChangesAnything() async throws {
    let start = try await client.pull().cursor
    let own = try await client.push([Operation.create("Project", project, ["title": "Elm"])], cursor: start)
    let cursor = own.text("cursor")
    #expect(!cursor.isEmpty)
    #expect(try await client.pull(after: cursor).changes.isEmpty)
    _ = try await server.client("bob").push([Operation.create("Project", newUuid(), ["title": "Other"])])
    let late = try await client.push(
      [Operation.update("Project", project, ["title": "Oak"], version: 1)], cursor: cursor)
    #expect(late["cursor"] == nil && late.list("results").map(\.word) == ["accepted"])
    #expect(try await client.pull(after: cursor).changes.count == 2)
  }

  @Test("An operation of a newer schema is refused with 409 schema-too-old") func newerSchemaPausesTheDevice()
    async throws
  {
    var operation = Operation.create("Project", project, ["title": "Elm"])
    if case .object(var object) = operation {
      object["schemaVersion"] = 99
      operation = .object(object)
    }
    let response = try await client.push([operation])
    #expect(response.status == 409 && response.text("type") == "urn:fieldvault:schema-too-old")
  }

  @Test("A record of 5 MiB is accepted and returned") func recordOfFiveMegabytes() async throws {
    try await makeProject()
    let text = String(repeating: "é", count: 5 << 19)
    let note = newUuid()
    let words = try await client.results([
      Operation.create("Note", note, ["projectId": .text(project), "body": .text(text)])
    ])
    #expect(words == ["accepted"])
    #expect(try await record("Note", note)["fields"]?["body"] == .text(text))
  }
}
