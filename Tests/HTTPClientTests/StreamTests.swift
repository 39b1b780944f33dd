import CipherSQL
import Foundation
import RawNetwork
import Testing

@testable import HTTPClient

/// Bodies that are read and written as they go, other methods, headers.
@Suite struct StreamTests {
  private static let content = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }

  private func upload(_ content: [UInt8], failsAt: Int = .max) -> HTTPUpload {
    HTTPUpload(byteCount: Int64(content.count)) { offset, buffer in
      if Int(offset) + buffer.count > failsAt { throw CancellationError() }
      let part = content[Int(offset)..<min(content.count, Int(offset) + buffer.count)]
      buffer.copyBytes(from: part)
      return part.count
    }
  }

  @Test("An upload streams its body with a Content-Length over one connection", arguments: ["PATCH", "POST", "PUT"])
  func aBodyIsReadWhileItIsSent(method: String) async throws {
    let server = try RawServer(response: "HTTP/1.1 204 No Content\r\nUpload-Offset: 7\r\nX-Two: a\r\nx-two: b\r\n\r\n")
    defer { server.close() }
    let transport = try transport(server)
    for content in [Self.content, [], [1]] {
      var request = HTTPRequest("/files/1")
      request.method = method
      request.headers = [("Content-Type", "application/offset+octet-stream"), ("Upload-Offset", "0")]
      request.upload = upload(content)
      let response = try await transport.send(request)
      #expect(response.status == 204)
      #expect(response.headers["upload-offset"] == "7" && response.headers["x-two"] == "b")
      #expect(response.bytesSent == content.count)
      let got = try #require(server.requests.last)
      #expect(got.line == "\(method) /files/1 HTTP/1.1")
      #expect(got.body == content)
      #expect(got.headers["content-length"] == String(content.count))
      #expect(got.headers["content-type"] == "application/offset+octet-stream")
      #expect(got.headers["transfer-encoding"] == nil && got.headers["expect"] == nil)
    }
    #expect(server.accepted == 1)
  }

  @Test("HEAD, DELETE, OPTIONS and GET send no body") func methodsWithoutABodyHaveNone() async throws {
    let server = try RawServer { request, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + (request.line.hasPrefix("HEAD") ? "" : "hello"))
    }
    defer { server.close() }
    let transport = try transport(server)
    for method in ["HEAD", "DELETE", "OPTIONS", "GET"] {
      var request = HTTPRequest("/files/1")
      request.method = method
      let response = try await transport.send(request)
      #expect(response.body == (method == "HEAD" ? [] : Array("hello".utf8)))
      #expect(response.headers["content-length"] == "5")
      #expect(server.requests.last?.line == "\(method) /files/1 HTTP/1.1")
      #expect(server.requests.last?.headers["content-type"] == nil)
    }
    #expect(server.accepted == 1)
  }

  @Test("A download streams its body to the receiver, and a refusal is collected instead")
  func aBodyGoesWhereItIsWanted() async throws {
    let content = Self.content
    let server = try RawServer { request, connection in
      if request.line.contains("missing") { return connection.send(problem(404)) }
      return connection.send("HTTP/1.1 206 Partial Content\r\nContent-Length: \(content.count)\r\nETag: \"x\"\r\n\r\n")
        && connection.send(content)
    }
    defer { server.close() }
    // More than may be collected.
    let transport = try transport(server) { $0.bodyBytes = 1000 }
    let received = Locked([UInt8]())
    let download = HTTPDownload { head in
      guard head.status == 206, head.headers["etag"] == "\"x\"" else { return nil }
      return { bytes in received.withLock { $0.append(contentsOf: bytes) } }
    }
    var request = HTTPRequest("/files/1")
    request.download = download
    let response = try await transport.send(request)
    #expect(response.body.isEmpty && response.bytesReceived == content.count)
    #expect(received.withLock { $0 } == content)
    #expect(server.requests.last?.headers["accept-encoding"] == nil)
    request.path = "/files/missing"
    let refusal = try await transport.send(request)
    #expect(refusal.status == 404 && refusal.contentType == "application/problem+json" && !refusal.body.isEmpty)
  }

  @Test("A failing source or receiver of a body ends the request") func whatCannotBeReadOrKeptEndsTheRequest()
    async throws
  {
    let server = try RawServer(response: responseText(String(repeating: "x", count: 100_000)))
    defer { server.close() }
    let transport = try transport(server)
    let body = upload(Self.content, failsAt: 300_000)
    let sending = await failure { () throws(TransportFailure) in
      var request = HTTPRequest("/files/1")
      request.method = "PATCH"
      request.upload = body
      return try await transport.send(request)
    }
    #expect(sending == .bodyFailed)
    let receiving = await failure { () throws(TransportFailure) in
      var request = HTTPRequest("/files/1")
      request.download = HTTPDownload { _ in { _ in throw CancellationError() } }
      return try await transport.send(request)
    }
    #expect(receiving == .bodyFailed)
    #expect(try await transport.send(HTTPRequest("/files/1")).status == 200)
  }

  @Test("A refusal before the body was sent completely is a response")
  func earlyRefusalIsAResponse() async throws {
    let server = try RawServer { _, connection in
      connection.send(problem(409))
      return false
    }
    defer { server.close() }
    var request = HTTPRequest("/files/1")
    request.method = "PATCH"
    request.upload = upload([1, 2, 3])
    #expect(try await transport(server).send(request).status == 409)
  }

  @Test("A download that makes progress may exceed the timeout of the whole request")
  func whatGoesOnMayTakeLongerThanTheWholeLimit() async throws {
    let server = try RawServer { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
      for _ in 0..<8 {
        usleep(100_000)
        guard connection.send("x") else { return false }
      }
      return true
    }
    defer { server.close() }
    let transport = try transport(server) { ($0.wholeSeconds, $0.idleSeconds) = (0.4, 0.3) }
    var request = HTTPRequest("/files/1")
    request.download = HTTPDownload { _ in { _ in } }
    #expect(try await transport.send(request).bytesReceived == 8)
    let failure = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/files/1")) }
    #expect(failure == .timedOut(seconds: 0.4))
  }

  @Test("A request with the token to another server is refused, and references resolve against the address")
  func aTokenNeverGoesToAnotherServer() async throws {
    let other = try RawServer(response: healthy)
    let server = try RawServer(response: healthy)
    defer {
      server.close()
      other.close()
    }
    let transport = try transport(server)
    #expect(try await transport.send(HTTPRequest("\(server.url)/v1/files/1")).status == 200)
    #expect(server.requests.last?.line == "GET /v1/files/1 HTTP/1.1")
    for address in [
      "\(other.url)/v1/files/1", "https://127.0.0.1:\(server.port)/x", "http://user@127.0.0.1:\(server.port)/",
    ] {
      let found = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest(address)) }
      #expect(found == .notTheServer(detail: "it returned an address on another server"))
    }
    #expect(other.accepted == 0)
    let address = try ServerAddress("https://example.org/base")
    for (location, resolved) in [
      ("/v1/files/9", "https://example.org/v1/files/9"), ("9", "https://example.org/base/v1/9"),
      ("https://example.org/a/b?c=d", "https://example.org/a/b?c=d"), ("//evil.org/x", "https://evil.org/x"),
    ] {
      #expect(try address.resolved(location, from: "/v1/files") == resolved)
    }
  }
}
