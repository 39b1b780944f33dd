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

@Suite struct CrashTests {
  /// The server is killed at any instruction: acknowledged operations are stored, and sending everything again has no
  /// further effect.
  @Test("A killed server keeps each acknowledged operation, and repeated operations have no further effect")
  func killedServerKeepsAcknowledgedOperations() async throws {
    let folder = try TemporaryFolder()
    let data = folder.path + "/data"
    let added = try await RunningServer.run(["user", "add", "ada", "--data", data, "--quiet"], in: folder)
    let token = added.output.trimmingCharacters(in: .newlines)
    let operations = (0..<600).map { number in
      Operation.create("Project", newUuid(), ["title": .text("\(number)")])
    }
    let batches = stride(from: 0, to: operations.count, by: 5).map { Array(operations[$0..<$0 + 5]) }
    var server = try RunningServer(
      ["serve", "--data", data, "--listen", "127.0.0.1:0", "--schema", "restoration", "--quiet"], in: folder)
    let client = TestClient(url: try await server.url(), token: token)
    let acknowledged = Locked<[SyncValue]>([])
    let pushing = Task {
      for batch in batches {
        let response = try await client.push(batch)
        acknowledged.withLock { $0 += response.list("results") }
      }
    }
    while acknowledged.withLock({ $0.count }) < 50 { try await Task.sleep(for: .milliseconds(5)) }
    server.signal(SIGKILL)
    #expect(try await server.end() == 128 + SIGKILL)
    #expect(await (try? pushing.value) == nil, "the push was cut off")

    server = try RunningServer(
      ["serve", "--data", data, "--listen", "127.0.0.1:0", "--schema", "restoration", "--quiet"], in: folder)
    let later = TestClient(url: try await server.url(), token: token)
    let kept = try await later.pull().changes.count
    #expect(kept >= acknowledged.withLock { $0.count } && kept < operations.count && kept % 5 == 0)
    var again: [SyncValue] = []
    for batch in batches { again += try await later.push(batch).list("results") }
    let before = acknowledged.withLock { $0 }
    #expect(Array(again.prefix(before.count)) == before)
    #expect(again.allSatisfy { $0.word == "accepted" && $0["version"] == 1 })
    #expect(again.map { $0["serverId"] } == (1...600).map { .integer($0) })
    #expect(try await later.pull().changes.count == operations.count)
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
  }
}
