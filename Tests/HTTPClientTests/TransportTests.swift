import Foundation
import RawNetwork
import SyncModel
import Testing

@testable import HTTPClient

/// A transport against servers that violate the protocol.
@Suite struct TransportTests {
  @Test("A request carries the token, the encoded query and the JSON body") func aRequestCarriesTokenAndBody()
    async throws
  {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let transport = try transport(server)
    let got = try await transport.send(
      HTTPRequest("/v1/push", query: [("cursor", "a+b&c=ü/ ")], body: Array("{}".utf8)))
    #expect(got.status == 200)
    #expect(got.contentType == "application/json")
    #expect(got.body == Array(health.wire.json.utf8))
    #expect(got.bytesSent == 2)
    #expect(got.bytesReceived == got.body.count)
    #expect(got.retryAfterSeconds == nil)
    let request = try #require(server.requests.first)
    #expect(request.line == "POST /v1/push?cursor=a%2Bb%26c%3D%C3%BC%2F%20 HTTP/1.1")
    #expect(request.headers["authorization"] == "Bearer secret-token")
    #expect(request.headers["content-type"] == "application/json")
    #expect(request.headers["cookie"] == nil)
    #expect(request.headers["expect"] == nil)
    #expect(request.body == Array("{}".utf8))
  }

  @Test("An unauthorized request carries no token") func aRequestWithoutAuthorizationCarriesNoToken() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    _ = try await transport(server).send(HTTPRequest("/v1/health", isAuthorized: false))
    #expect(server.requests.first?.headers["authorization"] == nil)
  }

  @Test("A token that cannot be read is a failure of this request alone, and no request is sent without it")
  func unreadableToken() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let transport = HTTPTransport(address: try ServerAddress(server.url)) { throw CancellationError() }
    let found = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/changes")) }
    #expect(found == .tokenUnavailable)
    #expect(server.requests.isEmpty)
    // The request is tried again, and no attempt of its operations is counted.
    #expect(ResponseClass(TransportFailure.tokenUnavailable) == .unreachable)
    #expect(try await transport.send(HTTPRequest("/v1/health", isAuthorized: false)).status == 200)
  }

  @Test("Successive requests share one connection") func oneConnectionServesManyRequests() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let transport = try transport(server)
    for index in 0..<50 {
      let body: [UInt8]? = index % 2 == 0 ? nil : [UInt8](repeating: 0x20, count: 3000)
      #expect(try await transport.send(HTTPRequest("/v1/changes", body: body)).status == 200)
    }
    #expect(server.requests.count == 50)
    #expect(server.accepted == 1)
  }

  @Test("Cookies and cached responses are not kept") func noCookieIsKept() async throws {
    let server = try RawServer(
      response: responseText("{}", headers: ["Set-Cookie: a=b", "Cache-Control: max-age=600"]))
    defer { server.close() }
    let transport = try transport(server)
    for _ in 0..<3 { _ = try await transport.send(HTTPRequest("/v1/health")) }
    #expect(server.requests.count == 3)
    #expect(server.requests.allSatisfy { $0.headers["cookie"] == nil })
  }

  @Test(
    "A redirect is not followed",
    arguments: ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
  func aRedirectIsNotFollowed(status: String) async throws {
    let other = try RawServer(response: healthy)
    let server = try RawServer(
      response: responseText("moved", status: status, headers: ["Location: \(other.url)/v1/health"]))
    defer {
      server.close()
      other.close()
    }
    let transport = try transport(server)
    let failure = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
    #expect(failure == .notTheServer(detail: "it redirects"))
    #expect(other.accepted == 0)
  }

  @Test("A redirect without a location is reported as another server") func aRedirectToNowhereIsNotTheServer()
    async throws
  {
    let server = try RawServer(response: responseText("", status: "304 Not Modified"))
    defer { server.close() }
    let transport = try transport(server)
    let failure = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
    #expect(failure == .notTheServer(detail: "it redirects"))
  }

  @Test("A response with an error status is returned with its body and Retry-After")
  func errorStatusIsAResponse() async throws {
    for status in [400, 401, 403, 404, 409, 410, 413, 422, 429, 500, 503] {
      // A Basic challenge must not make the system ask for a password.
      let server = try RawServer(
        response: problem(status, headers: ["WWW-Authenticate: Basic realm=\"x\"", "Retry-After: 7"]))
      defer { server.close() }
      let got = try await transport(server).send(HTTPRequest("/v1/push", body: [0x7B, 0x7D]))
      #expect(got.status == status)
      #expect(got.contentType == "application/problem+json")
      #expect(got.retryAfterSeconds == 7)
      #expect(!got.body.isEmpty, "\(status)")
    }
  }

  @Test("A refused connection is reported as no connection") func nobodyThere() async throws {
    let server = try RawServer(response: healthy)
    server.close()
    let transport = try transport(server)
    let failure = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
    #expect(failure == .noConnection(detail: "no connection could be established"))
  }

  @Test("An unknown host name is reported as no connection or a timeout") func aNameThatNobodyKnows() async throws {
    var limits = TransportLimits()
    limits.connectSeconds = 2
    let transport = HTTPTransport(
      address: try ServerAddress("https://fieldvault.invalid"), limits: limits, token: { nil })
    let found = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
    // Without a responding name server the request times out instead.
    #expect(found == .noConnection(detail: "its host name cannot be resolved") || found == .timedOut(seconds: 2))
  }

  @Test("A server without TLS fails with the connection timeout") func aServerThatSpeaksNoTLS() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    // Each waits for the other to say something that it understands.
    var limits = TransportLimits()
    limits.connectSeconds = 0.5
    let transport = HTTPTransport(
      address: try ServerAddress("https://127.0.0.1:\(server.port)"), limits: limits, token: { nil })
    let found = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
    #expect(found == .timedOut(seconds: 0.5))
  }
}
