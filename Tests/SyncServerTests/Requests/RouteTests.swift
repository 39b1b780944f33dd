import Foundation
import Platform
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import FileServer
@testable import SQLCipherStorage
@testable import ServerStorage
@testable import HTTPServer
@testable import SyncServer

@Suite struct RouteTests {
  @Test("Tokens are required, listed, revoked and unique by user name") func tokens() async throws {
    let server = try TestServer()
    let client = try server.client("ada")
    let nobody = TestClient(url: server.server.url, token: nil)
    #expect(try await nobody.get("/v1/health")["service"] == "fieldvault")
    #expect(try await nobody.get("/v1/openapi.json")["openapi"] == "3.1.0")
    for token in [nil, "", "fv_wrong", "x y"] {
      let response = try await TestClient(url: server.server.url, token: token).get("/v1/account")
      #expect(response.status == 401 && response.contentType == "application/problem+json")
    }
    let account = try await client.get("/v1/account")
    #expect(account.text("account") == "water" && account.text("user") == "ada")
    #expect(account["schemas", "0", "name"] == "restoration")
    // Another process of this folder revokes, adds and lists.
    #expect(try server.withDirectory { try $0.revokeUser("ada") } == 1)
    #expect(throws: ServerError.self) { try server.withDirectory { try $0.revokeUser("nobody") } }
    #expect(try await client.get("/v1/account").status == 401)
    let again = try server.client("ada")
    #expect(try await again.get("/v1/account").text("serverUuid") == account.text("serverUuid"))
    #expect(try server.withDirectory { try $0.users() }.map(\.name) == ["ada"])
    #expect(throws: ServerError.self) { try server.client("ada") }
    #expect(throws: ServerError.self) { try server.client("") }
    await server.server.stop()
  }

  @Test("Malformed requests are refused with their status") func mistakesInRequests() async throws {
    let server = try TestServer()
    let client = try server.client("ada")
    func status(_ method: String, _ path: String, _ text: String? = nil, _ headers: [String: String] = [:]) async throws
      -> Int
    {
      try await client.request(method, path, raw: text.map { Array($0.utf8) }, headers: headers).status
    }
    #expect(try await status("GET", "/") == 404)
    #expect(try await status("GET", "/v1/nothing") == 404)
    let wrong = try await client.request("DELETE", "/v1/push")
    #expect(wrong.status == 405 && wrong.headers["allow"] == "POST")
    #expect(try await status("POST", "/v1/push", "{}", ["Content-Type": "text/plain"]) == 415)
    #expect(try await status("POST", "/v1/push", "{\"operations\": [") == 400)
    #expect(try await status("POST", "/v1/push", "[]") == 400)
    #expect(try await status("POST", "/v1/push", "{}") == 400)
    #expect(try await status("POST", "/v1/push", "{\"operations\": [{}]}") == 400)
    #expect(try await status("POST", "/v1/push", "{\"operations\": 5}") == 400)
    #expect(try await status("POST", "/v1/push", "{\"operations\": []}") == 400)
    #expect(
      try await status("POST", "/v1/push", "{\"deviceId\": \"d\", \"deviceCounter\": 1, \"operations\": []}") == 200)
    #expect(try await status("POST", "/v1/push", "{\"operations\": [], \"operations\": []}") == 400)
    #expect(try await status("GET", "/v1/changes?limit=0") == 422)
    #expect(try await status("GET", "/v1/watch") == 422)
    let many = (0..<26).map { Operation.delete("Room", newUuid(), version: 1, id: "\($0)") }
    #expect(try await client.push(many).status == 413)
    await server.server.stop()
  }

  @Test("Requests above the rate limit are refused with 429 and Retry-After")
  func tooManyRequestsAreToldWhenToComeBack() async throws {
    let server = try TestServer { limits in
      limits.requestBurst = 5
      limits.requestsPerSecond = 1
    }
    let client = try server.client("ada")
    let responses = try await withThrowingTaskGroup(of: JSONResponse.self) { group in
      for _ in 0..<60 { group.addTask { try await client.get("/v1/account") } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(responses.map(\.status)) == [200, 429])
    #expect(responses.contains { $0.status == 429 && $0.headers["retry-after"] == "1" })
    #expect(try await server.client("bob").get("/v1/account").status == 200, "others are not concerned")
    await server.server.stop()
  }

  @Test("The log contains no user data") func logHasNoDataOfUsers() async throws {
    let server = try TestServer()
    let client = try server.client("ada")
    let uuid = newUuid()
    _ = try await client.push([Operation.create("Project", uuid, ["title": "Confidential"])])
    _ = try await client.push([
      Operation.create("Project", newUuid(), ["title": "", "status": "Confidential"])
    ])
    _ = try await client.get("/v1/digests/Project/ff?projects=\(uuid)")
    _ = try await client.get("/v1/\(uuid)")
    await server.server.stop()
    let lines = server.lines.withLock { $0 }
    #expect(lines.count == 4)
    for line in lines {
      for secret in ["Confidential", uuid, "ada", "water", client.token ?? "", "ff?"] {
        #expect(!line.contains(secret))
      }
    }
    #expect(lines.contains { $0.contains("GET /v1/digests/{entity}/{buckets} 200") })
  }

  @Test("The OpenAPI document describes exactly the routes of the server", arguments: [false, true])
  func documentHasTheRoutesAndOnlyThese(isPresigned: Bool) throws {
    let document = try OpenAPI(limits: ServerLimits(), isPresigned: isPresigned).document()
    let server = try TestServer()
    let service = SyncService(
      storage: try EmbeddedStorage(
        in: try ServerFolder(server.folder.path + "/other", isCreating: true), schemas: [], accounts: []),
      limits: ServerLimits(), serverUuid: "", log: .silent, environment: .system)
    let storage = DiskFileStorage(in: try ServerFolder(server.folder.path + "/other", isCreating: true))
    let objects = ObjectFiles(
      store: try objectStore("https://s3.example.org"), database: EmbeddedObjects(storage), log: .silent,
      environment: .system)
    let files = FileService(
      storage: storage, inUse: { _, _ in [] }, limits: FileLimits(), sessions: UploadSessions(limit: 1, clock: .system),
      log: .silent, environment: .system, objects: isPresigned ? objects : nil)
    let directory = try ServerDirectory(in: try ServerFolder(server.folder.path + "/other", isCreating: true))
    let rights = AccountService(
      records: service, directory: directory,
      deletions: AccountDeletions(
        directory: directory, objects: EmbeddedObjects(storage), store: nil, clock: .system, log: .silent))
    guard case .object(let paths)? = document["paths"] else { throw CancellationError() }
    var described: Set<String> = []
    for path in paths.members {
      guard case .object(let methods) = path.value else { continue }
      for method in methods.members where method.name != "parameters" {
        described.insert("\(method.name.uppercased()) \(path.name)")
        let isOpen = method.name == "options" || ["/v1/health", "/v1/ready", "/v1/openapi.json"].contains(path.name)
        #expect((method.value["security"] != nil) == isOpen)
      }
    }
    #expect(described == Set((service.routes + rights.routes + files.routes).map { "\($0.method) \($0.pattern)" }))
    let text = document.json
    for reference in text.matches(of: /"\$ref":"#\/components\/([a-zA-Z]+)\/([a-zA-Z]+)"/) {
      #expect(document["components"]?[String(reference.1)]?[String(reference.2)] != nil, "\(reference.0)")
    }
  }
}
