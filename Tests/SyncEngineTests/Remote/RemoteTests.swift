import RawNetwork
import SyncModel
import Testing
import HTTPClient

@testable import SyncEngine

/// The remote against servers that respond, refuse, or belong to another service.
@Suite struct RemoteTests {
  private func remote(_ server: RawServer) throws -> FieldVaultRemote {
    FieldVaultRemote(transport: try transport(server))
  }

  @Test("Each call sends its request, with the token except for health, and parses the response")
  func requestsAndResponses() async throws {
    let page = ChangesPage(serverTime: 0, epoch: "e", changes: [], cursor: "c2", hasMore: false, remaining: nil)
    let responses: [String: any WireMessage] = [
      "GET /v1/health": health,
      "GET /v1/account": AccountInfo(
        serverUuid: "s", epoch: "e", account: "a", user: "u", serverTime: 0, schemas: []),
      "POST /v1/push": PushResponse(
        serverTime: 0, epoch: "e", cursor: nil,
        results: [PushResult(operationId: "1", outcome: .accepted(version: 1, serverId: 1))]),
      "GET /v1/changes?limit=500": page,
      "GET /v1/changes?cursor=c%2B1&limit=7&projects=p1%2Cp2": page,
      "GET /v1/watch?cursor=c1&timeout=50&deviceId=d&projects=p1": WatchResponse(changed: true),
      "GET /v1/digests?projects=p1": EntityDigests(serverTime: 0, epoch: "e", cursor: "c", entities: [:]),
      "GET /v1/digests/Room": BucketDigests(epoch: "e", buckets: [:]),
      "GET /v1/digests/Room/0f,a3": RecordDigests(epoch: "e", records: []),
      "POST /v1/records": RecordsResponse(serverTime: 0, epoch: "e", changes: [], missing: ["u"]),
    ]
    let server = try RawServer { request, connection in
      let asked = request.line.replacing(" HTTP/1.1", with: "")
      return connection.send(responses[asked].map { responseText($0.wire.json) } ?? problem(404))
    }
    defer { server.close() }
    let remote = try remote(server)
    #expect(try await remote.health() == health)
    #expect(try await remote.account().user == "u")
    let operation = PushOperation(
      operationId: "1", idempotencyKey: "k", kind: .create, entityType: "Room", entityUuid: "u", baseVersion: 0,
      schemaVersion: 1,
      patch: RecordPatch(updatedAt: 0))
    let request = PushRequest(deviceId: "d", deviceCounter: 1, cursor: "c", operations: [operation])
    #expect(try await remote.push(request).results.count == 1)
    #expect(try PushRequest(json: #require(server.requests.last).body) == request)
    #expect(try await remote.changes(cursor: nil, limit: 500, projects: []) == page)
    #expect(try await remote.changes(cursor: "c+1", limit: 7, projects: ["p1", "p2"]) == page)
    #expect(try await remote.watch(cursor: "c1", projects: ["p1"], deviceId: "d", seconds: 50).changed)
    #expect(try await remote.digests(projects: ["p1"]).cursor == "c")
    #expect(try await remote.digests(entityType: "Room", projects: []).buckets.isEmpty)
    #expect(try await remote.digests(entityType: "Room", buckets: ["0f", "a3"], projects: []).records.isEmpty)
    #expect(try await remote.records(entityType: "Room", uuids: ["u"], epoch: nil).missing == ["u"])
    #expect(server.requests.first?.headers["authorization"] == nil)
    #expect(server.requests.dropFirst().allSatisfy { $0.headers["authorization"] == "Bearer secret-token" })
  }

  @Test(
    "An unexpected response is classified, and its error does not contain the token",
    arguments: [
      ("a page", responseText("<html>Welcome to the hotel</html>", type: "text/html"), .unreachable),
      ("a page that says JSON", responseText("<html></html>"), .unreachable),
      (
        "another service", responseText(#"{"service":"hotel","protocol":1,"serverTime":"2026-03-01T08:00:00.000Z"}"#),
        .unreachable
      ),
      ("half of the response", responseText(#"{"service":"fieldvault","protocol":1}"#), .unreachable),
      ("nothing", responseText(""), .unreachable),
      ("a page of errors", responseText("<html>", status: "404 Not Found", type: "text/html"), .unreachable),
      ("a bad gateway", responseText("<html>", status: "502 Bad Gateway", type: "text/html"), .unreachable),
      ("a problem", problem(401), .pauseCredentials),
      (
        "a problem without its words", responseText("{}", status: "401 No", type: "application/problem+json"),
        .unreachable
      ),
      ("too many", responseText("", status: "429 No", type: nil, headers: ["Retry-After: 7"]), .later(seconds: 7)),
      ("a failure", problem(500), .attempt),
      ("no cursor", problem(410, type: ServerProblem.cursorUnknown), .cursorUnknown),
      ("an old schema", problem(409, type: ServerProblem.schemaTooOld), .schemaTooOld),
    ] as [(String, String, ResponseClass)])
  func unexpectedResponses(name: String, text: String, meaning: ResponseClass) async throws {
    let server = try RawServer(response: text)
    defer { server.close() }
    let remote = try remote(server)
    let failure = await remoteFailure { () throws(RemoteFailure) in try await remote.health() }
    #expect(failure?.responseClass == meaning, "\(name): \(String(describing: failure))")
    #expect(failure?.description.contains("secret-token") == false)
  }

  @Test("A busy server can state a retry time") func aServerThatIsBusyMaySayForHowLong() async throws {
    let server = try RawServer(response: problem(503, headers: ["Retry-After: 60"]))
    defer { server.close() }
    let remote = try remote(server)
    let failure = await remoteFailure { () throws(RemoteFailure) in try await remote.account() }
    #expect(failure?.responseClass == .unreachable)
    #expect(failure?.retryAfterSeconds == 60)
  }

  @Test("A malformed token is not sent") func aTokenThatIsNoneIsNotSent() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let remote = FieldVaultRemote(transport: try transport(server, token: "secret\r\nX-Other: 1"))
    let failure = await remoteFailure { () throws(RemoteFailure) in try await remote.account() }
    #expect(failure?.responseClass == .pauseCredentials)
    #expect(failure?.description.contains("secret") == false)
    #expect(server.accepted == 0)
  }
}
