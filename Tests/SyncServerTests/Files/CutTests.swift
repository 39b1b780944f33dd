import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import HTTPServer
@testable import SyncServer

/// Connections that end too early, and requests that come at once.
@Suite struct CutTests {
  /// Wherever a connection is cut: nothing that arrived is lost, nothing is stored that was not sent.
  @Test("An upload that is cut anywhere keeps the received bytes and resumes") func cutAnywhere() async throws {
    let seed = UInt64.random(in: 1...UInt64(UInt32.max))
    print("seed \(seed)")
    var random = Seeded(seed)
    let server = try TestServer()
    let client = try server.fileClient("ada")
    let all = bytes(3_000_000, seed: seed)
    let begun = try await client.begin(all.count)
    let borders = [0, 1, 4_095, 32_768, 65_536, 262_143, 262_144, 262_145]
    var offset = 0
    let counts = borders + (0..<12).map { _ in Int.random(in: 0..<300_000, using: &random) }
    for (number, count) in counts.enumerated() {
      let before = offset
      let rest = Array(all[offset...])
      let sent = min(count, rest.count - 1)
      try client.cutPatch(begun.location, at: offset, rest, after: sent)
      let isAskedAtOnce = Bool.random(using: &random)
      if isAskedAtOnce {
        // Asked at once: the request that was cut may even arrive later.
        offset = try await client.offset(begun.location)
        #expect(offset <= before + sent, "seed \(seed)")
      }
      try await server.waitForLog("PATCH /v1/files/uploads/{upload} ", count: number + 1)
      let now = try await client.offset(begun.location)
      #expect(now >= offset && now <= before + sent, "seed \(seed)")
      // Bytes that arrived together with the headers may be lost if the connection ends before the file is open.
      if !isAskedAtOnce, sent > 65_536 { #expect(now == before + sent, "all that came is kept; seed \(seed)") }
      offset = now
    }
    #expect(try await client.patch(begun.location, at: offset, Array(all[offset...])).offset == all.count)
    #expect(try await client.request("GET", try #require(begun.headers["fieldvault-content"])).body == all)
    await server.server.stop()
  }

  @Test("A second writer of an upload is refused with 423") func oneAtATime() async throws {
    let server = try TestServer()
    let client = try server.fileClient("ada")
    let all = bytes(400_000)
    let begun = try await client.begin(all.count)
    let head = client.head(
      "PATCH", begun.location, ["Upload-Offset": "0", "Content-Type": FileClient.content], length: all.count)
    let first = try RawConnection(to: client.url)
    #expect(first.send(head + all[..<100_000]))
    try await Task.sleep(for: .milliseconds(200))
    let second = try await client.patch(begun.location, at: 0, all)
    #expect(second.status == 423 && second.headers["retry-after"] == "1")
    // The first goes on undisturbed.
    #expect(FileResponse(await first.receiveBytes(sending: Array(all[100_000...]))).offset == all.count)
    #expect(try await client.request("GET", try #require(begun.headers["fieldvault-content"])).body == all)
    await server.server.stop()
  }

  /// Many clients send the same upload concurrently, each with its own bytes: the stored bytes come from one of them.
  @Test("Concurrent writers never mix their bytes") func neverMixed() async throws {
    let server = try TestServer()
    let client = try server.fileClient("ada")
    for round in 0..<5 {
      let begun = try await client.begin(200_000)
      let responses = try await withThrowingTaskGroup(of: FileResponse.self) { group in
        for sender in 0..<6 {
          group.addTask {
            try await client.patch(begun.location, at: 0, [UInt8](repeating: UInt8(sender), count: 200_000))
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(responses.count { $0.status == 204 } == 1, "round \(round)")
      #expect(responses.allSatisfy { [204, 409, 423].contains($0.status) }, "\(responses.map(\.status))")
      let stored = try await client.request("GET", try #require(begun.headers["fieldvault-content"])).body
      #expect(stored.count == 200_000 && Set(stored).count == 1)
    }
    await server.server.stop()
  }

  /// A client that asks where to go on does not wait for its own dead connection.
  @Test("Asking for the offset or deleting an upload ends its hanging request") func askingEndsWhatHangs() async throws
  {
    let server = try TestServer { $0.http.stopSeconds = 1 }
    let client = try server.fileClient("ada")
    let all = bytes(300_000)
    let begun = try await client.begin(all.count)
    let hanging = try RawConnection(to: client.url)
    let head = client.head(
      "PATCH", begun.location, ["Upload-Offset": "0", "Content-Type": FileClient.content], length: all.count)
    #expect(hanging.send(head + all[..<150_000]))
    // Until the server has read all of it, also on a busy machine: unread bytes are lost with the connection.
    try await Task.sleep(for: .seconds(2))
    let start = ContinuousClock.now
    #expect(try await client.offset(begun.location) == 150_000)
    #expect(ContinuousClock.now - start < .seconds(5))
    #expect(try await client.patch(begun.location, at: 150_000, Array(all[150_000...])).offset == all.count)
    // Later bytes of the hanging request are dropped.
    _ = hanging.send([UInt8](repeating: 0, count: 150_000))
    #expect(try await client.request("GET", try #require(begun.headers["fieldvault-content"])).body == all)
    // Giving up ends it too.
    let other = try await client.begin(1_000)
    let more = try RawConnection(to: client.url)
    #expect(
      more.send(
        client.head(
          "PATCH", other.location, ["Upload-Offset": "0", "Content-Type": FileClient.content], length: 1_000) + [1, 2]))
    try await Task.sleep(for: .milliseconds(200))
    #expect(try await client.request("DELETE", other.location).status == 204)
    #expect(try await client.request("HEAD", other.location).status == 404)
    await server.server.stop()
  }

  @Test("An upload whose response was lost is removed and releases its quota") func whatNobodyKnowsDoesNotStay()
    async throws
  {
    let server = try TestServer { $0.files.quotaBytes = 100_000 }
    let client = try server.fileClient("ada")
    let head = client.head(
      "POST", "/v1/files", ["Upload-Length": "90000", "Content-Type": FileClient.content], length: 90_000)
    for _ in 0..<3 {
      let cut = try RawConnection(to: client.url)
      #expect(cut.send(head + bytes(40_000)))
      _ = consume cut
      try await server.waitForLog("POST /v1/files 499")
      server.lines.withLock { $0 = [] }
      var status = 507
      for _ in 0..<100 where status == 507 {
        let begun = try await client.begin(90_000)
        status = begun.status
        if status == 201 { #expect(try await client.request("DELETE", begun.location).status == 204) }
      }
      #expect(status == 201, "the quota is free again")
    }
    #expect(try filesOnDisk(server).isEmpty)
    await server.server.stop()
  }

  /// An upload of 1,000 bytes whose connection stays open behind the first one.
  private func hangingUpload(_ client: FileClient) async throws -> RawConnection {
    let begun = try await client.begin(1_000)
    let connection = try RawConnection(to: client.url)
    let head = client.head(
      "PATCH", begun.location, ["Upload-Offset": "0", "Content-Type": FileClient.content], length: 1_000)
    #expect(connection.send(head + [1]))
    return connection
  }

  /// The same when the first bytes were not even let in.
  @Test("A refused upload does not count toward the quota") func whatWasNotLetInDoesNotStay() async throws {
    let server = try TestServer { limits in
      limits.files.quotaBytes = 100_000
      limits.files.uploadsAtOnce = 1
    }
    let client = try server.fileClient("ada")
    let hanging = try await hangingUpload(client)
    try await Task.sleep(for: .milliseconds(300))
    for _ in 0..<3 {
      let refused = try await client.request(
        "POST", "/v1/files", ["Upload-Length": "60000", "Content-Type": FileClient.content], body: bytes(60_000))
      #expect(refused.status == 429)
    }
    #expect(try await client.begin(60_000).status == 201, "nothing of the refused ones counts")
    withExtendedLifetime(hanging) {}
    await server.server.stop()
  }

  @Test("A slow upload is disconnected and keeps its bytes") func slowUploadsAreLetGoAndKept() async throws {
    let server = try TestServer { limits in
      limits.http.bodySeconds = 1
      limits.http.streamBytesPerSecond = 10_000
    }
    let client = try server.fileClient("ada")
    let begun = try await client.begin(100_000)
    let slow = try RawConnection(to: client.url)
    let head = client.head(
      "PATCH", begun.location, ["Upload-Offset": "0", "Content-Type": FileClient.content], length: 100_000)
    #expect(slow.send(head))
    var sent = 0
    while sent < 200, slow.send([UInt8(truncatingIfNeeded: sent)]) {
      sent += 1
      try await Task.sleep(for: .milliseconds(50))
    }
    #expect(sent < 200)
    let offset = try await client.offset(begun.location)
    #expect(offset > 0 && offset <= sent)
    await server.server.stop()
  }

  @Test("The number of concurrent uploads per user is limited") func uploadsOfOneUserAreBounded() async throws {
    let server = try TestServer { $0.files.uploadsAtOnce = 2 }
    let client = try server.fileClient("ada")
    var open: [RawConnection] = []
    for _ in 0..<2 { open.append(try await hangingUpload(client)) }
    try await Task.sleep(for: .milliseconds(300))
    let begun = try await client.begin(1_000)
    #expect(try await client.patch(begun.location, at: 0, [1]).status == 429)
    #expect(try await server.fileClient("bo").begin(3).status == 201)
    open = []
    await server.server.stop()
  }
}
