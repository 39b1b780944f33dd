import Foundation
import Platform
import RestorationModel
import ServerSupport
import SyncModel
import TestSupport

@testable import FileServer
@testable import SQLCipherStorage
@testable import ServerStorage
@testable import SyncServer

/// The data of a server with accounts, each with two records that were deleted long ago.
final class OldAccounts {
  let time = TestClock(1_767_225_600_000, isRunning: false)
  let directory: ServerDirectory
  let accounts: [AccountName]
  let files: DiskFileStorage
  /// A record that was deleted 191 days ago.
  let older = RecordName("Project", newUuid())
  /// A record that was deleted 100 days ago.
  let newer = RecordName("Project", newUuid())
  private let temporary: TemporaryFolder
  private let storage: EmbeddedStorage

  init(_ count: Int) async throws {
    temporary = try TemporaryFolder()
    var folder = try ServerFolder(temporary.path + "/data", isCreating: true)
    folder.environment = Environment(clock: time.clock, random: .repeatable(7))
    directory = try ServerDirectory(in: folder)
    for number in 1...count { _ = try directory.addUser("\(number)", account: "\(number)") }
    accounts = try directory.accounts()
    storage = try EmbeddedStorage(in: folder, schemas: [RestorationSchema.schema], accounts: [])
    files = DiskFileStorage(in: folder)
    for account in accounts {
      for (name, days) in [(older, 191), (newer, 100)] {
        let then = time.now - Int64(days) * 86_400_000
        try await storage.write(account) { data in
          let state = RecordState(fields: ["title": "Dam"], updatedAt: then)
          let record = try data.store(name, over: nil, state, createdAt: then, at: then)
          let gone = state.applying(RecordPatch(isDeleted: true, updatedAt: then))
          _ = try data.store(name, over: record, gone, createdAt: then, at: then)
        }
      }
    }
  }

  deinit {
    files.close()
    storage.close()
    directory.close()
  }

  func retention(_ environment: Environment) -> Retention {
    Retention(
      days: 90, storage: storage, files: files, inUse: { _, contents in Set(contents) }, directory: directory,
      environment: environment, log: .silent)
  }

  /// Runs retention, and a body that advances the time by a quarter of an hour and waits for the next round.
  func runRetention(_ body: (_ advance: () async throws -> Void) async throws -> Void) async throws {
    let retention = retention(directory.environment)
    let clock = try ServerClock(directory, directory.environment.clock)
    let work = Task { await retention.run(clock) }
    try await eventually { try directory.retentionTime() != nil }
    do {
      try await body {
        let last = try directory.retentionTime() ?? 0
        time.advance(by: .seconds(900))
        try await eventually { try directory.retentionTime() ?? 0 > last }
      }
    } catch {
      work.cancel()
      throw error
    }
    work.cancel()
    await work.value
  }

  func beginUpload(_ account: AccountName, expiry: Int64) async throws -> String {
    let upload = NewUpload(
      userId: 1, name: ContentName(content: newUuid(), variant: .full), length: 1, metadata: "", expiry: expiry)
    return try await files.begin(account, upload, quota: 1 << 40, at: 0).id
  }

  /// Returns the number of accounts that have not forgotten the deletion of a record.
  func left(_ name: RecordName) async throws -> Int {
    var count = 0
    for account in accounts where try await storage.read(account, { try $0.isDeleted(name) }) == true { count += 1 }
    return count
  }

  /// Returns the databases with a name that this process has open.
  func openFiles(_ name: String) throws -> Set<String> {
    Set(try ServerSupport.openFiles(in: temporary.path).filter { $0.hasSuffix("/" + name) })
  }
}
