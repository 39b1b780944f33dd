import CipherSQL
import Foundation
import RawNetwork
import SealedFiles
import Testing
import HTTPClient
@testable import FileTransfers

/// The client against servers with scripted responses.
@Suite struct TusClientTests {
  private let content = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 7) }

  private struct Stored {
    var bytes: [UInt8] = []
    var remembered: [String?] = []
    var isRememberedFirst = true
  }

  /// Returns a server of one upload, with checksums. `meddle` may replace a response.
  private func server(
    _ stored: Locked<Stored>, location: String = "/v1/files/uploads/1",
    meddle: @escaping @Sendable (RawRequest) -> String? = { _ in nil }
  ) throws -> RawServer {
    try RawServer { request, connection in
      if let text = meddle(request) { return connection.send(text) }
      let tus = "Tus-Resumable: 1.0.0\r\n"
      switch request.line.split(separator: " ")[0] {
      case "OPTIONS":
        return connection.send(
          "HTTP/1.1 204 No Content\r\n\(tus)Tus-Extension: creation,checksum\r\nTus-Checksum-Algorithm: sha1,sha256\r\n\r\n"
        )
      case "POST":
        return connection.send("HTTP/1.1 201 Created\r\n\(tus)Location: \(location)\r\nContent-Length: 0\r\n\r\n")
      case "HEAD":
        let count = stored.withLock { $0.bytes.count }
        return connection.send("HTTP/1.1 200 OK\r\n\(tus)Upload-Offset: \(count)\r\nUpload-Length: 9000000000\r\n\r\n")
      default:
        let digest = ContentDigest()
        request.body.withUnsafeBytes { digest.add($0) }
        let isRight = request.headers["upload-checksum"] == "sha256 " + Data(digest.finishBytes()).base64EncodedString()
        let count = stored.withLock { stored in
          if isRight { stored.bytes += request.body }
          if stored.remembered.last != .some(.some("set")) { stored.isRememberedFirst = false }
          return stored.bytes.count
        }
        return connection.send(
          "HTTP/1.1 \(isRight ? 204 : 460) X\r\n\(tus)Upload-Offset: \(count)\r\nContent-Length: 0\r\n\r\n")
      }
    }
  }

  private func upload(
    _ server: RawServer, _ stored: Locked<Stored>, byteCount: Int? = nil, from address: String? = nil
  ) async throws -> TusResult {
    let content = content
    let source = UploadSource(byteCount: Int64(byteCount ?? content.count)) { offset, buffer in
      let part = content[min(Int(offset), content.count)..<min(content.count, Int(offset) + buffer.count)]
      buffer.copyBytes(from: part)
      return part.count
    }
    return await TusClient(transport: try transport(server), endpoint: "/v1/files").upload(
      source, metadata: [("content", "01981c5e"), ("variant", "full")], address: address,
      remember: { address in stored.withLock { $0.remembered.append(address == nil ? nil : "set") } })
  }

  @Test("An upload sends checksums, and its address is stored before the first byte")
  func aFileGoesWithItsChecksumAndItsAddressIsKnownFirst() async throws {
    let stored = Locked(Stored())
    let server = try server(stored)
    defer { server.close() }
    let result = try await upload(server, stored)
    #expect(result.problem == nil)
    #expect(result.address == "\(server.url)/v1/files/uploads/1")
    #expect(stored.withLock { $0.bytes } == content)
    #expect(stored.withLock { $0.isRememberedFirst })
    let create = try #require(server.requests.first { $0.line.hasPrefix("POST") })
    #expect(create.headers["upload-length"] == "200000")
    #expect(create.headers["upload-metadata"] == "content MDE5ODFjNWU=,variant ZnVsbA==")
    #expect(create.headers["content-length"] == "0" && create.headers["content-type"] == nil)
    #expect(server.requests.allSatisfy { $0.headers["tus-resumable"] == "1.0.0" })
    #expect(server.requests.allSatisfy { $0.headers["authorization"] == "Bearer secret-token" })
  }

  @Test(
    "A transient status of OPTIONS ends the attempt, and does not turn checksums off", arguments: [408, 413, 429, 503])
  func transientStatusOfOptions(status: Int) async throws {
    let stored = Locked(Stored())
    let isFirst = Locked(true)
    let server = try server(stored) { request in
      guard request.line.hasPrefix("OPTIONS"), isFirst.withLock({ $0 }) else { return nil }
      return "HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n"
    }
    defer { server.close() }
    let content = content
    let source = UploadSource(byteCount: Int64(content.count)) { offset, buffer in
      let part = content[Int(offset)..<min(content.count, Int(offset) + buffer.count)]
      buffer.copyBytes(from: part)
      return part.count
    }
    let name = FileName(contentUuid: "0195b2c0-0000-7000-8000-0000000000aa", variant: .full)
    let files = FieldVaultFiles(transport: try transport(server))
    @Sendable func send() async -> UploadResult {
      await files.send(
        source, name, address: nil, link: FileServerState(),
        remember: { address in stored.withLock { $0.remembered.append(address == nil ? nil : "set") } },
        progress: { _ in })
    }
    #expect(await send().problem == .transport(.unreachable(status: status)))
    #expect(try await upload(server, stored).problem != nil)
    #expect(server.requests.allSatisfy { $0.line.hasPrefix("OPTIONS") })
    isFirst.withLock { $0 = false }
    #expect(await send().problem == nil)
    #expect(stored.withLock { $0.bytes } == content)
  }

  @Test("A part whose checksum does not match is sent again") func aChecksumThatDoesNotFitIsSentAgain() async throws {
    let stored = Locked(Stored())
    let isFirst = Locked(true)
    let server = try server(stored) { request in
      guard request.line.hasPrefix("PATCH"),
        isFirst.withLock({ first in
          defer { first = false }; return first
        })
      else {
        return request.line.hasPrefix("HEAD")
          ? "HTTP/1.1 200 OK\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n\r\n" : nil
      }
      return "HTTP/1.1 460 Checksum Mismatch\r\nTus-Resumable: 1.0.0\r\nContent-Length: 0\r\n\r\n"
    }
    defer { server.close() }
    #expect(try await upload(server, stored).problem == nil)
    #expect(stored.withLock { $0.bytes } == content)
  }

  @Test(
    "An HTML page from a proxy fails the upload and keeps its address",
    arguments: ["200 OK", "404 Not Found", "403 Forbidden"])
  func aPageOfSomebodyOnTheWayForgetsNothing(status: String) async throws {
    let stored = Locked(Stored())
    let server = try server(stored) { request in
      request.line.hasPrefix("HEAD")
        ? "HTTP/1.1 \(status)\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n" : nil
    }
    defer { server.close() }
    let address = "\(server.url)/v1/files/uploads/1"
    let result = try await upload(server, stored, from: address)
    #expect(result.problem == .transport(.notTheServer(detail: "it does not support tus")))
    #expect(result.address == address)
    #expect(stored.withLock { $0.remembered }.isEmpty)
  }

  @Test("An upload address on another server is rejected and not stored")
  func anUploadElsewhereIsNotFollowed() async throws {
    let other = try RawServer(response: healthy)
    let stored = Locked(Stored())
    let server = try server(stored, location: "\(other.url)/v1/files/uploads/1")
    defer {
      server.close()
      other.close()
    }
    let result = try await upload(server, stored)
    #expect(
      result.problem == .transport(.notTheServer(detail: "the upload address is on another server")))
    #expect(other.accepted == 0)
    // The address is not stored either: the next response of the server may name the right address.
    #expect(stored.withLock { $0.remembered }.isEmpty)
  }

  @Test("An upload that started under another address of the server restarts")
  func anotherAddress() async throws {
    let stored = Locked(Stored())
    let server = try server(stored)
    defer { server.close() }
    let result = try await upload(server, stored, from: "https://old.example/v1/files/uploads/1")
    #expect(result.problem == nil)
    #expect(result.address == "\(server.url)/v1/files/uploads/1")
    #expect(stored.withLock { $0.bytes } == content)
  }

  @Test("An upload of another length restarts") func anUploadOfAnotherLengthBeginsAnew() async throws {
    let stored = Locked(Stored())
    let server = try server(stored)
    defer { server.close() }
    // The server reports a length of 9 GB, which is also no reason to reject a response without a body.
    let result = try await upload(server, stored, from: "\(server.url)/v1/files/uploads/0")
    #expect(result.problem == nil)
    #expect(stored.withLock { $0.remembered } == [nil, "set"])
  }

  @Test("A file that is shorter than announced is unreadable, and nothing is stored")
  func aFileThatBecomesShorterIsUnreadable() async throws {
    let stored = Locked(Stored())
    let server = try server(stored)
    defer { server.close() }
    #expect(try await upload(server, stored, byteCount: content.count + 1).problem == .unreadable)
    #expect(stored.withLock { $0.bytes }.isEmpty)
  }
}
