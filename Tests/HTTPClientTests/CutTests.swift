import Foundation
import RawNetwork
import SyncModel
import Testing

@testable import HTTPClient

/// Responses that are truncated, never end, or are not HTTP.
@Suite struct CutTests {
  private func isNoResponse(_ failure: TransportFailure?) -> Bool {
    switch failure {
    case .noConnection, .notTheServer, .timedOut: true
    default: false
    }
  }

  /// A response truncated after any byte fails the request: no partial response is returned, and nothing hangs.
  @Test("A response that ends after any byte is reported as a failure") func truncatedResponseFails() async throws {
    let text = Array(responseText(health.wire.json, headers: ["X-Filler: 1"]).utf8)
    for length in 0..<text.count {
      let server = try RawServer { _, connection in
        connection.send(text[..<length])
        return false
      }
      defer { server.close() }
      let transport = try transport(server)
      let found = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
      switch found {
      case .noConnection, .notTheServer: break
      default: #expect(Bool(false), "cut after \(length): \(String(describing: found))")
      }
    }
  }

  @Test("A truncated chunked response is reported as a lost connection") func truncatedChunkedResponse() async throws {
    let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n5\r\n{\"a\":\r\n"
    let server = try RawServer { _, connection in
      connection.send(text)
      return false
    }
    defer { server.close() }
    let transport = try transport(server)
    let failure = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
    #expect(failure == .noConnection(detail: "the response ended before it was whole"))
  }

  @Test("A reset connection is reported as a lost connection") func aReset() async throws {
    let server = try RawServer { _, connection in
      connection.reset()
      return false
    }
    defer { server.close() }
    let transport = try transport(server)
    let found = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
    guard case .noConnection = found else { return #expect(Bool(false), "\(String(describing: found))") }
  }

  @Test(
    "A response that is not HTTP is reported as a failure",
    arguments: ["SSH-2.0-OpenSSH_9.6\r\n", "\u{0}\u{1}\u{2}\r\n\r\n", "<html></html>", "HTTP/9 hello\r\n\r\n"])
  func garbage(text: String) async throws {
    let server = try RawServer { _, connection in
      connection.send(text)
      return false
    }
    defer { server.close() }
    let transport = try transport(server)
    let found = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
    #expect(isNoResponse(found), "\(String(describing: found))")
  }

  @Test("A body without an end fails at the limit of its size") func aBodyThatNeverEndsIsCutOff() async throws {
    let server = try RawServer { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
      let part = [UInt8](repeating: 0x20, count: 65_536)
      while connection.send(part) {}
      return false
    }
    defer { server.close() }
    let transport = try transport(server) { $0.bodyBytes = 3 << 20 }
    let failure = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/changes")) }
    #expect(failure == .tooLarge(limitBytes: 3 << 20))
  }

  @Test("Headers without an end fail") func headersThatNeverEndAreCutOff() async throws {
    let server = try RawServer { _, connection in
      connection.send("HTTP/1.1 200 OK\r\n")
      while connection.send("X-Filler: \(String(repeating: "7", count: 1000))\r\n") {}
      return false
    }
    defer { server.close() }
    let transport = try transport(server)
    let found = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
    #expect(isNoResponse(found))
  }

  @Test("Interim responses are skipped") func interimResponsesAreSkipped() async throws {
    let server = try RawServer(
      response: "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n" + healthy)
    defer { server.close() }
    #expect(try await transport(server).send(HTTPRequest("/v1/health")).body == Array(health.wire.json.utf8))
  }

  @Test("A Content-Length above the limit fails at once") func aLengthBeyondTheLimitIsNotWaitedFor() async throws {
    let server = try RawServer { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4000000000\r\n\r\n{")
      return connection.readRequest() != nil
    }
    defer { server.close() }
    let transport = try transport(server)
    let failure = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/changes")) }
    #expect(failure == .tooLarge(limitBytes: 64 << 20))
  }

  @Test("A body as large as the limit is accepted, and one byte more is refused") func aBodyAsLargeAsTheLimitIsTaken()
    async throws
  {
    let body = String(repeating: "7", count: 100_000)
    let server = try RawServer(response: responseText(body))
    defer { server.close() }
    let got = try await transport(server) { $0.bodyBytes = 100_000 }.send(HTTPRequest("/v1/changes"))
    #expect(got.body == Array(body.utf8))
    let tighter = try transport(server) { $0.bodyBytes = 99_999 }
    let failure = await failure { () throws(TransportFailure) in try await tighter.send(HTTPRequest("/v1/changes")) }
    #expect(failure == .tooLarge(limitBytes: 99_999))
  }
}
