import Foundation
import ServerSupport
import SyncModel
import Testing

@testable import SyncServer

/// Requests that clients must not send, or cannot.
@Suite struct TusRefusalTests {
  @Test("Invalid upload headers are refused and create no file") func headersThatAreNotUnderstood() async throws {
    let server = try TestServer { $0.files.fileBytes = 1_000_000 }
    let client = try server.fileClient("ada")
    func begin(_ headers: [String: String]) async throws -> Int {
      try await client.request("POST", "/v1/files", headers).status
    }
    #expect(try await begin(["Upload-Length": "5", "Tus-Resumable": "-"]) == 412)
    #expect(try await begin(["Upload-Length": "5", "Tus-Resumable": "0.2.2"]) == 412)
    #expect(try await begin([:]) == 400)
    for length in ["-1", "+5", "5.0", "1e3", "0x10", "five", "", String(repeating: "9", count: 200)] {
      #expect(try await begin(["Upload-Length": length]) == 400, "\(length)")
    }
    for length in ["1000001", "9223372036854775807", "9223372036854775808", String(repeating: "9", count: 99)] {
      #expect(try await begin(["Upload-Length": length]) == 413, "\(length)")
    }
    #expect(try await begin(["Upload-Defer-Length": "2"]) == 400)
    #expect(try await begin(["Upload-Defer-Length": "1", "Upload-Length": "5"]) == 400)
    for metadata in [
      "a b c", "a ä", "a QQ==,a QQ==", ",", "a QQ==,", "a !", "name \(String(repeating: "A", count: 4_096))",
    ] {
      #expect(try await begin(["Upload-Length": "5", "Upload-Metadata": metadata]) == 400, "\(metadata.prefix(20))")
    }
    for content in [
      "", "..", "../../../etc/passwd", "0195B2C0-0000-7000-8000-0000000000AA", "0195b2c0", "a/b", "\u{0}",
    ] {
      let metadata = FileClient.metadata(["content": content])
      #expect(try await begin(["Upload-Length": "5", "Upload-Metadata": metadata]) == 422, "\(content)")
    }
    for variant in ["", "Full", "../full", "small"] {
      let metadata = FileClient.metadata(["variant": variant])
      #expect(try await begin(["Upload-Length": "5", "Upload-Metadata": metadata]) == 422, "\(variant)")
    }
    let body = try await client.request(
      "POST", "/v1/files", ["Upload-Length": "5", "Content-Type": "application/json"], body: Array("{}".utf8))
    #expect(body.status == 415 && body.headers["tus-resumable"] == "1.0.0")
    #expect(try await client.request("PATCH", "/v1/files", body: [1]).status == 405)
    #expect(try filesOnDisk(server).isEmpty)
    await server.server.stop()
  }

  @Test("A part with a wrong offset, length or type is refused") func partsThatDoNotFit() async throws {
    let server = try TestServer()
    let client = try server.fileClient("ada")
    let path = try await client.begin(1_000).location
    func patch(_ headers: [String: String], _ body: [UInt8] = [1]) async throws -> FileResponse {
      try await client.patch(path, at: 0, body, headers)
    }
    #expect(try await patch(["Tus-Resumable": "-"]).status == 412)
    #expect(try await patch(["Content-Type": "application/octet-stream"]).status == 415)
    #expect(try await patch(["Content-Type": "-"]).status == 415)
    #expect(try await patch(["Upload-Offset": "-"]).status == 400)
    for offset in ["-1", "1.0", "zero", ""] { #expect(try await patch(["Upload-Offset": offset]).status == 400) }
    for offset in ["1", "1000", "9223372036854775808"] {
      let response = try await patch(["Upload-Offset": offset])
      #expect(response.status == 409 && response.offset == 0 && response.type == "urn:fieldvault:offset-mismatch")
    }
    #expect(try await patch([:], bytes(1_001)).status == 413)
    #expect(try await patch(["Upload-Length": "1001"]).status == 400)
    #expect(try await client.offset(path) == 0)
    // More than a body of any other kind may have is not read at all.
    let long = try RawConnection(to: client.url)
    let head = client.head(
      "PATCH", path, ["Upload-Offset": "7", "Content-Type": FileClient.content], length: 999_999_999)
    #expect(FileResponse(await long.receiveBytes(sending: head)).status == 409)
    // The server responds to the first request first.
    let asking = try RawConnection(to: client.url)
    let question = client.head(
      "PATCH", path, ["Upload-Offset": "7", "Content-Type": FileClient.content, "Expect": "100-continue"], length: 900)
    let told = String(decoding: await asking.receiveBytes(sending: question), as: UTF8.self)
    #expect(told.hasPrefix("HTTP/1.1 409"))
    await server.server.stop()
  }

  @Test("A body without a length is limited by the rest of its upload") func bodiesWithoutALengthAreBounded()
    async throws
  {
    let server = try TestServer { $0.http.bodyBytes = 100_000 }
    let client = try server.fileClient("ada")
    let path = try await client.begin(50_000).location
    let chunk = Array("2710\r\n".utf8) + bytes(10_000) + Array("\r\n".utf8)
    let head = client.head(
      "PATCH", path,
      ["Upload-Offset": "0", "Content-Type": FileClient.content, "Transfer-Encoding": "chunked"], length: nil)
    let end = Array("0\r\n\r\n".utf8)
    let beyond = try RawConnection(to: client.url)
    let refused = FileResponse(
      await beyond.receiveBytes(sending: head + (0..<8).flatMap { _ in chunk } + end))
    #expect(refused.status == 413)
    #expect(try await client.offset(path) == 0)
    let right = try RawConnection(to: client.url)
    let response = FileResponse(
      await right.receiveBytes(sending: head + (0..<5).flatMap { _ in chunk } + end))
    #expect(response.status == 204 && response.offset == 50_000)
    await server.server.stop()
  }

  @Test("Contents belong to an account and uploads to a user") func accountsAndUsersAreApart() async throws {
    let server = try TestServer()
    let ada = try server.fileClient("ada")
    let bo = try server.fileClient("bo")
    let eve = try server.fileClient("eve", account: "fire")
    let content = newUuid()
    let all = bytes(10_000)
    try await ada.upload(all, as: content)
    let path = try await ada.begin(1_000).location
    #expect(try await ada.patch(path, at: 0, bytes(400)).status == 204)
    // All users of an account share its contents, and no other user sees them.
    #expect(try await bo.fetch(content).body == all)
    #expect(try await eve.fetch(content).status == 404)
    #expect(try await eve.request("HEAD", "/v1/files/\(content)/full").status == 404)
    // An upload belongs to the user who began it.
    for other in [bo, eve] {
      let none = try await other.request("HEAD", "/v1/files/uploads/" + String(repeating: "0", count: 32))
      let head = try await other.request("HEAD", path)
      #expect(head.status == 404 && head.headers.keys.sorted() == none.headers.keys.sorted())
      #expect(try await other.patch(path, at: 400, [1]).status == 404)
      #expect(try await other.request("DELETE", path).status == 404)
    }
    #expect(try await ada.offset(path) == 400)
    // The same uuid in another account is another content.
    try await eve.upload([1, 2, 3], as: content)
    #expect(try await eve.fetch(content).body == [1, 2, 3])
    #expect(try await ada.fetch(content).body == all)
    let stranger = FileClient(TestClient(url: server.server.url, token: "fv_none"))
    #expect(try await stranger.begin(5).status == 401)
    #expect(try await stranger.patch(path, at: 400, [1]).status == 401)
    #expect(try await stranger.fetch(content).status == 401)
    await server.server.stop()
  }

  @Test("Invalid file paths are refused") func pathsThatAreNone() async throws {
    let server = try TestServer()
    let client = try server.fileClient("ada")
    let content = newUuid()
    try await client.upload([1], as: content)
    for path in [
      "\(content)/Full", "\(content)/full%20", "\(content.uppercased())/full",
      "..%2f..%2fdirectory.db/full",
      "../../directory.db", "uploads/..", "uploads/%2e%2e%2f", "uploads/x", "\(content)/..", "//full",
      "\(content)/full/",
    ] {
      for method in ["GET", "HEAD", "DELETE", "PATCH"] {
        let headers = ["Upload-Offset": "0", "Content-Type": FileClient.content]
        let response = try await client.request(method, "/v1/files/" + path, headers)
        // An escaped slash and a dot segment mean other things to other servers, so that such a path is refused as ambiguous.
        let isAmbiguous = path.lowercased().contains("%2f") || path.split(separator: "/").contains("..")
        let expected = isAmbiguous ? [400] : [404, 405]
        #expect(expected.contains(response.status), "\(method) \(path) is \(response.status)")
      }
    }
    await server.server.stop()
  }

  @Test("The quota counts contents and announced uploads per user") func quota() async throws {
    let server = try TestServer { limits in
      limits.files.quotaBytes = 100_000
      limits.files.fileBytes = 90_000
    }
    let ada = try server.fileClient("ada")
    let content = newUuid()
    try await ada.upload(bytes(50_000), as: content)
    let over = try await ada.begin(45_000)
    #expect(over.status == 507 && over.type == "urn:fieldvault:quota-exceeded")
    let path = try await ada.begin(30_000).location
    #expect(try await ada.begin(20_000).status == 507, "what is under way counts with its length")
    #expect(try await ada.request("DELETE", path).status == 204)
    // A length that is said later has reserved nothing.
    let open = try await ada.request("POST", "/v1/files", ["Upload-Defer-Length": "1"])
    #expect(try await ada.patch(open.location, at: 0, bytes(20_000)).offset == 20_000)
    #expect(try await ada.patch(open.location, at: 20_000, bytes(60_000)).status == 507)
    #expect(try await ada.patch(open.location, at: 20_000, [], ["Upload-Length": "80000"]).status == 507)
    #expect(try await ada.offset(open.location) == 20_000)
    #expect(try await ada.patch(open.location, at: 20_000, [1], ["Upload-Length": "20001"]).offset == 20_001)
    #expect(try await ada.begin(20_000).status == 507)
    #expect(try await server.fileClient("bo").begin(80_000).status == 201, "others have their own")
    #expect(try await server.fileClient("cy").begin(90_001).status == 413)
    await server.server.stop()
  }
}
