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
    time.advance(by: .seconds(100))
    try await eventually { try openFiles(in: folder.path) == [] }
    #expect(try await storage.upload(account, upload.id) == upload)
    #expect(try openFiles(in: folder.path) != [])
  }
}
