import CipherSQL
import Foundation
import RawNetwork
import SyncModel
import TestSupport
import Testing

@testable import HTTPClient

/// Requests whose token is renewed, over sockets.
@Suite struct TokenProviderTests {
  private struct NotSignedIn: Error, CustomStringConvertible {
    let description = "nobody is signed in"
  }

  private let stored = Locked<String?>("old")
  private let asked = Locked<[TokenReason]>([])

  /// A server that accepts some tokens.
  private func server(accepting tokens: Locked<Set<String>>) throws -> RawServer {
    try RawServer { request, connection in
      let token = request.headers["authorization"].map { String($0.dropFirst("Bearer ".count)) }
      return connection.send(tokens.withLock { $0.contains(token ?? "") } ? responseText("{}") : problem(401))
    }
  }

  private func transport(
    _ url: String, clock: Clock = .system, _ provider: @escaping TokenProvider
  ) throws -> HTTPTransport {
    let (stored, asked) = (stored, asked)
    let source = TokenSource(provider: { reason in
      asked.withLock { $0.append(reason) }
      return try await provider(reason)
    }) { token, _, _ in
      stored.withLock { $0 = token }
      return token
    }
    return HTTPTransport(
      address: try ServerAddress(url), limits: TransportLimits(), clock: clock,
      backend: CurlBackend(connectSeconds: 15, authorities: nil), renewal: source, token: { stored.withLock { $0 } })
  }

  @Test("A refused token is renewed once, and the request is repeated with its body")
  func renewed() async throws {
    let server = try server(accepting: Locked(["new"]))
    defer { server.close() }
    let transport = try transport(server.url) { _ in "new" }
    let body = Array("{\"a\":1}".utf8)
    #expect(try await transport.send(HTTPRequest("/v1/push", body: body)).status == 200)
    #expect(try await transport.send(HTTPRequest("/v1/push", body: body)).status == 200)
    #expect(asked.withLock { $0 } == [.refused])
    #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer old", "Bearer new", "Bearer new"])
    #expect(server.requests.allSatisfy { $0.body == body })
  }

  @Test("A streamed body and a download start again from their beginning")
  func streams() async throws {
    let server = try server(accepting: Locked(["new"]))
    defer { server.close() }
    let transport = try transport(server.url) { _ in "new" }
    var request = HTTPRequest("/v1/files/a")
    request.method = "PATCH"
    request.upload = HTTPUpload(byteCount: 300_000) { offset, buffer in
      let count = min(buffer.count, 300_000 - Int(offset))
      for index in 0..<count { buffer[index] = UInt8(truncatingIfNeeded: Int(offset) + index) }
      return count
    }
    let begun = Locked<[Int]>([])
    let received = Locked<[UInt8]>([])
    request.download = HTTPDownload { head in
      begun.withLock { $0.append(head.status) }
      guard head.status == 200 else { return nil }
      return { bytes in received.withLock { $0 += bytes } }
    }
    #expect(try await transport.send(request).status == 200)
    let whole = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
    #expect(server.requests.count == 2 && server.requests.allSatisfy { $0.body == whole })
    #expect(begun.withLock { $0 } == [401, 200] && received.withLock { $0 } == Array("{}".utf8))
  }

  @Test("Twenty requests that are refused at the same time share one call of the provider")
  func shared() async throws {
    let (waiting, all) = (Locked(0), 20)
    let server = try RawServer { request, connection in
      if request.headers["authorization"] == "Bearer new" { return connection.send(responseText("{}")) }
      // All are refused before the first one asks.
      waiting.withLock { $0 += 1 }
      while waiting.withLock({ $0 }) < all { usleep(1_000) }
      return connection.send(problem(401))
    }
    defer { server.close() }
    let transport = try transport(server.url) { _ in
      try await Task.sleep(for: .milliseconds(20))
      return "new"
    }
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<all { group.addTask { try await transport.send(HTTPRequest("/v1/changes")).status } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == Array(repeating: 200, count: all))
    #expect(asked.withLock { $0 } == [.refused])
  }

  @Test("A missing token is asked for before a request is sent; a probe without a token asks for none")
  func missing() async throws {
    let server = try server(accepting: Locked(["new"]))
    defer { server.close() }
    stored.withLock { $0 = nil }
    let transport = try transport(server.url) { _ in "new" }
    #expect(try await transport.send(HTTPRequest("/v1/health", isAuthorized: false)).status == 401)
    var probe = HTTPRequest("/")
    probe.tokenRefusal = nil
    #expect(try await transport.send(probe).status == 401)
    #expect(asked.withLock { $0 } == [])
    #expect(try await transport.send(HTTPRequest("/v1/changes")).status == 200)
    #expect(asked.withLock { $0 } == [.missing] && server.requests.count == 3)
  }

  @Test("The text of a provider's error reaches the user, and the provider is asked again by the next round only")
  func failing() async throws {
    let server = try server(accepting: Locked([]))
    defer { server.close() }
    let transport = try transport(server.url) { _ in throw NotSignedIn() }
    for round in 1...2 {
      for _ in 0..<3 {
        let found = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/watch")) }
        let failure = try #require(found)
        #expect(failure.message == "no valid token could be obtained: nobody is signed in")
        #expect(ResponseClass(failure) == .pauseCredentials)
      }
      #expect(asked.withLock { $0.count } == round)
      transport.allowRenewal()
    }
  }

  @Test("A token that is refused again is the server's refusal, and asks for no other")
  func refusedAgain() async throws {
    let server = try server(accepting: Locked([]))
    defer { server.close() }
    let transport = try transport(server.url) { _ in "new" }
    for _ in 0..<3 { #expect(try await transport.send(HTTPRequest("/v1/changes")).status == 401) }
    #expect(asked.withLock { $0 } == [.refused])
  }

  @Test("A refusal of an intermediary asks for no token")
  func intermediary() async throws {
    let server = try RawServer(response: responseText("<html>", status: "401 No", type: "text/html"))
    defer { server.close() }
    let transport = try transport(server.url) { _ in "new" }
    #expect(try await transport.send(HTTPRequest("/v1/files/a")).status == 401)
    do throws(RemoteFailure) {
      let _: AccountInfo = try await transport.ask(HTTPRequest("/v1/account"))
    } catch {
      #expect(error.responseClass == .unreachable)
    }
    #expect(asked.withLock { $0 } == [])
  }

  @Test("A provider that never returns ends with its time, and blocks no cancellation")
  func endless() async throws {
    let server = try server(accepting: Locked([]))
    defer { server.close() }
    let time = TestClock(isRunning: false)
    let hanging = Locked<[CheckedContinuation<Void, Never>]>([])
    defer { hanging.withLock { $0 }.forEach { $0.resume() } }
    // Ignores the cancellation of its task.
    let transport = try transport(server.url, clock: time.clock) { _ in
      await withCheckedContinuation { waiter in hanging.withLock { $0.append(waiter) } }
      return nil
    }
    func start() async throws -> Task<TransportFailure?, Never> {
      let before = hanging.withLock { $0.count }
      let request = Task {
        await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/changes")) }
      }
      try await eventually("the provider is asked") { hanging.withLock { $0.count } > before }
      return request
    }
    let cancelled = try await start()
    cancelled.cancel()
    #expect(await cancelled.value == .cancelled)
    let slow = try await start()
    time.advance(by: .seconds(75))
    #expect(
      await slow.value?.message == "no valid token could be obtained: the provider of tokens returned none within 75 s")
  }
}
