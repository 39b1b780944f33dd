import Foundation
import ServerSupport
import TestSupport
import Testing

@testable import SyncServer

/// Uploads that do not say how long they become count all the same, before anything of them is committed.
@Suite struct QuotaTests {
  /// How the first bytes come: with the request that begins an upload, or later with a checksum. Both are stored at the
  /// end of the body, and until then hold the disk.
  enum Way: CaseIterable {
    case post, patchWithChecksum
  }

  private func head(_ client: FileClient, _ way: Way, _ more: [String: String], length: Int?) async throws -> [UInt8] {
    switch way {
    case .post:
      let headers = ["Upload-Defer-Length": "1", "Content-Type": FileClient.content]
      return client.head("POST", "/v1/files", headers.merging(more) { $1 }, length: length)
    case .patchWithChecksum:
      let begun = try await client.request("POST", "/v1/files", ["Upload-Defer-Length": "1"])
      let headers = [
        "Upload-Offset": "0", "Content-Type": FileClient.content,
        "Upload-Checksum": "sha256 \(Data(count: 32).base64EncodedString())",
      ]
      return client.head("PATCH", begun.location, headers.merging(more) { $1 }, length: length)
    }
  }

  /// Waits until so many bytes count for the only user.
  private func waitForUse(_ server: TestServer, _ length: Int64) async throws {
    let account = try #require(try server.withDirectory { try $0.accounts().first { $0.name == "water" } })
    try await eventually("\(length) bytes in use") {
      try await server.server.files.usedBytes(account, by: 1) >= length
    }
  }

  /// Waits until so much is free for the user again.
  private func waitForRoom(_ client: FileClient, _ length: Int) async throws {
    try await eventually("room for \(length) bytes", every: .milliseconds(20)) {
      let begun = try await client.begin(length)
      guard begun.status == 201 else { return false }
      #expect(try await client.request("DELETE", begun.location).status == 204)
      return true
    }
  }

  @Test("The announced length of a body counts toward the quota at once", arguments: Way.allCases)
  func whatABodyAnnouncesCounts(_ way: Way) async throws {
    let server = try TestServer { $0.files.quotaBytes = 100_000 }
    let client = try server.fileClient("ada")
    var first: RawConnection? = try RawConnection(to: client.url)
    #expect(first?.send(try await head(client, way, [:], length: 60_000) + bytes(10)) == true)
    try await waitForUse(server, 60_000)
    let second = try RawConnection(to: client.url)
    // Refused by its headers, while the first has sent next to nothing.
    let refused = FileResponse(
      await second.receiveBytes(sending: try await head(client, way, ["Expect": "100-continue"], length: 60_000)))
    #expect(refused.status == 507 && refused.type == "urn:fieldvault:quota-exceeded")
    #expect(try await client.begin(60_000).status == 507)
    #expect(try await server.fileClient("bo").begin(60_000).status == 201)
    first = nil
    try await waitForRoom(client, 70_000)
    await server.server.stop()
  }

  @Test("A body without a length counts toward the quota as received", arguments: Way.allCases)
  func whatComesWithoutALengthCounts(_ way: Way) async throws {
    let server = try TestServer { $0.files.quotaBytes = 3 << 20 }
    let client = try server.fileClient("ada")
    let chunk = Array("80000\r\n".utf8) + bytes(512 << 10) + Array("\r\n".utf8)
    let chunked = ["Transfer-Encoding": "chunked"]
    var first: RawConnection? = try RawConnection(to: client.url)
    #expect(first?.send(try await head(client, way, chunked, length: nil) + chunk + chunk + chunk + chunk) == true)
    // Two MiB came, the last part of which may wait in a buffer.
    try await waitForUse(server, 3 << 19)
    let second = try RawConnection(to: client.url)
    let body = try await head(client, way, chunked, length: nil) + chunk + chunk + chunk + chunk
    let refused = FileResponse(await second.receiveBytes(sending: body + Array("0\r\n\r\n".utf8)))
    #expect(refused.status == 507 && refused.type == "urn:fieldvault:quota-exceeded")
    first = nil
    try await waitForRoom(client, 3_000_000)
    await server.server.stop()
  }

  /// Alone a body without a length may go up to the quota, and not beyond.
  @Test("A body without a length may use the quota to its last byte") func upToTheLastByteOfTheQuota() async throws {
    for (last, status) in [(0x7f000, 201), (0x7f001, 507)] {
      let server = try TestServer { $0.files.quotaBytes = 3 << 20 }
      let client = try server.fileClient("ada")
      let connection = try RawConnection(to: client.url)
      let chunk = Array("80000\r\n".utf8) + bytes(512 << 10) + Array("\r\n".utf8)
      let tail = Array("\(String(last, radix: 16))\r\n".utf8) + bytes(last) + Array("\r\n0\r\n\r\n".utf8)
      let head = try await head(client, .post, ["Transfer-Encoding": "chunked"], length: nil)
      let response = FileResponse(
        await connection.receiveBytes(sending: head + (0..<5).flatMap { _ in chunk } + tail))
      #expect(response.status == status)
      await server.server.stop()
    }
  }
}
