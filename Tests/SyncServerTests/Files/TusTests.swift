import Foundation
import SealedFiles
import ServerSupport
import SyncModel
import Testing

@testable import SyncServer

/// The protocol tus 1.0.0 over real sockets.
@Suite struct TusTests {
  private func sha256(_ bytes: [UInt8]) -> String { "sha256 " + hash(bytes, .sha256) }
  private func sha1(_ bytes: [UInt8]) -> String { "sha1 " + hash(bytes, .sha1) }

  private func hash(_ bytes: [UInt8], _ algorithm: ContentDigest.Algorithm) -> String {
    let digest = ContentDigest(algorithm)
    bytes.withUnsafeBytes { digest.add($0) }
    return Data(digest.finishBytes()).base64EncodedString()
  }

  @Test("OPTIONS lists the tus capabilities without a token") func capabilities() async throws {
    let server = try TestServer { $0.files.fileBytes = 12_345 }
    let stranger = FileClient(TestClient(url: server.server.url, token: nil))
    for path in ["/v1/files", "/v1/files/uploads/x"] {
      let response = try await stranger.request("OPTIONS", path, ["Tus-Resumable": "-"])
      #expect(response.status == 204)
      #expect(response.headers["tus-version"] == "1.0.0" && response.headers["tus-max-size"] == "12345")
      #expect(
        response.headers["tus-extension"]
          == "creation,creation-with-upload,creation-defer-length,checksum,expiration,termination")
      #expect(response.headers["tus-checksum-algorithm"] == "sha1,sha256")
    }
    await server.server.stop()
  }

  @Test("An upload in parts becomes a content with its last byte") func uploadInParts() async throws {
    let server = try TestServer()
    let client = try server.fileClient("ada")
    let content = newUuid()
    let all = bytes(700_000)
    let metadata = FileClient.metadata(["filename": "../../etc/passwd\n", "content": content, "variant": "thumbnail"])
    let begun = try await client.request(
      "POST", "/v1/files", ["Upload-Length": "700000", "Upload-Metadata": metadata + ",flag"])
    #expect(begun.status == 201 && begun.offset == 0 && begun.headers["tus-resumable"] == "1.0.0")
    #expect(begun.headers["fieldvault-content"] == "/v1/files/\(content)/thumbnail")
    #expect(begun.location.wholeMatch(of: /\/v1\/files\/uploads\/[0-9a-f]{32}/) != nil)
    #expect(
      begun.headers["upload-expires"]?.wholeMatch(of: /[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT/) != nil)
    var offset = 0
    while offset < all.count {
      #expect(try await client.fetch(content, "thumbnail").status == 404, "there with the last byte, not before")
      let part = Array(all[offset..<min(offset + 300_000, all.count)])
      let response = try await client.patch(begun.location, at: offset, part)
      offset += part.count
      #expect(response.status == 204 && response.offset == offset && response.headers["tus-resumable"] == "1.0.0")
      #expect((response.headers["upload-expires"] == nil) == (offset == all.count))
      let head = try await client.request("HEAD", begun.location)
      #expect(head.status == 200 && head.offset == offset && head.headers["upload-length"] == "700000")
      #expect(head.headers["upload-metadata"] == metadata + ",flag" && head.headers["cache-control"] == "no-store")
    }
    #expect(try await client.fetch(content, "thumbnail").body == all)
    #expect(try await client.fetch(content, "full").status == 404)
    // Once complete it is neither begun again nor made longer.
    let again = try await client.begin(5, as: content, "thumbnail")
    #expect(again.status == 409 && again.type == "urn:fieldvault:content-exists")
    #expect(try await client.patch(begun.location, at: all.count, []).status == 204)
    #expect(try await client.patch(begun.location, at: all.count, [1]).status == 413)
    await server.server.stop()
  }

  @Test("An upload may begin with bytes, whole or empty") func beginningWithBytes() async throws {
    let server = try TestServer()
    let client = try server.fileClient("ada")
    let all = bytes(50_000)
    let begun = try await client.request(
      "POST", "/v1/files", ["Upload-Length": "50000", "Content-Type": FileClient.content], body: Array(all[..<20_000]))
    #expect(begun.status == 201 && begun.offset == 20_000)
    #expect(try await client.offset(begun.location) == 20_000)
    #expect(try await client.patch(begun.location, at: 20_000, Array(all[20_000...])).offset == 50_000)
    let path = try #require(begun.headers["fieldvault-content"])
    #expect(try await client.request("GET", path).body == all)
    // All at once, with a checksum.
    let whole = try await client.request(
      "POST", "/v1/files",
      ["Upload-Length": "50000", "Content-Type": FileClient.content, "Upload-Checksum": sha256(all)], body: all)
    #expect(whole.status == 201 && whole.offset == 50_000 && whole.headers["upload-expires"] == nil)
    let wrong = try await client.request(
      "POST", "/v1/files",
      ["Upload-Length": "50000", "Content-Type": FileClient.content, "Upload-Checksum": sha256([1])], body: all)
    #expect(wrong.status == 460 && wrong.location.isEmpty)
    // Nothing at all.
    let empty = try await client.begin(0)
    #expect(empty.status == 201 && empty.offset == 0 && empty.headers["upload-expires"] == nil)
    let nothing = try await client.request("GET", try #require(empty.headers["fieldvault-content"]))
    #expect(nothing.status == 200 && nothing.body.isEmpty)
    await server.server.stop()
  }

  @Test("An upload may announce its length later") func lengthThatIsSaidLater() async throws {
    let server = try TestServer { $0.files.fileBytes = 1_000 }
    let client = try server.fileClient("ada")
    let begun = try await client.request("POST", "/v1/files", ["Upload-Defer-Length": "1"])
    #expect(begun.status == 201)
    let all = bytes(900)
    #expect(try await client.patch(begun.location, at: 0, Array(all[..<300])).offset == 300)
    let head = try await client.request("HEAD", begun.location)
    #expect(head.headers["upload-defer-length"] == "1" && head.headers["upload-length"] == nil)
    #expect(try await client.patch(begun.location, at: 300, [1], ["Upload-Length": "299"]).status == 400)
    #expect(try await client.patch(begun.location, at: 300, [1], ["Upload-Length": "1001"]).status == 413)
    #expect(try await client.patch(begun.location, at: 300, bytes(701)).status == 413)
    let middle = Array(all[300..<600])
    #expect(try await client.patch(begun.location, at: 300, middle, ["Upload-Length": "900"]).offset == 600)
    #expect(try await client.patch(begun.location, at: 600, [1], ["Upload-Length": "901"]).status == 400)
    #expect(try await client.patch(begun.location, at: 600, Array(all[600...]), ["Upload-Length": "900"]).offset == 900)
    #expect(try await client.request("GET", try #require(begun.headers["fieldvault-content"])).body == all)
    // Said with a body that is empty, when all is there already.
    let other = try await client.request("POST", "/v1/files", ["Upload-Defer-Length": "1"])
    #expect(try await client.patch(other.location, at: 0, Array(all[..<10])).offset == 10)
    #expect(try await client.patch(other.location, at: 10, [], ["Upload-Length": "10"]).offset == 10)
    #expect(try await client.request("GET", try #require(other.headers["fieldvault-content"])).body.count == 10)
    await server.server.stop()
  }

  @Test("A part with a wrong checksum is refused, and a cut part with a checksum is discarded") func checksums()
    async throws
  {
    let server = try TestServer()
    let client = try server.fileClient("ada")
    let all = bytes(300_000)
    let begun = try await client.begin(all.count)
    let first = Array(all[..<100_000])
    for wrong in [sha1(all), sha256(all)] {
      let response = try await client.patch(begun.location, at: 0, first, ["Upload-Checksum": wrong])
      #expect(response.status == 460)
      #expect(try await client.offset(begun.location) == 0)
    }
    #expect(try await client.patch(begun.location, at: 0, first, ["Upload-Checksum": sha1(first)]).offset == 100_000)
    // A part that was cut off cannot be checked, and is not kept.
    let second = Array(all[100_000...])
    try client.cutPatch(begun.location, at: 100_000, second, after: 60_000, ["Upload-Checksum": sha256(second)])
    try await server.waitForLog("PATCH /v1/files/uploads/{upload} 499")
    #expect(try await client.offset(begun.location) == 100_000)
    #expect(
      try await client.patch(begun.location, at: 100_000, second, ["Upload-Checksum": sha256(second)]).offset == 300_000
    )
    #expect(try await client.request("GET", try #require(begun.headers["fieldvault-content"])).body == all)
    for bad in ["md5 AAAA", "sha1", "sha1 !!!", "sha256 AAAA", "sha1  \(sha1(all).dropFirst(5))", ""] {
      #expect(try await client.patch(begun.location, at: 0, [], ["Upload-Checksum": bad]).status == 400, "\(bad)")
    }
    await server.server.stop()
  }

  @Test("Deleting an upload removes its bytes and its content") func giving() async throws {
    let server = try TestServer()
    let client = try server.fileClient("ada")
    let begun = try await client.begin(1_000)
    #expect(try await client.patch(begun.location, at: 0, bytes(500)).status == 204)
    #expect(try await client.request("DELETE", begun.location).status == 204)
    for method in ["HEAD", "DELETE"] { #expect(try await client.request(method, begun.location).status == 404) }
    #expect(try await client.patch(begun.location, at: 500, bytes(500)).status == 404)
    // Of a finished one the content goes with it.
    let content = newUuid()
    let other = try await client.begin(3, as: content)
    #expect(try await client.patch(other.location, at: 0, [1, 2, 3]).status == 204)
    #expect(try await client.request("DELETE", other.location).status == 204)
    #expect(try await client.fetch(content).status == 404)
    #expect(try await client.begin(3, as: content).status == 201)
    #expect(try filesOnDisk(server).isEmpty)
    await server.server.stop()
  }

  @Test("X-HTTP-Method-Override replaces the method") func methodsInAHeader() async throws {
    let server = try TestServer()
    let client = try server.fileClient("ada")
    let begun = try await client.begin(4)
    let headers = ["Upload-Offset": "0", "Content-Type": FileClient.content, "X-HTTP-Method-Override": "PATCH"]
    #expect(try await client.request("POST", begun.location, headers, body: [1, 2]).offset == 2)
    let head = try await client.request("POST", begun.location, ["X-HTTP-Method-Override": "HEAD"], body: [])
    #expect(head.status == 200 && head.offset == 2)
    let deleted = try await client.request("POST", begun.location, ["X-HTTP-Method-Override": "DELETE"], body: [])
    #expect(deleted.status == 204)
    await server.server.stop()
  }

  @Test("An expired upload is refused with 410") func expiry() async throws {
    let server = try TestServer { $0.files.uploadSeconds = 1 }
    let client = try server.fileClient("ada")
    let begun = try await client.begin(10)
    try await Task.sleep(for: .milliseconds(1_100))
    let late = try await client.patch(begun.location, at: 0, [1])
    #expect(late.status == 410 && late.type == "urn:fieldvault:upload-expired")
    #expect(try await client.request("HEAD", begun.location).status == 410)
    await server.server.stop()
  }
}

/// The files in the folders of all accounts.
func filesOnDisk(_ server: TestServer) throws -> [String] {
  let accounts = server.folder.path + "/data/accounts"
  guard FileManager.default.fileExists(atPath: accounts) else { return [] }
  return try FileManager.default.subpathsOfDirectory(atPath: accounts).filter { path in
    let words = path.split(separator: "/")
    return words.count == 4 && words[1] == "files"
  }
}
