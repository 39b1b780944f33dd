import CipherSQL
import Foundation
import RawNetwork
import SyncModel
import Testing
import HTTPClient
@testable import FileTransfers

/// The client against an API and an object store with scripted responses, each on its own origin.
@Suite struct PresignedUploadTests {
  private let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 7) }

  private var source: UploadSource {
    let content = content
    return UploadSource(byteCount: Int64(content.count), contentType: "image/jpeg") { offset, buffer in
      let part = content[min(Int(offset), content.count)..<min(content.count, Int(offset) + buffer.count)]
      buffer.copyBytes(from: part)
      return part.count
    }
  }

  /// An API with its own conventions: other field names, an idempotency header, and a confirmation that names the
  /// key.
  private var api: PresignedAPI {
    var api = PresignedAPI(
      ask: .init(
        "POST", "/api/receipts/7/images",
        headers: [("Idempotency-Key", "{sha256hex}")],
        body: ["file": ["size": "{bytes}", "mime": "{contentType}", "sum": "sha256={sha256}"], "kept": "{other}"]),
      confirm: .init("PATCH", "/api/images/{key}", body: ["imageKeys": ["{key}"]]))
    api.urlAt = ["upload", "href"]
    api.headersAt = ["upload", "with"]
    api.keyAt = ["id"]
    api.errorAt = ["error"]
    return api
  }

  private func given(_ store: RawServer, key: String = "image 7/ü") -> String {
    responseText(
      "{\"id\": \"\(key)\", \"upload\": {\"href\": \"\(store.url)/bucket/k?X-Amz-Signature=1\", "
        + "\"with\": {\"x-amz-checksum-sha256\": \"abc\", \"Content-Length\": \"1\"}}}", status: "201 Created")
  }

  /// Returns a server that gives a URL of the store and responds to a confirmation with `text`.
  private func server(naming store: RawServer, then text: String) throws -> RawServer {
    let given = given(store)
    return try RawServer { request, connection in
      connection.send(request.line.hasPrefix("POST") ? given : text)
    }
  }

  private func upload(
    _ server: RawServer, _ api: PresignedAPI? = nil, key: String? = nil, remembered: Locked<[String]> = Locked([])
  ) async throws -> PresignedResult {
    await PresignedUpload(transport: try transport(server), api: api ?? self.api).upload(
      source, key: key, remember: { key in remembered.withLock { $0.append(key) } })
  }

  @Test("A file is uploaded to a foreign origin without the token")
  func aFileGoesToAForeignOriginWithoutTheToken() async throws {
    let store = try RawServer(response: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    let server = try server(naming: store, then: responseText("{\"done\": true}"))
    defer {
      server.close()
      store.close()
    }
    let remembered = Locked<[String]>([])
    let result = try await upload(server, remembered: remembered)
    #expect(result.problem == nil && result.key == "image 7/ü" && result.offset == 300_000)
    #expect(result.place == "\(store.url)/bucket/k" && result.response == ["done": true])
    #expect(remembered.withLock { $0 } == ["image 7/ü"])
    let ask = try #require(server.requests.first)
    #expect(ask.line == "POST /api/receipts/7/images HTTP/1.1")
    let digest = SHA256Text(content)
    #expect(ask.headers["idempotency-key"] == digest.hexadecimal)
    #expect(
      try SyncValue(parsing: ask.body) == [
        "file": ["size": 300_000, "mime": "image/jpeg", "sum": .text("sha256=\(digest.base64)")], "kept": "{other}",
      ])
    let put = try #require(store.requests.first)
    #expect(put.line == "PUT /bucket/k?X-Amz-Signature=1 HTTP/1.1" && put.body == content)
    #expect(put.headers["authorization"] == nil && put.headers["content-type"] == "image/jpeg")
    #expect(put.headers["x-amz-checksum-sha256"] == "abc" && put.headers["content-length"] == "300000")
    let confirm = try #require(server.requests.last)
    #expect(confirm.line == "PATCH /api/images/image%207%2F%C3%BC HTTP/1.1")
    #expect(confirm.headers["authorization"] == "Bearer secret-token")
    #expect(try SyncValue(parsing: confirm.body) == ["imageKeys": ["image 7/ü"]])
  }

  @Test("An expired URL is replaced a limited number of times") func anExpiredAddressIsReplaced() async throws {
    let puts = Locked(0)
    let store = try RawServer { _, connection in
      let count = puts.withLock { count in
        count += 1
        return count
      }
      return connection.send(
        count < 3
          ? responseText("<Error><Code>AccessDenied</Code></Error>", status: "403 No", type: "application/xml")
          : responseText("", type: nil))
    }
    let server = try server(naming: store, then: responseText("{}"))
    defer {
      server.close()
      store.close()
    }
    #expect(try await upload(server).problem == nil)
    #expect(server.requests.count { $0.line.hasPrefix("POST") } == 3)
    puts.withLock { $0 = -9 }
    #expect(try await upload(server).problem == .storeRefused(status: 403, code: "AccessDenied"))
  }

  /// The store received the complete file, but its response was lost. The server finds the file.
  @Test("An upload whose response was lost is completed by the confirmation")
  func confirmationCompletesTheUpload() async throws {
    let store = try RawServer { _, _ in false }
    let server = try server(naming: store, then: responseText("{}"))
    defer {
      server.close()
      store.close()
    }
    #expect(try await upload(server).problem == nil)
    // curl repeats a request once on a connection that may have been stale.
    #expect((1...2).contains(store.requests.count))
    // A later attempt contacts only the server.
    #expect(try await upload(server, key: "image 7/ü").problem == nil)
    #expect(server.requests.count { $0.line.hasPrefix("POST") } == 1)
  }

  @Test("An unreachable store is retried a limited number of times and not mistaken for the server")
  func aCutBeginsAnewAndAStoreThatIsAwayIsNotTheServer() async throws {
    let store = try RawServer { _, _ in false }
    let server = try server(naming: store, then: problem(404))
    defer { server.close() }
    store.close()
    let result = try await upload(server)
    guard case .storeNotReached? = result.problem else {
      return #expect(Bool(false), "\(String(describing: result.problem))")
    }
    #expect(server.requests.count { $0.line.hasPrefix("PATCH") } == PresignedPlan.mostRepetitions + 1)
  }

  /// Invalid responses, and a refusal with a success status.
  @Test(
    "An invalid response or an error with a success status fails the upload",
    arguments: [
      ("{}", UploadProblem?.none), ("{\"id\": \"a\", \"upload\": {\"href\": 5}}", nil),
      ("{\"id\": \"a\", \"upload\": {\"href\": \"http://a b/\"}}", nil),
      ("{\"id\": \"a\", \"upload\": {\"href\": \"http://127.0.0.1:1/\", \"with\": {\"a b\": \"c\"}}}", nil),
      ("{\"upload\": {\"href\": \"http://127.0.0.1:1/\"}}", nil),
      ("{\"error\": \"no such receipt\"}", .notTaken("no such receipt")),
    ])
  func invalidResponseFailsTheUpload(body: String, problem: UploadProblem?) async throws {
    let server = try RawServer(response: responseText(body))
    defer { server.close() }
    let found = try await upload(server).problem
    if let problem { return #expect(found == problem) }
    guard case .transport(.notTheServer)? = found else { return #expect(Bool(false), "\(String(describing: found))") }
  }

  /// An HTML page is no refusal, neither from the store nor from the server.
  @Test("HTML pages in place of both responses are reported as not the server")
  func captivePortalIsNotTheServer() async throws {
    let page = responseText("<p>Log in</p>", status: "403 No", type: "text/html")
    let store = try RawServer(response: page)
    let server = try server(naming: store, then: page)
    defer {
      server.close()
      store.close()
    }
    guard case .transport(.notTheServer)? = try await upload(server).problem else {
      return #expect(Bool(false))
    }
  }

  @Test("A file that is shorter than announced or larger than the limit is not sent")
  func aFileThatChangesIsNotSent() async throws {
    let server = try RawServer(response: responseText("{}"))
    defer { server.close() }
    var short = source
    short.byteCount = 400_000
    let result = await PresignedUpload(transport: try transport(server), api: api).upload(short, key: nil)
    #expect(result.problem == .unreadable && server.requests.isEmpty)
    var limited = api
    limited.greatestBytes = 299_999
    #expect(try await upload(server, limited).problem == .tooLarge)
    #expect(server.requests.isEmpty)
  }

  /// Neither an unencrypted URL nor a URL with a password is accepted for a file.
  @Test(
    "A URL that is unencrypted, contains a password or has another scheme is rejected",
    arguments: ["http://s3.example.org/k", "https://a:b@s3.example.org/k", "ftp://127.0.0.1/k", "file:///etc/k"])
  func anAddressThatIsNotTaken(url: String) async throws {
    let server = try RawServer(response: responseText("{\"url\": \"\(url)\"}"))
    defer { server.close() }
    let result = try await upload(server, PresignedAPI(ask: .init("POST", "/a"), confirm: nil))
    #expect(result.problem != nil)
    #expect(server.requests.allSatisfy { $0.line.hasPrefix("POST /a") })
  }

  @Test("Only a well-formed error code is read from the response of a store") func storeErrorCodes() {
    #expect(ObjectStoreError.read(Array("<?xml?><Error><Code>NoSuchKey</Code></Error>".utf8)) == "NoSuchKey")
    for text in ["", "<Code>", "<Code></Code>x", "</Code><Code>", "<Code>a b</Code>", "<Code>\u{1B}[2J</Code>"] {
      #expect(ObjectStoreError.read(Array(text.utf8)) ?? "" == "", "\(text)")
    }
  }
}

/// A SHA-256 digest in the encodings that an API may require.
private struct SHA256Text {
  let base64: String
  let hexadecimal: String

  init(_ content: [UInt8]) {
    var digest = SHA256()
    content.withUnsafeBytes { digest.add($0) }
    base64 = Data(digest.digest).base64EncodedString()
    hexadecimal = digest.hexDigest
  }
}
