import CipherSQL
import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import HTTPServer
@testable import SyncServer

/// Clients that hold connections and memory without coming to an end.
@Suite struct StalledConnectionTests {
  /// Looks again and again, until something holds.
  @Test("Connections that never complete a header are closed, and others are served meanwhile")
  func slowHeaders() async throws {
    let server = try TestServer { limits in
      (limits.http.connections, limits.http.connectionsPerAddress) = (64, 64)
      (limits.http.waitingConnections, limits.http.waitingConnectionsPerAddress) = (8, 8)
      (limits.http.headerTime, limits.http.watchInterval) = (.milliseconds(500), .milliseconds(10))
    }
    let client = try server.client("ada")
    // More than the server has connections, each with a header that grows and never ends.
    var slow: [RawConnection] = []
    for _ in 0..<100 {
      let connection = try RawConnection(to: client.url)
      #expect(connection.send("GET /v1/health HTTP/1.1\r\nHost: x\r\nX-A: "))
      slow.append(connection)
      if slow.count.isMultiple(of: 10) { #expect(try await client.get("/v1/health").status == 200) }
    }
    #expect(try await client.get("/v1/account").status == 200)
    let last = try #require(slow.last)
    try await eventually("the server closes a connection whose header never ends") { !last.send("x") }
    await server.server.stop()
  }

  @Test("A kept connection that sends no further request in time is closed, although bytes come")
  func slowSecondHeader() async throws {
    let server = try TestServer { limits in
      (limits.http.idleSeconds, limits.http.watchInterval) = (1, .milliseconds(10))
    }
    let raw = try RawConnection(to: server.server.url)
    #expect(raw.send("GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/health HTTP/1.1\r\nX-A: "))
    try await eventually("the server closes a connection whose second header never ends") { !raw.send("x") }
    await server.server.stop()
  }

  @Test("Bodies are counted for each user before they are read, so that stalled ones of one user stop no other")
  func stalledBodies() async throws {
    let server = try TestServer { limits in
      (limits.http.bodyBytes, limits.http.bodyMemoryBytes, limits.http.bodyMemoryBytesPerUser) = (1_000, 3_500, 2_000)
    }
    let (ada, bo, eve) = (try server.client("ada"), try server.client("bo"), try server.client("eve"))
    func stall(
      _ client: TestClient, _ lines: String = "Content-Length: 1000", _ body: String = "{"
    ) throws -> RawConnection {
      let raw = try RawConnection(to: client.url)
      let token = try #require(client.token)
      #expect(
        raw.send(
          "POST /v1/push HTTP/1.1\r\nHost: x\r\nFieldVault-Protocol: 2\r\nContent-Type: application/json\r\nAuthorization: Bearer \(token)\r\n\(lines)\r\n\r\n\(body)"
        ))
      return raw
    }
    let stalled = [try stall(ada), try stall(ada, "Transfer-Encoding: chunked", "100\r\n{")]
    try await eventually("the server counts the bodies") { server.server.bodyMemory == 2_000 }
    #expect(await (try stall(ada)).receive().hasPrefix("HTTP/1.1 429"))
    let other = try stall(bo)
    try await eventually("the server counts the bodies") { server.server.bodyMemory == 3_000 }
    let refused = await (try stall(eve)).receive()
    #expect(refused.hasPrefix("HTTP/1.1 503") && refused.contains("Retry-After"))
    #expect(try await eve.get("/v1/account").status == 200)
    for raw in stalled + [other] { raw.end() }
    try await eventually("the server releases the memory") { server.server.bodyMemory == 0 }
    #expect(try await ada.request("POST", "/v1/push", [:]).status == 400)
    await server.server.stop()
  }

  @Test("The rate limit is asked before the body of a request is read")
  func rateBeforeBody() async throws {
    let server = try TestServer { ($0.requestBurst, $0.requestsPerSecond) = (1, 1) }
    let client = try server.client("ada")
    let token = try #require(client.token)
    let shared = "Host: x\r\nFieldVault-Protocol: 2\r\nAuthorization: Bearer \(token)\r\n"
    // One after the other on one connection, so that the limit has next to no time to recover. On a busy machine it may
    // recover all the same.
    var responses = ""
    for _ in 0..<5 where !responses.contains("HTTP/1.1 429") {
      let raw = try RawConnection(to: client.url)
      #expect(
        raw.send(
          "GET /v1/account HTTP/1.1\r\n\(shared)\r\nPOST /v1/push HTTP/1.1\r\n\(shared)"
            + "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"))
      responses = await raw.receive()
    }
    #expect(responses.contains("HTTP/1.1 429"), "\(responses)")
    await server.server.stop()
  }

  @Test("A token that is revoked ends its uploads, downloads and waiting requests")
  func revokedTokens() async throws {
    let server = try TestServer { limits in
      // Nothing else ends the requests while the test waits.
      (limits.http.watchInterval, limits.http.idleSeconds) = (.milliseconds(10), 600)
    }
    let client = try server.client("ada")
    let files = FileClient(client)
    let token = try #require(client.token)
    // Larger than the buffers of the system, so that the download waits for its reader.
    let content = newUuid()
    try await files.upload([UInt8](repeating: 1, count: 16 << 20), as: content)
    let download = try RawConnection(to: client.url)
    #expect(
      download.send("GET /v1/files/\(content)/full HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n"))
    let begun = try await files.begin(1_000)
    let upload = try RawConnection(to: client.url)
    #expect(
      upload.send(
        files.head(
          "PATCH", begun.location, ["Upload-Offset": "0", "Content-Type": FileClient.content], length: 1_000) + [
            1, 2, 3,
          ]))
    let cursor = try await client.pull().cursor
    async let waiting = client.get("/v1/watch?cursor=\(cursor)&timeout=55")
    try await eventually("the requests have begun") { server.server.requestCount == 3 }
    #expect(try server.withDirectory { try $0.revokeUser("ada") } == 1)
    try await eventually("the server ends the requests of a revoked token") { server.server.requestCount == 0 }
    #expect(await download.receiveBytes().count < 16 << 20)
    #expect(await upload.receive().contains(" 204 ") == false)
    do { _ = try await waiting } catch {}
    await server.server.stop()
  }

  @Test("A server that stops does not wait for a request that never ends")
  func stopIsBounded() async throws {
    var limits = HTTPLimits()
    limits.stopSeconds = 1
    let isStuck = Locked(false)
    let isFree = Locked(false)
    let http = try HTTPServer(
      listen: "127.0.0.1:0", identity: nil, limits: limits, log: .silent, environment: .system,
      handlers: .init(
        admit: { _ in AdmittedRequest(admission: .ignore) },
        respond: { _ in
          isStuck.withLock { $0 = true }
          // Ignores its cancellation.
          while !isFree.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) }
          return .empty(204)
        }))
    let raw = try RawConnection(to: "http://" + http.address)
    #expect(raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
    try await eventually("the request has begun") { isStuck.withLock { $0 } }
    await http.stop()
    isFree.withLock { $0 = true }
    #expect(await raw.receive().contains(" 204 ") == false)
  }
}
