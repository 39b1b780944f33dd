import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import ServerStorage
@testable import HTTPServer
@testable import SyncServer

/// Unusual and hostile behaviour of clients.
@Suite struct ConnectionTests {
  private func head(_ path: String, _ token: String?, _ lines: String...) -> String {
    ([
      "POST \(path) HTTP/1.1", "Host: x", "FieldVault-Protocol: 2", "Authorization: Bearer \(token ?? "")",
      "Content-Type: application/json",
    ]
      + lines).joined(separator: "\r\n") + "\r\n\r\n"
  }

  @Test("A body above the limit is refused early, and an unauthenticated body is not read") func bodiesAreLimited()
    async throws
  {
    let server = try TestServer { $0.http.bodyBytes = 10_000 }
    let client = try server.client("ada")
    // Told beforehand: refused before anything of it is sent.
    let told = try RawConnection(to: client.url)
    #expect(told.send(head("/v1/push", client.token, "Content-Length: 999999999")))
    #expect(await told.receive().hasPrefix("HTTP/1.1 413"))
    // Without end: refused as soon as it is too much, and cut off.
    let endless = try RawConnection(to: client.url)
    #expect(endless.send(head("/v1/push", client.token, "Transfer-Encoding: chunked")))
    let chunk = "1000\r\n" + String(repeating: "x", count: 4096) + "\r\n"
    var sent = 0
    while sent < 1000, endless.send(chunk) { sent += 1 }
    #expect(sent < 1000)
    // Refused while the client still could send more.
    let patient = try RawConnection(to: client.url)
    #expect(patient.send(head("/v1/push", client.token, "Transfer-Encoding: chunked")))
    for _ in 0..<3 { #expect(patient.send(chunk)) }
    #expect(patient.send("0\r\n\r\n"))
    let response = await patient.receive()
    #expect(response.hasPrefix("HTTP/1.1 413") && response.contains("application/problem+json"))
    // An unauthenticated client is refused before its body is read.
    let stranger = try RawConnection(to: client.url)
    #expect(stranger.send(head("/v1/push", "fv_no", "Transfer-Encoding: chunked")))
    #expect(await stranger.receive().hasPrefix("HTTP/1.1 401"))
    #expect(try await client.get("/v1/account").status == 200)
    await server.server.stop()
  }

  /// The server waits for no body of an unauthenticated client, and reads and keeps none, whatever the method is.
  @Test("An unauthenticated request is refused with 401 before its body is read")
  func strangersAreRefusedBeforeTheirBody() async throws {
    let server = try TestServer { $0.http.idleSeconds = 3 }
    _ = try server.client("ada")
    let upload = "/v1/files/uploads/" + String(repeating: "0", count: 32)
    for (method, path) in [
      ("GET", "/v1/account"), ("GET", "/v1/changes"), ("POST", "/v1/push"), ("HEAD", upload), ("DELETE", upload),
      ("GET", "/v1/files/\(newUuid())/full"), ("PATCH", upload), ("POST", "/v1/files"),
    ] {
      for length in ["Content-Length: 5000000", "Transfer-Encoding: chunked"] {
        let stranger = try RawConnection(to: server.server.url)
        let lines = [
          "\(method) \(path) HTTP/1.1", "Host: x", "FieldVault-Protocol: 2", "Content-Type: application/json",
          "Authorization: Bearer fv_no",
          "Tus-Resumable: 1.0.0", length, "", "",
        ]
        #expect(stranger.send(lines.joined(separator: "\r\n")))
        // A text like a request within the body is not a request.
        #expect(stranger.send("GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n"))
        let response = await stranger.receive()
        #expect(response.hasPrefix("HTTP/1.1 401"), "\(method) \(path), \(length)")
        #expect(response.ranges(of: "HTTP/1.1").count == 1, "\(method) \(path), \(length)")
      }
    }
    await server.server.stop()
  }

  /// A body that no handler reads is counted and dropped.
  @Test("A body that no handler reads is dropped and counts toward the limit") func bodiesThatNobodyReadsAreDropped()
    async throws
  {
    let server = try TestServer { $0.http.bodyBytes = 100_000 }
    let client = try server.client("ada")
    let token = try #require(client.token)
    func head(_ method: String, _ path: String, _ lines: String...) -> String {
      (["\(method) \(path) HTTP/1.1", "Host: x", "FieldVault-Protocol: 2", "Authorization: Bearer \(token)"] + lines)
        .joined(separator: "\r\n")
        + "\r\n\r\n"
    }
    let body = String(repeating: "x", count: 90_000)
    let raw = try RawConnection(to: client.url)
    let requests =
      head("GET", "/v1/account", "Content-Length: 90000") + body + head("GET", "/v1/health", "Content-Length: 90000")
      + body + head("OPTIONS", "/v1/files", "Content-Length: 90000") + body
      + head("GET", "/v1/nothing", "Connection: close")
    let responses = String(decoding: await raw.receiveBytes(sending: Array(requests.utf8)), as: UTF8.self)
    #expect(responses.matches(of: /HTTP\/1.1 ([0-9]+)/).map { String($0.1) } == ["200", "200", "204", "404"])
    let long = try RawConnection(to: client.url)
    #expect(long.send(head("GET", "/v1/health", "Transfer-Encoding: chunked")))
    let chunk = "1000\r\n" + String(repeating: "x", count: 4_096) + "\r\n"
    var sent = 0
    while sent < 100_000, long.send(chunk) { sent += 1 }
    #expect(sent < 100_000)

    let ignoring = ConnectionState(head: Request(method: "GET", path: "/v1/health"), id: "1", clock: .system)
    let keeping = ConnectionState(head: Request(method: "POST", path: "/v1/push"), id: "2", clock: .system)
    keeping.keepBody()
    for (exchange, count) in [(ignoring, 0), (keeping, 3)] {
      _ = [1, 2, 3].withUnsafeBufferPointer { exchange.receive($0, limit: 3) }
      guard case .respond(let request)? = exchange.takeWork() else { throw Unexpected("the request is not complete") }
      #expect(request.body.count == count)
    }
    await server.server.stop()
  }

  @Test("Idle, slow and malformed connections are closed") func slowAndBrokenClientsAreLetGo() async throws {
    let server = try TestServer { limits in
      limits.http.idleSeconds = 1
      limits.http.bodySeconds = 2
    }
    let client = try server.client("ada")
    let idle = try RawConnection(to: client.url)
    #expect(idle.send("GET /v1/health HTTP/1.1\r\nHost"))
    #expect(await idle.receive().contains("HTTP/1.1 200") == false)
    let slow = try RawConnection(to: client.url)
    #expect(slow.send(head("/v1/push", client.token, "Content-Length: 100000")))
    var isOpen = true
    for _ in 0..<100 where isOpen {
      isOpen = slow.send(" ")
      try await Task.sleep(for: .milliseconds(100))
    }
    #expect(!isOpen)
    let odd = try RawConnection(to: client.url)
    #expect(odd.send("\u{0}\u{1}\u{2} nonsense\r\n\r\n"))
    #expect(await odd.receive().contains(" 200 ") == false)
    #expect(try await client.get("/v1/account").status == 200)
    await server.server.stop()
  }

  @Test("One connection carries several requests") func severalRequestsOnOneConnection() async throws {
    let server = try TestServer()
    let raw = try RawConnection(to: server.server.url)
    #expect(
      raw.send(
        "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
    let response = await raw.receive()
    #expect(response.hasPrefix("HTTP/1.1 200") && response.contains("HTTP/1.1 404"))
    await server.server.stop()
  }

  @Test("A listen address that is taken, invalid or foreign is refused") func addressesThatCannotBeListenedOn()
    async throws
  {
    let server = try TestServer()
    let taken = String(server.server.url.dropFirst("http://".count))
    let refused: [(String, HTTPServerError.Code, String)] = [
      (taken, .addressInUse, "in use"), ("nonsense", .cannotListen, "not an address"),
      ("192.0.2.1:80", .cannotListen, "not have"),
    ]
    for (address, code, word) in refused {
      do {
        _ = try ListeningSocket(address)
        Issue.record("\(address) could be listened on")
      } catch {
        #expect(error.code == code && error.message.contains(word))
      }
    }
    #expect(throws: ServerError.self) { try TestServer(in: server.folder) }
    await server.server.stop()
    let again = try TestServer(in: server.folder)
    await again.server.stop()
  }

  @Test("Long polls are limited in number and return when the server stops")
  func longPollsAreLimited() async throws {
    let server = try TestServer { $0.waiters = 4 }
    let client = try server.client("ada")
    let cursor = try await client.pull().cursor
    async let one = client.get("/v1/watch?cursor=\(cursor)&timeout=50")
    async let two = client.get("/v1/watch?cursor=\(cursor)&timeout=50")
    try await Task.sleep(for: .milliseconds(500))
    #expect(try await client.get("/v1/watch?cursor=\(cursor)&timeout=50").status == 429)
    let start = ContinuousClock.now
    await server.server.stop()
    #expect(try await [one["changed"], two["changed"]] == [false, false])
    #expect(ContinuousClock.now - start < .seconds(10))
  }

  /// Also without a closing message: the place of a disconnected client is free long before the timeout.
  @Test("The place of a disconnected long poll is free before its timeout") func waitersWhoHaveGoneMakeRoom()
    async throws
  {
    let server = try TestServer { $0.waiters = 1 }
    let client = try server.client("ada")
    let cursor = try await client.pull().cursor
    var gone: RawConnection? = try RawConnection(to: client.url)
    let lines = [
      "GET /v1/watch?cursor=\(cursor)&timeout=55 HTTP/1.1", "Host: x", "FieldVault-Protocol: 2",
      "Authorization: Bearer \(try #require(client.token))",
    ]
    #expect(gone?.send(lines.joined(separator: "\r\n") + "\r\n\r\n") == true)
    try await Task.sleep(for: .milliseconds(500))
    #expect(try await client.get("/v1/watch?cursor=\(cursor)&timeout=1").status == 429)
    gone = nil
    let end = ContinuousClock.now + .seconds(40)
    while try await client.get("/v1/watch?cursor=\(cursor)&timeout=1").status == 429 {
      try #require(ContinuousClock.now < end, "the place is still taken")
      try await Task.sleep(for: .milliseconds(100))
    }
    await server.server.stop()
  }
}
