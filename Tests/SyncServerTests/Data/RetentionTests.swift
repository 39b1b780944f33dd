import CipherSQL
import Foundation
import RestorationModel
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import FileServer
@testable import SQLCipherStorage
@testable import ServerStorage
@testable import SyncServer

@Suite struct RetentionTests {
  private static let day: Int64 = 86_400_000

  @Test("The time of retention is stored, begins at the last change, and never follows a clock that jumps")
  func storedTime() throws {
    let temporary = try TemporaryFolder()
    let folder = try ServerFolder(temporary.path + "/data", isCreating: true)
    let start: Int64 = 1_767_225_600_000
    do {
      let directory = try ServerDirectory(in: folder)
      defer { directory.close() }
      let clock = try ServerClock(directory)
      #expect(clock.needsBeginning && clock.storing(at: 7) == 7)
      clock.begin(largestStored: start, wall: start + 100 * Self.day)
      #expect(try clock.advance(wall: start + 100 * Self.day).now < start + Self.day)
      #expect(clock.storing(at: 7) >= start)
    }
    let directory = try ServerDirectory(in: folder)
    defer { directory.close() }
    let clock = try ServerClock(directory)
    #expect(!clock.needsBeginning)
    #expect(try clock.advance(wall: start + 100 * Self.day).now < start + Self.day)
  }

  @Test("Retention of data without a stored time starts at the last stored response or deletion")
  func largestStoredTime() async throws {
    let server = try TestServer()
    let client = try server.client("ada")
    let uuid = newUuid()
    let account = try #require(try server.withDirectory { try $0.accounts() }.first)
    #expect(try await server.server.storage.read(account) { try $0.largestStoredTime } == nil)
    let before = Date.nowInMilliseconds().milliseconds
    #expect(try await client.results([Operation.create("Project", uuid, ["title": "Dam"])]) == ["accepted"])
    let found = try await server.server.storage.read(account) { try $0.largestStoredTime }
    #expect(try #require(found) >= before)
    await server.server.stop()
  }

  @Test("A server whose wall clock is 100 days ahead of its data forgets no deletion when it starts")
  func startAfterAJump() async throws {
    let temporary = try TemporaryFolder()
    let folder = try ServerFolder(temporary.path + "/data", isCreating: true)
    let directory = try ServerDirectory(in: folder)
    defer { directory.close() }
    _ = try directory.addUser("ada", account: "water")
    let account = try #require(try directory.accounts().first)
    let storage = try EmbeddedStorage(in: folder, schemas: [RestorationSchema.schema], accounts: [])
    defer { storage.close() }
    let files = DiskFileStorage(in: folder)
    defer { files.close() }
    let then = Date.nowInMilliseconds().milliseconds - 100 * Self.day
    let name = RecordName("Project", newUuid())
    try await storage.write(account) { data in
      let state = RecordState(fields: ["title": "Dam"], updatedAt: then)
      let record = try data.store(name, over: nil, state, createdAt: then, at: then)
      let gone = state.applying(RecordPatch(isDeleted: true, updatedAt: then))
      _ = try data.store(name, over: record, gone, createdAt: then, at: then)
    }
    // Has expired, and is given up behind the deletions that are forgotten.
    let upload = try await files.begin(
      account,
      NewUpload(
        userId: 1, name: ContentName(content: newUuid(), variant: .full), length: 1, metadata: "", expiry: 1),
      quota: 1 << 40, at: 0)
    let retention = Retention(
      days: 90, storage: storage, files: files, inUse: { _, contents in Set(contents) }, directory: directory,
      log: .silent)
    let clock = try ServerClock(directory)
    let work = Task { await retention.run(clock) }
    while try await files.upload(account, upload.id) != nil { try await Task.sleep(for: .milliseconds(5)) }
    work.cancel()
    await work.value
    #expect(try await storage.read(account) { try $0.isDeleted(name) } == true)
  }

  @Test("A change is never stored under a time before that of retention")
  func changesAfterAClockIsSetBack() async throws {
    let temporary = try TemporaryFolder()
    let later = Date.nowInMilliseconds().milliseconds + 10 * Self.day
    do {
      let directory = try ServerDirectory(in: try ServerFolder(temporary.path + "/data", isCreating: true))
      defer { directory.close() }
      try await directory.database.write { db in
        _ = try db.execute("INSERT INTO RetentionTime (id, milliseconds) VALUES (1, \(later))")
      }
    }
    let server = try TestServer(in: temporary)
    let client = try server.client("ada")
    let account = try #require(try server.withDirectory { try $0.accounts() }.first)
    let uuid = newUuid()
    let results = try await client.results([
      Operation.create("Project", uuid, ["title": "Dam"]), Operation.delete("Project", uuid, version: 1),
    ])
    #expect(results == ["accepted", "accepted"])
    let stored = try await server.server.storage.read(account) { try $0.largestStoredTime }
    #expect(try #require(stored) >= later)
    await server.server.stop()
  }
}
