import CipherSQL
import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import FileServer
@testable import SQLCipherStorage
@testable import ServerStorage
@testable import HTTPServer
@testable import SyncServer

/// The files of records go when the records do.
@Suite struct FileRetentionTests {
  private let schema = Schema(
    name: "pictures",
    migrations: [
      MigrationFile(
        version: 1, name: "pictures",
        sql: """
          CREATE TABLE Picture (
            pictureId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE,
            contentUuid TEXT, contentKey BLOB, contentDigest TEXT,
            createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
            updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z', lastSyncedAt TEXT,
            syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
            isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
          ) STRICT;
          INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Picture', 'Picture', 'pictures');
          """)
    ])

  /// An account whose data cannot be read is told of, and the others are looked after all the same.
  @Test("A damaged account is logged and does not stop retention of the others")
  func oneDamagedAccountDoesNotStopTheOthers() async throws {
    let folder = try TemporaryFolder()
    let data = try ServerFolder(folder.path + "/data", isCreating: true)
    let directory = try ServerDirectory(in: data)
    for name in ["one", "two", "three"] { _ = try directory.addUser(name, account: name) }
    let accounts = try directory.accounts()
    let damaged = try #require(accounts.first)
    let storage = try EmbeddedStorage(in: data, schemas: [schema], accounts: accounts)
    let files = "\(data.path)/accounts/\(damaged.folder)/files.db"
    try Data(repeating: 7, count: 8_192).write(to: URL(fileURLWithPath: files))
    let disk = DiskFileStorage(in: data)
    let lines = Locked<[String]>([])
    let retention = Retention(
      days: 90, storage: storage, files: disk, inUse: { _, _ in [] }, directory: directory,
      environment: directory.environment, log: RequestLog { line in lines.withLock { $0.append(line) } })
    var begun: [(account: AccountName, upload: String, content: ContentName)] = []
    for account in accounts.dropFirst() {
      func begin(_ length: Int64, expiry: Int64) async throws -> StoredUpload {
        let name = ContentName(content: newUuid(), variant: .full)
        return try await disk.begin(
          account, NewUpload(userId: 1, name: name, length: length, metadata: "", expiry: expiry), quota: 1 << 40, at: 0
        )
      }
      let finished = try await begin(0, expiry: 5_000)
      let writer = try await disk.openWriter(account, finished.id)
      try writer.commit(at: 1, expiry: 5_000, quota: 1 << 40)
      writer.close()
      begun.append((account, try await begin(10, expiry: 1_000).id, finished.name))
    }
    for account in accounts { await retention.expireUploads(of: account, at: 2_000) }
    for round in 1...3 {
      for account in accounts { await retention.forget(account, before: 2_000, at: Int64(round) * FileSweep.grace) }
    }
    #expect(begun.count == 2)
    for (account, upload, content) in begun {
      #expect(try await disk.upload(account, upload) == nil)
      #expect(try await disk.content(account, content) == nil)
    }
    let told = lines.withLock { $0 }
    #expect(told.count == 4 && told.allSatisfy { $0.contains(damaged.folder) }, "\(told)")
    disk.close()
    storage.close()
    directory.close()
  }

  @Test("A content is removed with its last record") func filesGoWithTheLastRecord() async throws {
    let folder = try TemporaryFolder()
    let data = try ServerFolder(folder.path + "/data", isCreating: true)
    let server = try FieldVaultServer(.init(folder: data, listen: "127.0.0.1:0", schemas: [schema]))
    let directory = try ServerDirectory(in: data)
    let token = try directory.addUser("ada", account: nil).token
    let records = TestClient(url: server.url, token: token)
    let files = FileClient(records)
    let (content, other) = (newUuid(), newUuid())
    for uuid in [content, other] {
      try await files.upload([1, 2, 3], as: uuid)
      try await files.upload([1], as: uuid, "thumbnail")
    }
    // Two records of one content, as when a photo was taken in twice.
    let pictures = [newUuid(), newUuid()]
    let fields: SyncObject = ["contentUuid": .text(content), "contentKey": .text("AAAA"), "contentDigest": .null]
    #expect(
      try await records.results(pictures.map { Operation.create("Picture", $0, fields) }) == ["accepted", "accepted"])
    // A finished upload that a record refers to gives up its address, and nothing else.
    let begun = try await files.begin(1)
    #expect(try await files.request("DELETE", begun.location).status == 204)
    await server.stop()

    let storage = try EmbeddedStorage(in: data, schemas: [schema], accounts: try directory.accounts())
    let disk = DiskFileStorage(in: data)
    let retention = Retention(
      days: 90, storage: storage, files: disk,
      inUse: { account, contents in try await storage.read(account) { try $0.contentsInUse(among: contents) } },
      directory: directory, environment: directory.environment, log: .silent)
    let account = try #require(try directory.accounts().first)
    func has(_ uuid: String) async throws -> [Bool] {
      var found: [Bool] = []
      for variant in [ContentName.Variant.full, .thumbnail] {
        found.append(try await disk.content(account, ContentName(content: uuid, variant: variant)) != nil)
      }
      return found
    }
    var now = Date.nowInMilliseconds().milliseconds
    func forget(before time: Int64) async {
      for _ in 0..<4 {
        now += FileSweep.grace
        await retention.forget(account, before: time, at: now)
      }
    }
    let future = Date.nowInMilliseconds().milliseconds + 1_000
    await forget(before: 0)
    #expect(try await has(content) == [true, true])
    for uuid in pictures {
      #expect(try await has(content) == [true, true])
      _ = try await storage.write(account) { data in
        let record = try #require(try data.record(RecordName("Picture", uuid)))
        let patch = RecordPatch(isDeleted: true, updatedAt: 1)
        return try data.store(
          record.name, over: record, record.state.applying(patch), createdAt: 1, at: 1)
      }
      await forget(before: 0)
      #expect(try await has(content) == [true, true], "a deletion can be taken back")
      await forget(before: 2)
    }
    #expect(try await has(content) == [false, false], "no record is left that refers to it")
    #expect(try await has(other) == [true, true], "its record may still come")
    await forget(before: future)
    #expect(try await has(other) == [false, false])
    disk.close()
    storage.close()
    directory.close()
  }
}
