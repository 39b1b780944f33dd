import CipherSQL
import Dispatch
import Foundation
import RestorationModel
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage
@testable import HTTPServer
@testable import SyncServer

/// Deletions with more dependents than one transaction takes.
@Suite struct CascadeJobTests {
  // A member, because a folder goes with the last reference to it.
  private let folder: TemporaryFolder
  private let account = AccountName(name: "one", folder: "00000000000000000000000000000001")
  private let house = newUuid()

  init() throws { folder = try TemporaryFolder() }

  private func storage(
    _ schema: Schema = RestorationSchema.schema
  ) throws -> EmbeddedStorage {
    try EmbeddedStorage(
      in: try serverFolder(folder.path + "/data", accounts: [account.folder]), schemas: [schema], accounts: [])
  }

  /// Readings belong to a project only by their room.
  static let chain: Schema = {
    func table(_ type: String, _ column: String) -> String {
      """
      CREATE TABLE Offline\(type) (
        \(type.lowercased())Id INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, \(column)
        createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL, lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending',
        syncVersion INTEGER NOT NULL DEFAULT 0, isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('\(type)', 'Offline\(type)', 'chain');

      """
    }
    let sql =
      table("Project", "title TEXT,")
      + table("Room", "projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,")
      + table("Reading", "roomId INTEGER NOT NULL REFERENCES OfflineRoom (roomId) ON DELETE CASCADE,")
    return Schema(name: "chain", migrations: [MigrationFile(version: 1, name: "tables", sql: sql)])
  }()

  private func create(_ name: RecordName, _ fields: SyncObject, in data: any RecordWriting) throws {
    let state = RecordState(fields: fields, updatedAt: 1_000)
    _ = try data.store(name, over: nil, state, createdAt: 900, at: 2_000)
  }

  /// Stores a project with rooms and returns the uuids of the rooms.
  private func fill(_ storage: any RecordStorage, _ account: AccountName, rooms: Int) async throws -> [String] {
    let uuids = (0..<rooms).map { _ in newUuid() }
    try await storage.write(account) { [house] data in
      try create(RecordName("Project", house), ["title": "Elm"], in: data)
      for uuid in uuids {
        try create(RecordName("Room", uuid), ["title": "Hall", "projectId": .text(house)], in: data)
      }
    }
    return uuids
  }

  private func mark(_ uuid: String, isDeleted: Bool, at time: Int64, in data: any RecordWriting) throws {
    let name = RecordName("Project", uuid)
    let before = try #require(try data.record(name))
    let state = before.state.applying(RecordPatch(isDeleted: isDeleted, updatedAt: time))
    let record = try data.store(name, over: before, state, createdAt: 1, at: time)
    _ = try data.cascade(from: record, at: time)
  }

  /// Waits until no job is left.
  private func finish(_ storage: EmbeddedStorage) async throws {
    for _ in 0..<12_000 {
      let isAny = try await storage.read(account) { data in try (data as? AccountReader)?.hasJobs ?? false }
      if !isAny { return }
      try await Task.sleep(for: .milliseconds(5))
    }
    throw Unexpected("the jobs do not end")
  }

  private func deleted(_ storage: any RecordStorage, _ uuids: [String]) async throws -> Int {
    try await storage.read(account) { data in
      try uuids.count { try data.isDeleted(RecordName("Room", $0)) == true }
    }
  }

  @Test("The transaction of a deletion visits few dependents, and later ones visit the rest")
  func deletesInChunks() async throws {
    let storage = try self.storage()
    defer { storage.close() }
    let rooms = try await fill(storage, account, rooms: 120)
    let inFirst = try await storage.write(account) { [house] data in
      try mark(house, isDeleted: true, at: 5_000, in: data)
      let writer = try #require(data as? AccountWriter)
      return try rooms.count { try writer.row(RecordName("Room", $0))?.record.state.isDeleted == true }
    }
    #expect(inFirst == AccountWriter.dependentsPerWrite)
    try await finish(storage)
    #expect(try await deleted(storage, rooms) == 120)
    let page = try await storage.read(account) { try $0.changes(after: 0, limit: 1_000, projects: nil) }
    let changed = page.records.map(\.content.record)
    #expect(changed.allSatisfy { $0.state.isDeleted && $0.state.syncVersion == 2 })
    #expect(changed.allSatisfy { $0.state.editTime(of: RecordState.deletionField) == 5_000 })
    #expect(changed.count { $0.deletedWith == RecordName("Project", house).reference } == 120)
  }

  @Test("While a deletion is under way, writes treat every dependent as deleted and pages leave the others out")
  func readsAsDeleted() async throws {
    let storage = try self.storage()
    defer { storage.close() }
    let rooms = try await fill(storage, account, rooms: 100)
    let log = RecordName("AtmosphericLog", newUuid())
    try await storage.write(account) { [house] data in
      try create(
        log,
        [
          "projectId": .text(house), "roomId": .text(rooms[99]), "relativeHumidity": 50, "temperature": 70,
          "date": "2026-01-01T00:00:00.000Z",
        ], in: data)
    }
    try await storage.write(account) { [house] data in
      try mark(house, isDeleted: true, at: 5_000, in: data)
      let page = try data.changes(after: 0, limit: 1_000, projects: nil)
      #expect(page.records.allSatisfy(\.content.record.state.isDeleted) && page.remaining == 0)
      #expect(try data.changes(after: nil, limit: 1_000, projects: nil).records.isEmpty)
      let record = try #require(try data.record(log))
      #expect(record.state.isDeleted && record.version == 2 && record.deletedWith == RecordName("Project", house))
      #expect(try data.isDeleted(RecordName("Room", rooms[99])) == true)
    }
    try await finish(storage)
    #expect(try await deleted(storage, rooms) == 100)
    #expect(try await storage.read(account) { try $0.record(log)?.version } == 2)
  }

  @Test("A restoration during the deletion brings every dependent back")
  func restoresMeanwhile() async throws {
    let storage = try self.storage()
    defer { storage.close() }
    let rooms = try await fill(storage, account, rooms: 80)
    try await storage.write(account) { [house] data in try mark(house, isDeleted: true, at: 5_000, in: data) }
    try await storage.write(account) { [house] data in try mark(house, isDeleted: false, at: 6_000, in: data) }
    try await finish(storage)
    #expect(try await deleted(storage, rooms) == 0)
  }

  @Test("A restart resumes a deletion")
  func resumes() async throws {
    let first = try self.storage()
    let rooms = try await fill(first, account, rooms: 80)
    try await first.write(account) { [house] data in try mark(house, isDeleted: true, at: 5_000, in: data) }
    first.close()
    let second = try self.storage()
    defer { second.close() }
    _ = try await second.read(account) { try $0.lastSequence }
    try await finish(second)
    #expect(try await deleted(second, rooms) == 80)
  }

  @Test("Dependents of a record that moves to another project follow in later transactions")
  func movesInChunks() async throws {
    let storage = try self.storage(Self.chain)
    defer { storage.close() }
    let (other, room) = (newUuid(), newUuid())
    let logs = (0..<100).map { _ in newUuid() }
    try await storage.write(account) { [house] data in
      for uuid in [house, other] { try create(RecordName("Project", uuid), [:], in: data) }
      try create(RecordName("Room", room), ["projectId": .text(house)], in: data)
      for uuid in logs { try create(RecordName("Reading", uuid), ["roomId": .text(room)], in: data) }
    }
    try await storage.write(account) { data in
      let before = try #require(try data.record(RecordName("Room", room)))
      let state = before.state.applying(RecordPatch(fields: ["projectId": .text(other)], updatedAt: 2_000))
      _ = try data.store(before.name, over: before, state, createdAt: 1, at: 3_000)
    }
    try await finish(storage)
    let page = try await storage.read(account) { try $0.changes(after: nil, limit: 1_000, projects: [other]) }
    #expect(page.records.count == 102)
  }

  @Test("A push whose client disconnects is done to its end, and its repetition finds the stored result")
  func outlivesItsConnection() async throws {
    let server = try TestServer()
    let client = try server.client("ada")
    let push: [SyncValue] = [Operation.create("Project", house, ["title": "Elm"], id: "once")]
    let member = try server.withDirectory { try $0.member(token: client.token ?? "") }
    let service = SyncService(
      storage: server.server.storage, limits: ServerLimits(), serverUuid: "", log: .silent,
      environment: .system)
    var request = Request(method: "POST", path: "/v1/push")
    request.body = SyncValue.object(["deviceId": "test", "deviceCounter": 1, "operations": .array(push)]).jsonBytes
    let call = RouteCall(request: request, caller: try #require(member), variables: [:])
    let work = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await service.push(call)
    }
    work.cancel()
    _ = await work.result
    func version() async throws -> Int64? {
      try await server.server.storage.read(call.caller.account) { [house] data in
        try data.record(RecordName("Project", house))?.version
      }
    }
    #expect(try await version() == 1)
    #expect(try await client.push(push).list("results").map { $0["version"] } == [.integer(1)])
    #expect(try await version() == 1)
    await server.server.stop()
  }

  @Test(
    "Old deletions and responses are removed in several transactions, dependents before the records that they reference"
  )
  func forgetsInChunks() async throws {
    let storage = try self.storage()
    defer { storage.close() }
    let rooms = try await fill(storage, account, rooms: 120)
    try await storage.write(account) { [house] data in
      for number in 0..<250 {
        try data.keep(response: "{}", to: OperationContent(key: "op\(number)", operation: [:]), at: 1)
      }
      try mark(house, isDeleted: true, at: 5_000, in: data)
    }
    try await finish(storage)
    let counting = CountingStorage(storage: storage)
    try await counting.forget(account, before: 10_000)
    // 250 responses and 120 rooms, at most 100 of them in one transaction.
    #expect(counting.changes.max() ?? 0 <= 100 && counting.changes.count { $0 > 0 } >= 5)
    try await storage.write(account) { [house] data in
      #expect(try data.isDeleted(RecordName("Project", house)) == nil)
      let left = try rooms.filter { try data.isDeleted(RecordName("Room", $0)) != nil }
      #expect(left.isEmpty)
      #expect(try data.storedResponse(for: "op249") == nil)
    }
  }
}

/// A storage that notes how many responses and deletions each transaction forgets.
private final class CountingStorage: RecordStorage {
  private let storage: any RecordStorage
  private let forgotten = Locked<[Int]>([])

  init(storage: any RecordStorage) { self.storage = storage }

  var changes: [Int] { forgotten.withLock { $0 } }
  var entities: [String: EntityDescription] { storage.entities }
  var schemas: [ServedSchema] { storage.schemas }

  func read<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordReading) throws -> Result
  ) async throws -> Result { try await storage.read(account, body) }

  func write<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordWriting) throws -> Result
  ) async throws -> Result {
    try await storage.write(account) { [forgotten] data in
      let writer = try #require(data as? AccountWriter)
      let connection = try #require(writer.rows as? EmbeddedRowsWriter).writer
      func rows() throws -> Int {
        try writer.flush()
        return try connection.fetchOne(
          "SELECT (SELECT count(*) FROM ServerAnswer) + (SELECT count(*) FROM ServerRecord)", as: Int.self) ?? 0
      }
      let before = try rows()
      let result = try body(data)
      let after = try rows()
      forgotten.withLock { $0.append(before - after) }
      return result
    }
  }

  var usage: StorageUsage { storage.usage }
  func flushFailedCommits(_ account: AccountName) async throws { try await storage.flushFailedCommits(account) }
  func checkReadiness() async throws { try await storage.checkReadiness() }
  func waitForChange(_ account: AccountName, _ request: ChangeRequest) async throws -> WaitResult {
    try await storage.waitForChange(account, request)
  }
  func stopWaiting() { storage.stopWaiting() }
  func close() { storage.close() }
}
