import CipherSQL
import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Servers that are killed or stopped while files are on their way.
@Suite struct FileCrashTests {
  private func serve(_ folder: TemporaryFolder) throws -> RunningServer {
    try RunningServer(
      ["serve", "--data", folder.path + "/data", "--listen", "127.0.0.1:0", "--quiet"], in: folder)
  }

  private func addUser(_ folder: TemporaryFolder) async throws -> String {
    let added = try await RunningServer.run(
      ["user", "add", "ada", "--data", folder.path + "/data", "--quiet"], in: folder)
    return added.output.trimmingCharacters(in: .newlines)
  }

  /// The server is killed at any instruction: the offset covers all acknowledged bytes, and they are correct.
  @Test("After a crash the offset covers each acknowledged byte") func killedServerGoesOnWhereItWas() async throws {
    let seed = UInt64.random(in: 1...UInt64(UInt32.max))
    print("seed \(seed)")
    var random = Seeded(seed)
    let folder = try TemporaryFolder()
    let token = try await addUser(folder)
    let all = bytes(24_000_000, seed: seed)
    var server = try serve(folder)
    var client = FileClient(TestClient(url: try await server.url(), token: token))
    let begun = try await client.begin(all.count)
    var acknowledged = 0
    for _ in 0..<10 where acknowledged < all.count {
      let part = Int.random(in: 10_000..<900_000, using: &random)
      let delay = Int.random(in: 0..<120, using: &random)
      let sending = Task { [client, acknowledged] in
        var offset = acknowledged
        while offset < all.count {
          let end = min(offset + part, all.count)
          let response = try await client.patch(begun.location, at: offset, Array(all[offset..<end]))
          guard response.status == 204 else { break }
          offset = end
        }
        return offset
      }
      try await Task.sleep(for: .milliseconds(delay))
      server.signal(SIGKILL)
      _ = try await server.end()
      acknowledged = (try? await sending.value) ?? acknowledged
      server = try serve(folder)
      client = FileClient(TestClient(url: try await server.url(), token: token))
      let offset = try await client.offset(begun.location)
      #expect(offset >= acknowledged && offset <= all.count, "seed \(seed)")
      acknowledged = offset
    }
    if acknowledged < all.count {
      #expect(try await client.patch(begun.location, at: acknowledged, Array(all[acknowledged...])).status == 204)
    }
    let path = try #require(try await client.request("HEAD", begun.location).headers["fieldvault-content"])
    #expect(try await client.request("GET", path).body == all, "seed \(seed)")
    // Killed between other steps too: begun, given up, begun with bytes.
    for _ in 0..<5 {
      let working = Task { [client] in
        while true {
          let begun = try await client.request(
            "POST", "/v1/files", ["Upload-Length": "50000", "Content-Type": FileClient.content],
            body: Array(all[..<40_000]))
          guard begun.status == 201 else { return }
          _ = try await client.request("DELETE", begun.location)
        }
      }
      try await Task.sleep(for: .milliseconds(Int.random(in: 50..<150, using: &random)))
      server.signal(SIGKILL)
      _ = try await server.end()
      _ = try? await working.value
      server = try serve(folder)
      client = FileClient(TestClient(url: try await server.url(), token: token))
      #expect(try await client.request("GET", path, ["Range": "bytes=-9"]).body == Array(all.suffix(9)))
    }
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
  }

  /// A server that is stopped finishes the requests in flight.
  @Test("A stopping server finishes uploads in flight") func stoppingLetsUploadsFinish() async throws {
    let folder = try TemporaryFolder()
    let token = try await addUser(folder)
    let server = try serve(folder)
    let client = FileClient(TestClient(url: try await server.url(), token: token))
    let all = bytes(600_000)
    let begun = try await client.begin(all.count)
    let raw = try RawConnection(to: client.url)
    let head = client.head(
      "PATCH", begun.location, ["Upload-Offset": "0", "Content-Type": FileClient.content], length: all.count)
    #expect(raw.send(head + all[..<300_000]))
    try await Task.sleep(for: .milliseconds(300))
    server.signal(SIGTERM)
    try await Task.sleep(for: .milliseconds(300))
    #expect(FileResponse(await raw.receiveBytes(sending: Array(all[300_000...]))).offset == all.count)
    #expect(try await server.end() == 0)
  }

  /// An upload that does not come to its end in time is cut, and goes on later.
  @Test("An upload that a stopping server cuts resumes at its offset") func stoppingKeepsWhatCame() async throws {
    let folder = try TemporaryFolder()
    let all = bytes(2_000_000)
    let first = try TestServer(in: folder) { $0.http.stopSeconds = 1 }
    let client = try first.fileClient("ada")
    let begun = try await client.begin(all.count)
    let connections = try (0..<4).map { _ in try RawConnection(to: client.url) }
    let others = try await (0..<3).asyncMap { _ in try await client.begin(all.count).location }
    for (connection, path) in zip(connections, [begun.location] + others) {
      let head = client.head(
        "PATCH", path, ["Upload-Offset": "0", "Content-Type": FileClient.content], length: all.count)
      #expect(connection.send(head + all[..<700_000]))
    }
    try await first.waitForLog("POST /v1/files 201")
    try await Task.sleep(for: .milliseconds(300))
    await first.server.stop()
    let second = try TestServer(in: folder)
    let later = FileClient(TestClient(url: second.server.url, token: client.token))
    for path in [begun.location] + others { #expect(try await later.offset(path) == 700_000) }
    #expect(try await later.patch(begun.location, at: 700_000, Array(all[700_000...])).offset == all.count)
    #expect(try await later.request("GET", try #require(begun.headers["fieldvault-content"])).body == all)
    await second.server.stop()
  }
}

extension Sequence where Element: Sendable {
  fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async rethrows -> [Value] {
    var values: [Value] = []
    for element in self { values.append(try await body(element)) }
    return values
  }
}
