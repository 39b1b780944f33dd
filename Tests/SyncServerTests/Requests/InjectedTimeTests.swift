import CipherSQL
import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import FileServer
@testable import HTTPServer
@testable import SQLCipherStorage
@testable import SyncServer

/// A server with a clock and a random source of its own.
@Suite struct InjectedTimeTests {
  /// 2051-01-01T00:00:00Z.
  private static let start: Int64 = 2_556_144_000_000

  @Test("A server responds, stores and logs with the time of its clock")
  func times() async throws {
    let time = TestClock(Self.start)
    let server = try TestServer(environment: Environment(clock: time.clock, random: .system))
    let client = try server.client("ada")
    let health = try await client.get("/v1/health").json
    guard case .object(let object) = health, case .text(let now)? = object["serverTime"] else {
      return #expect(Bool(false), "\(health)")
    }
    #expect(now.hasPrefix("2051-01-01T00:"))
    #expect(
      try await client.results([Operation.create("Project", newUuid(), ["title": "Dam"])]) == ["accepted"])
    let account = try #require(try server.withDirectory { try $0.accounts() }.first)
    let stored = try #require(try await server.server.storage.read(account) { try $0.largestStoredTime })
    #expect((Self.start..<Self.start + 600_000).contains(stored))
    let lines = server.lines.withLock { $0 }
    #expect(!lines.isEmpty && lines.allSatisfy { $0.hasPrefix("2051-01-01T00:") })
    await server.server.stop()
  }

  @Test("Responses are forgotten when their retention has passed by the server's clock")
  func retention() async throws {
    let time = TestClock(Self.start)
    let environment = Environment(clock: time.clock, random: .system)
    let server = try TestServer(environment: environment)
    let client = try server.client("ada")
    var folder = try ServerFolder(server.folder.path + "/data", isCreating: false)
    folder.environment = environment
    let directory = try ServerDirectory(in: folder)
    defer { directory.close() }
    let clock = try ServerClock(directory, directory.environment.clock)
    #expect(
      try await client.results([Operation.create("Project", newUuid(), ["title": "Dam"])]) == ["accepted"])
    let account = try #require(try directory.accounts().first)
    let retention = Retention(
      days: 90, storage: server.server.storage, files: server.server.files, inUse: { _, contents in Set(contents) },
      directory: directory, environment: directory.environment, log: .silent)
    func isKept(after days: Int64) async throws -> Bool {
      time.advance(by: .seconds(days * 86_400))
      let now = try clock.advance(wall: environment.now)
      await retention.forget(account, before: now.limit(days: 90), at: now.now)
      return try await server.server.storage.read(account) { try $0.largestStoredTime } != nil
    }
    #expect(try await isKept(after: 89))
    #expect(try await !isKept(after: 2))
    await server.server.stop()
  }

  @Test("Two servers with the same seed draw the same identity and epoch")
  func seeds() async throws {
    func draw(_ seed: UInt64) async throws -> [String] {
      let temporary = try TemporaryFolder()
      let time = TestClock(Self.start, isRunning: false)
      var folder = try ServerFolder(temporary.path + "/data", isCreating: true)
      folder.environment = Environment(clock: time.clock, random: .repeatable(seed))
      let directory = try ServerDirectory(in: folder)
      defer { directory.close() }
      _ = try directory.addUser("ada", account: "water")
      let account = try #require(try directory.accounts().first)
      let storage = try EmbeddedStorage(in: folder, schemas: [], accounts: [])
      defer { storage.close() }
      return [directory.serverUuid, account.folder, try await storage.startEpoch(account)]
    }
    let first = try await draw(7)
    #expect(try await draw(7) == first)
    #expect(Set(try await draw(8)).isDisjoint(with: first))
  }
}
