import CipherSQL
import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import SyncServer

/// A lost or damaged file of a server is never made anew, and harms no other account.
@Suite struct DamagedFolderTests {
  enum File: CaseIterable { case records, files, content, folder }
  enum Damage: CaseIterable { case removed, emptied, truncated, ofAnother }

  /// A damage of an account, and the responses to a pull, a push and an upload of its users.
  struct Case {
    let file: File
    let damage: Damage
    var user: String { "\(file)-\(damage)" }
    var statuses: [Int] {
      switch file {
      case .records: [503, 503, 201]
      case .files: [200, 200, 503]
      case .content: DamagedFolderTests.healthy
      case .folder: [503, 503, 503]
      }
    }
  }

  static let healthy = [200, 200, 201]
  static let cases = File.allCases.flatMap { file in
    Damage.allCases.filter { file != .folder || $0 == .removed || $0 == .ofAnother }.map {
      Case(file: file, damage: $0)
    }
  }
  private static let schema = Schema(
    name: "notes",
    migrations: [
      MigrationFile(
        version: 1, name: "notes",
        sql: """
          CREATE TABLE OfflineNote (
            noteId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
            createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
            updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z', lastSyncedAt TEXT,
            syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
            isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
          ) STRICT;
          INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Note', 'OfflineNote', 'notes');
          """)
    ])

  /// A server with an account for each case and one that stays as it is, each with a record and a file.
  private struct Sample {
    let folder: TemporaryFolder
    let server: FieldVaultServer
    var tokens: [String: String] = [:]
    var accounts: [String: String] = [:]
    var data: String { folder.path + "/data" }

    init() async throws {
      folder = try TemporaryFolder()
      server = try start(folder.path + "/data")
      let directory = try ServerDirectory(in: try ServerFolder(data, isCreating: false))
      defer { directory.close() }
      for user in cases.map(\.user) + ["healthy"] {
        tokens[user] = try directory.addUser(user, account: user).token
        let client = TestClient(url: server.url, token: tokens[user])
        try await FileClient(client).upload([1, 2, 3, 4], as: "01930000-0000-7000-8000-0000000000aa")
        #expect(try await statuses(server.url, user) == healthy)
      }
      for account in try directory.accounts() { accounts[account.name] = account.folder }
    }

    func path(_ file: File, _ user: String) throws -> String {
      let folder = "\(data)/accounts/\(try #require(accounts[user]))"
      switch file {
      case .records: return folder + "/records.db"
      case .files: return folder + "/files.db"
      case .folder: return folder
      case .content:
        let files = folder + "/files"
        let names = try FileManager.default.subpathsOfDirectory(atPath: files).filter { $0.contains("/") }
        return "\(files)/\(try #require(names.first))"
      }
    }

    func damage(_ now: Case) throws {
      try DamagedFolderTests.damage(
        now.damage, try path(now.file, now.user), other: try path(now.file, "healthy"))
    }

    /// The responses to a user, for records and for files.
    func statuses(_ url: String, _ user: String) async throws -> [Int] {
      let client = TestClient(url: url, token: tokens[user])
      let operation = Operation.create("Note", newUuid(), ["title": "Weir"])
      return [
        try await client.get("/v1/changes").status, try await client.push([operation]).status,
        try await FileClient(client).begin(4).status,
      ]
    }
  }

  private static func start(_ data: String) throws -> FieldVaultServer {
    try FieldVaultServer(
      .init(folder: try ServerFolder(data, isCreating: true), listen: "127.0.0.1:0", schemas: [schema]))
  }

  private static func damage(_ damage: Damage, _ target: String, other: String) throws {
    let files = FileManager.default
    switch damage {
    case .removed: try files.removeItem(atPath: target)
    case .emptied: #expect(truncate(target, 0) == 0)
    case .truncated:
      let size = try #require(try files.attributesOfItem(atPath: target)[.size] as? Int)
      #expect(truncate(target, size / 2) == 0)
    case .ofAnother:
      try files.removeItem(atPath: target)
      try files.copyItem(atPath: other, toPath: target)
    }
  }

  private static func databases(_ data: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: data).filter { $0.hasSuffix(".db") || $0.hasSuffix(".key") }
      .sorted()
  }

  @Test(
    "Only an account that lost a file while the server was stopped returns 503, and no new file replaces the lost one")
  func whileStopped() async throws {
    let sample = try await Sample()
    await sample.server.stop()
    for now in Self.cases { try sample.damage(now) }
    let before = try Self.databases(sample.data)
    let server = try Self.start(sample.data)
    for now in Self.cases {
      #expect(try await sample.statuses(server.url, now.user) == now.statuses, "\(now.user)")
    }
    #expect(try await sample.statuses(server.url, "healthy") == Self.healthy)
    let refusal = try await TestClient(url: server.url, token: sample.tokens["records-removed"]).get("/v1/changes")
    #expect(refusal.headers["retry-after"] == "300" && refusal.contentType == "application/problem+json")
    await server.stop()
    #expect(try Self.databases(sample.data) == before)
  }

  @Test("Only an account that loses a file while the server runs returns 503, and accepts no more changes")
  func whileRunning() async throws {
    let sample = try await Sample()
    for now in Self.cases { try sample.damage(now) }
    for now in Self.cases {
      #expect(try await sample.statuses(sample.server.url, now.user) == now.statuses, "\(now.user)")
    }
    #expect(try await sample.statuses(sample.server.url, "healthy") == Self.healthy)
    try FileManager.default.removeItem(atPath: sample.data + "/directory.db")
    #expect(try await sample.statuses(sample.server.url, "healthy") == [503, 503, 503])
    await sample.server.stop()
  }

  @Test("A folder whose key or directory is lost or damaged is refused and stays as it is", arguments: Damage.allCases)
  func keyAndDirectory(damage: Damage) throws {
    let temporary = try TemporaryFolder()
    let names = ["server.key", "directory.db"]
    for folder in ["one", "other"] {
      let directory = try ServerDirectory(in: try ServerFolder("\(temporary.path)/\(folder)", isCreating: true))
      _ = try directory.addUser("ada", account: "water")
      directory.close()
    }
    for lost in [names, [names[0]], [names[1]]] where lost.count == 1 || damage == .removed {
      let copy = "\(temporary.path)/\(lost.joined())"
      try FileManager.default.copyItem(atPath: temporary.path + "/one", toPath: copy)
      for name in lost {
        try Self.damage(damage, "\(copy)/\(name)", other: "\(temporary.path)/other/\(name)")
      }
      let before = try FileManager.default.subpathsOfDirectory(atPath: copy)
      #expect(throws: (any Error).self, "\(lost)") {
        try ServerDirectory(in: try ServerFolder(copy, isCreating: true)).close()
      }
      let added = Set(try FileManager.default.subpathsOfDirectory(atPath: copy)).subtracting(before)
      #expect(added.filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") } == [])
    }
  }
}
