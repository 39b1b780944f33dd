import Foundation
import ServerSupport
import SyncModel
import Testing

@testable import FileServer
@testable import SyncServer

/// Finished contents, whole and in parts.
@Suite struct ContentTests {
  @Test("The server lists the missing files of a request") func whatIsMissingIsTold() async throws {
    let server = try TestServer()
    let client = try server.fileClient("ada")
    let content = newUuid()
    try await client.upload(bytes(1_000), as: content)
    func missing(_ files: String) async throws -> (status: Int, body: String) {
      let response = try await client.request(
        "POST", "/v1/files/missing", ["Content-Type": "application/json", "Tus-Resumable": "-"],
        body: Array("{\"files\": [\(files)]}".utf8))
      return (response.status, String(decoding: response.body, as: UTF8.self))
    }
    let other = newUuid()
    let asked = try await missing("\"\(content)/full\", \"\(content)/thumbnail\", \"\(other)/full\"")
    #expect(asked.status == 200)
    #expect(try SyncValue(parsing: asked.body) == ["missing": [.text("\(content)/thumbnail"), .text("\(other)/full")]])
    #expect(try await missing("").body == #"{"missing":[]}"#)
    #expect(try await missing("\"\(content)/half\"").status == 422)
    #expect(try await missing("7").status == 400)
    #expect(
      try await missing([String](repeating: "\"\(other)/full\"", count: 501).joined(separator: ",")).status == 422)
    // Another account has no such content.
    let stranger = try server.fileClient("ben", account: "other")
    let response = try await stranger.request(
      "POST", "/v1/files/missing", ["Content-Type": "application/json", "Tus-Resumable": "-"],
      body: Array("{\"files\": [\"\(content)/full\"]}".utf8))
    #expect(String(decoding: response.body, as: UTF8.self) == "{\"missing\":[\"\(content)/full\"]}")
    await server.server.stop()
  }

  @Test("A content is served whole, in ranges and by entity tag") func partsOverTheWire() async throws {
    let server = try TestServer()
    let client = try server.fileClient("ada")
    let content = newUuid()
    let all = bytes(500_000)
    try await client.upload(all, as: content)
    let whole = try await client.fetch(content)
    let tag = try #require(whole.headers["etag"])
    #expect(whole.status == 200 && whole.body == all && whole.headers["accept-ranges"] == "bytes")
    #expect(whole.headers["content-type"] == "application/octet-stream")
    #expect(whole.headers["x-content-type-options"] == "nosniff")
    #expect(tag.hasPrefix("\"") && tag.hasSuffix("\""))
    let head = try await client.request("HEAD", "/v1/files/\(content)/full", ["Range": "bytes=0-5"])
    #expect(head.status == 200 && head.headers["content-length"] == "500000" && head.body.isEmpty)
    #expect(head.headers["etag"] == tag)
    let part = try await client.fetch(content, "full", ["Range": "bytes=100000-399999", "If-Range": tag])
    #expect(part.status == 206 && part.body == Array(all[100_000..<400_000]))
    #expect(part.headers["content-range"] == "bytes 100000-399999/500000")
    let other = try await client.fetch(content, "full", ["Range": "bytes=100000-399999", "If-Range": "\"other\""])
    #expect(other.status == 200 && other.body == all)
    let dated = try await client.fetch(
      content, "full", ["Range": "bytes=1-2", "If-Range": "Sun, 06 Nov 2044 08:49:37 GMT"])
    #expect(dated.status == 200)
    let beyond = try await client.fetch(content, "full", ["Range": "bytes=500000-"])
    #expect(beyond.status == 416 && beyond.headers["content-range"] == "bytes */500000")
    #expect(beyond.headers["content-type"] == "application/problem+json")
    for known in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
      let same = try await client.fetch(content, "full", ["If-None-Match": known])
      #expect(same.status == 304 && same.body.isEmpty && same.headers["etag"] == tag)
    }
    #expect(try await client.fetch(content, "full", ["If-None-Match": "\"x\""]).status == 200)
    await server.server.stop()
  }

  /// A content that is removed and sent again is another.
  @Test("A content that was removed and sent again has another entity tag") func tagsTellContentsApart() async throws {
    let server = try TestServer()
    let client = try server.fileClient("ada")
    let content = newUuid()
    var tags: Set<String> = []
    for _ in 0..<2 {
      let begun = try await client.begin(1, as: content)
      #expect(try await client.patch(begun.location, at: 0, [7]).status == 204)
      tags.insert(try #require(try await client.fetch(content).headers["etag"]))
      #expect(try await client.request("DELETE", begun.location).status == 204)
    }
    #expect(tags.count == 2)
    await server.server.stop()
  }

  /// A client that does not go on reading holds nothing but its own connection.
  @Test("Stalled downloads do not block other downloads") func readersThatStopReading() async throws {
    let server = try TestServer { $0.http.idleSeconds = 2 }
    let client = try server.fileClient("ada")
    let content = newUuid()
    let all = bytes(8_000_000)
    try await client.upload(all, as: content)
    let stalled = try (0..<8).map { _ in
      let connection = try RawConnection(to: client.url)
      _ = connection.send(client.head("GET", "/v1/files/\(content)/full", [:], length: nil))
      return connection
    }
    try await Task.sleep(for: .milliseconds(200))
    #expect(try await client.fetch(content).body == all)
    _ = consume stalled
    await server.server.stop()
  }

  /// The two budgets do not touch each other.
  @Test("The rate limit of files does not apply to records") func filesDoNotKeepRecordsWaiting() async throws {
    let server = try TestServer { limits in
      limits.files.requestBurst = 3
      limits.files.requestsPerSecond = 1
    }
    let records = try server.client("ada")
    let client = FileClient(records)
    var statuses: Set<Int> = []
    for _ in 0..<8 { statuses.insert(try await client.fetch(newUuid()).status) }
    #expect(statuses == [404, 429])
    #expect(try await records.get("/v1/account").status == 200)
    await server.server.stop()
  }

  @Test("The log contains no user data") func logHasNoDataOfUsers() async throws {
    let server = try TestServer()
    let client = try server.fileClient("ada")
    let content = newUuid()
    let metadata = FileClient.metadata(["content": content, "filename": "secret"])
    let begun = try await client.request("POST", "/v1/files", ["Upload-Length": "3", "Upload-Metadata": metadata])
    _ = try await client.patch(begun.location, at: 0, [1, 2, 3])
    _ = try await client.fetch(content)
    _ = try await client.fetch("secret")
    await server.server.stop()
    let lines = server.lines.withLock { $0 }
    #expect(lines.count == 4 && lines.contains { $0.contains("PATCH /v1/files/uploads/{upload} 204") })
    #expect(lines.contains { $0.contains("GET /v1/files/{content}/{variant} 200") && $0.hasSuffix("3B") })
    for line in lines {
      for secret in [content, "secret", begun.location, metadata, "ada"] { #expect(!line.contains(secret)) }
    }
  }
}
