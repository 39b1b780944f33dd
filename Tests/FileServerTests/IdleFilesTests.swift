import CipherSQL
import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import FileServer
@testable import SQLCipherStorage
@testable import ServerStorage

/// The databases of files that nothing needs are not open.
@Suite struct IdleFilesTests {
  private let folder: TemporaryFolder
  private let data: ServerFolder
  private let time = TestClock(isRunning: false)
  private let account = AccountName(name: "one", folder: "00000000000000000000000000000001")

  init() throws {
    folder = try TemporaryFolder()
    var data = try serverFolder(folder.path + "/data", accounts: [account.folder])
    data.environment = Environment(clock: time.clock, random: .system)
    self.data = data
  }

  private func begin(_ storage: DiskFileStorage, expiry: Int64) async throws -> StoredUpload {
    let new = NewUpload(
      userId: 1, name: ContentName(content: newUuid(), variant: .full), length: 10, metadata: "", expiry: expiry)
    return try await storage.begin(account, new, quota: 1 << 40, at: 0)
  }

  @Test("The files of an idle account have no open descriptor, and open again for a request")
  func closes() async throws {
    let storage = DiskFileStorage(in: data)
    defer { storage.close() }
    let upload = try await begin(storage, expiry: 1_000)
    // The timer may begin to sleep later than this advances its clock.
    try await eventually(every: .milliseconds(50)) {
      time.advance(by: .seconds(100))
      return try openFiles(in: folder.path) == []
    }
    #expect(try await storage.upload(account, upload.id) == upload)
    #expect(try openFiles(in: folder.path) != [])
  }

  @Test("An account is looked at for expired uploads only if one may have expired")
  func expiry() async throws {
    let storage = DiskFileStorage(in: data)
    defer { storage.close() }
    func mayExpire(_ time: Int64, hasObjects: Bool = false) -> Bool {
      storage.mayExpire(account, at: time, hasObjects: hasObjects)
    }
    // An account without uploads. Uploads to an object store leave no trace in the folder.
    #expect(!mayExpire(.max) && mayExpire(0, hasObjects: true))
    try await storage.readExpiry(account, at: 0)
    #expect(!mayExpire(1_000, hasObjects: true))
    let first = try await begin(storage, expiry: 1_000)
    let second = try await begin(storage, expiry: 5_000)
    #expect(mayExpire(0))
    try await storage.readExpiry(account, at: 0)
    #expect(!mayExpire(999) && mayExpire(1_000))
    try await storage.expire(account, at: 1_000)
    try await storage.readExpiry(account, at: 1_000)
    #expect(!mayExpire(4_999) && mayExpire(5_000))
    #expect(try await storage.upload(account, first.id) == nil)
    #expect(mayExpire(0))
    try await storage.removeUpload(account, second.id)
    try await storage.readExpiry(account, at: 0)
    let hour: Int64 = 3_600_000
    #expect(!mayExpire(6 * hour - 1) && mayExpire(6 * hour))
    // A storage of another process knows nothing.
    let later = DiskFileStorage(in: data)
    defer { later.close() }
    #expect(later.mayExpire(account, at: 0, hasObjects: false))
  }

  @Test("The next expiry is that of an upload, of an upload to an object store, or of a removal from it")
  func nextExpiry() async throws {
    let storage = DiskFileStorage(in: data)
    defer { storage.close() }
    let database = try await storage.database(account)
    func next() async throws -> Int64? { try await database.read { try FileTables(connection: $0).nextExpiry() } }
    #expect(try await next() == nil)
    _ = try await begin(storage, expiry: 3_000)
    #expect(try await next() == 3_000)
    let upload = ObjectUpload(
      id: "1", userId: 1, name: ContentName(content: newUuid(), variant: .full), byteCount: 1, sha256: "",
      contentType: "")
    try await database.write { try ObjectTablesWriter($0).insert(upload, addressEnd: 1_000, expiry: 2_000) }
    #expect(try await next() == 2_000)
    try await database.write { try ObjectTablesWriter($0).abandon(upload.id) }
    #expect(try await next() == 1_000)
  }
}
