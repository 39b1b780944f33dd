import CipherSQL
import Foundation
import ServerSupport
import Testing

@testable import FileServer
@testable import SyncServer

/// A disk that fills up while files come: the databases beside them keep their reserve.
@Suite struct FullDiskTests {
  private let free = Locked(Int64(1) << 40)

  private func makeServer() throws -> TestServer {
    try TestServer(freeBytes: free)
  }

  /// The free bytes in addition to the reserve for the databases.
  private func leave(_ bytes: Int64) { free.withLock { $0 = AccountFiles.reserve + bytes } }

  @Test("An upload without free space is refused by its headers, and deleting is still possible")
  func whatHasNoRoomIsNotSent() async throws {
    let server = try makeServer()
    let client = try server.fileClient("ada")
    let all = bytes(300_000)
    let begun = try await client.begin(all.count)
    #expect(try await client.patch(begun.location, at: 0, Array(all[..<100_000])).offset == 100_000)
    leave(150_000)
    // The headers decide: not a byte of the body is sent.
    let asking = try RawConnection(to: client.url)
    let head = client.head(
      "PATCH", begun.location,
      ["Upload-Offset": "100000", "Content-Type": FileClient.content, "Expect": "100-continue"], length: 200_000)
    let refused = FileResponse(await asking.receiveBytes(sending: head))
    #expect(refused.status == 507 && refused.type == "about:blank" && refused.headers["retry-after"] != nil)
    #expect(try await client.begin(200_000).status == 507)
    #expect(try await client.offset(begun.location) == 100_000)
    leave(1_000_000)
    #expect(try await client.patch(begun.location, at: 100_000, Array(all[100_000...])).offset == all.count)
    #expect(try await client.request("GET", try #require(begun.headers["fieldvault-content"])).body == all)
    leave(0)
    #expect(try await client.request("DELETE", begun.location).status == 204, "what makes room is done on a full disk")
    await server.server.stop()
  }

  /// The room goes while a body is on its way, as when several come at once.
  @Test("A body in transit does not use up the reserve of the disk") func aBodyDoesNotTakeTheReserve() async throws {
    let server = try makeServer()
    let client = try server.fileClient("ada")
    let all = bytes(2_000_000)
    for deferred in [false, true] {
      leave(1 << 30)
      let begun = try await client.request(
        "POST", "/v1/files", deferred ? ["Upload-Defer-Length": "1"] : ["Upload-Length": "2000000"])
      let connection = try RawConnection(to: client.url)
      let head = client.head(
        "PATCH", begun.location, ["Upload-Offset": "0", "Content-Type": FileClient.content], length: all.count)
      #expect(connection.send(head + all[..<600_000]))
      try await Task.sleep(for: .milliseconds(300))
      leave(1_000)
      #expect(FileResponse(await connection.receiveBytes(sending: Array(all[600_000...]))).status == 507)
      leave(1 << 30)
      let offset = try await client.offset(begun.location)
      let headers = deferred ? ["Upload-Length": "2000000"] : [:]
      #expect(try await client.patch(begun.location, at: offset, Array(all[offset...]), headers).offset == all.count)
      #expect(try await client.request("DELETE", begun.location).status == 204)
    }
    await server.server.stop()
  }
}
