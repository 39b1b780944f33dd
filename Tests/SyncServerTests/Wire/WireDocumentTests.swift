import ServerSupport
import SyncModel
import Testing

@testable import SyncServer

/// The OpenAPI document and the wire types of SyncModel describe the same bodies.
@Suite("The OpenAPI document against the wire types") struct WireDocumentTests {
  private static let document = Result { () throws(SyncModelError) in
    try OpenAPI(limits: ServerLimits(), isPresigned: false).document()
  }
  private static let presigned = Result { () throws(SyncModelError) in
    try OpenAPI(limits: ServerLimits(), isPresigned: true).document()
  }

  /// The type of each schema that is a whole body.
  private static let types: [String: any WireMessage.Type] = [
    "Account": AccountInfo.self, "AccountDeleted": AccountDeleted.self, "AccountExport": AccountExportPage.self,
    "AccountExportRequest": AccountExportRequest.self, "BucketDigests": BucketDigests.self, "Changes": ChangesPage.self,
    "EntityDigests": EntityDigests.self, "FileAddress": FileAddress.self, "FileAddressRequest": FileAddressRequest.self,
    "FileConfirmation": FileConfirmation.self, "FileConfirmed": FileConfirmed.self,
    "FileDigests": FileDigestsResponse.self, "Health": ServerHealth.self, "MissingFiles": MissingFilesResponse.self,
    "MissingFilesRequest": MissingFilesRequest.self, "Problem": ServerProblem.self, "PushRequest": PushRequest.self,
    "PushResponse": PushResponse.self, "RecordDigests": RecordDigests.self, "Records": RecordsResponse.self,
    "RecordsRequest": RecordsRequest.self, "Watch": WatchResponse.self,
  ]
  static let names = types.keys.sorted()

  @Test("Every body of every route has a wire type, and every wire type has a body")
  func bodies() throws {
    var named: Set<String> = []
    for document in [try Self.document.get(), try Self.presigned.get()] {
      let text = (document["paths"] ?? .null).json + (document["components"]?["responses"] ?? .null).json
      for match in text.matches(of: /#\/components\/schemas\/([A-Za-z]+)/) { named.insert(String(match.1)) }
    }
    // The uuid of a path, the device of a query and a header, and a body without members.
    #expect(named.subtracting(["Uuid", "DeviceId", "Nothing"]) == Set(Self.types.keys))
  }

  @Test("A printed message has the members that its schema names, and no others", arguments: names)
  func printed(name: String) throws {
    var schema = JSONSchema(try Self.document.get())
    let samples = WireSamples.all[name] ?? []
    #expect(!samples.isEmpty)
    for sample in samples {
      let problems = schema.problems(sample.wire, as: name)
      #expect(problems.isEmpty, "\(problems)\n\(sample.wire.json)")
    }
    let unprinted = schema.properties(of: name).subtracting(schema.seen)
    #expect(unprinted.isEmpty, "no message prints \(unprinted.sorted())")
  }

  @Test("An instance of a schema parses, and prints again as it was", arguments: names)
  func parsed(name: String) throws {
    var schema = JSONSchema(try Self.document.get())
    let type = try #require(Self.types[name])
    for instance in try schema.instances(of: name, isFull: true) {
      #expect(schema.problems(instance, as: name).isEmpty, "the generator follows the schema")
      let printed = try type.init(wire: instance).wire
      #expect(printed == instance, "\(instance.json)\n\(printed.json)")
    }
    for instance in try schema.instances(of: name, isFull: false) {
      let printed = try type.init(wire: instance).wire
      let problems = schema.problems(printed, as: name)
      #expect(problems.isEmpty, "\(problems)\n\(printed.json)")
    }
  }

  @Test("The responses of a server are those of the document")
  func responses() async throws {
    let server = try TestServer()
    let client = try server.client("ada")
    let room = newUuid()
    let create = Operation.create("Project", room, ["title": "Dam", "status": "active"])
    _ = try await check(client, "POST", "/v1/push", "PushResponse", push([create]))
    let first = Operation.update("Project", room, ["title": "Dam 2"], base: ["title": "Dam"], version: 1)
    let late = Operation.update(
      "Project", room, ["title": "Dam 3", "notes": "wet"], base: ["title": "Dam", "notes": .null], version: 1)
    let bad = Operation.create("Project", newUuid(), ["title": .null], id: "bad")
    let orphan = Operation.create("Room", newUuid(), ["title": "Kitchen"])
    let unknown = Operation.delete("Nothing", newUuid(), version: 1)
    _ = try await check(client, "POST", "/v1/push", "PushResponse", push([first, late, bad, orphan, unknown]))
    let changes = try await check(client, "GET", "/v1/changes", "Changes")
    _ = try await check(client, "GET", "/v1/watch?timeout=1&cursor=\(changes.text("cursor"))", "Watch")
    _ = try await check(client, "GET", "/v1/digests", "EntityDigests")
    _ = try await check(client, "GET", "/v1/digests/Project", "BucketDigests")
    _ = try await check(client, "GET", "/v1/digests/Project/\(room.suffix(2))", "RecordDigests")
    let records = RecordsRequest(entityType: "Project", uuids: [room, newUuid()])
    _ = try await check(client, "POST", "/v1/records", "Records", records.wire)
    let files = MissingFilesRequest(files: ["\(room)/full"])
    _ = try await check(client, "POST", "/v1/files/missing", "MissingFiles", files.wire)
    _ = try await check(client, "POST", "/v1/files/digests", "FileDigests", files.wire)
    _ = try await check(client, "GET", "/v1/account", "Account")
    _ = try await check(client, "GET", "/v1/health", "Health")
    _ = try await check(client, "GET", "/v1/nothing", "Problem", status: 404)
    _ = try await check(client, "POST", "/v1/push", "Problem", [:], status: 400)
    await server.server.stop()
  }

  private func push(_ operations: [SyncValue]) -> SyncValue {
    ["deviceId": .text(newUuid()), "deviceCounter": 1, "operations": .array(operations)]
  }

  /// Checks that a response follows its schema, and that its wire type parses it without losing a member.
  private func check(
    _ client: TestClient, _ method: String, _ path: String, _ name: String, _ body: SyncValue? = nil, status: Int = 200
  ) async throws -> JSONResponse {
    let response = try await client.request(method, path, body)
    #expect(response.status == status, "\(path): \(response.json.json)")
    var schema = JSONSchema(try Self.document.get())
    let problems = schema.problems(response.json, as: name)
    #expect(problems.isEmpty, "\(path): \(problems)\n\(response.json.json)")
    let type = try #require(Self.types[name])
    let printed = try type.init(wire: response.json).wire
    #expect(schema.problems(printed, as: name).isEmpty)
    return response
  }
}
