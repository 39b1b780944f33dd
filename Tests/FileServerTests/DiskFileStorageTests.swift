import CipherSQL
import Foundation
import ServerSupport
import SyncModel
import SyncServer
import TestSupport
import Testing

@testable import FileServer
@testable import SQLCipherStorage
@testable import ServerStorage

@Suite struct DiskFileStorageTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func newFolder() throws -> ServerFolder {
    try serverFolder(
      folder.file(UUID().uuidString), accounts: ["1", "2"].map { String(repeating: "0", count: 31) + $0 })
  }

  @Test("The storage on disk keeps each guarantee of file storage", arguments: FileConformance.names)
  func keeps(_ name: String) async throws {
    let conformance = FileConformance { DiskFileStorage(in: try newFolder()) }
    try await #require(conformance.all.first { $0.name == name }).check()
  }

  private let account = AccountName(name: "one", folder: "00000000000000000000000000000001")

  private func upload(_ storage: DiskFileStorage, _ length: Int64) async throws -> StoredUpload {
    let new = NewUpload(
      userId: 1, name: ContentName(content: newUuid(), variant: .full), length: length, metadata: "",
      expiry: 1_000)
    return try await storage.begin(account, new, quota: 1 << 40, at: 0)
  }

  private func store(_ all: [UInt8], in storage: DiskFileStorage) async throws -> StoredUpload {
    let upload = try await upload(storage, Int64(all.count))
    let writer = try await storage.openWriter(account, upload.id)
    try all.withUnsafeBytes { try writer.append($0) }
    try writer.commit(at: 0, expiry: 1_000, quota: 1 << 40)
    writer.close()
    return writer.upload
  }

  private func files(_ folder: ServerFolder) throws -> [String] {
    let path = folder.path + "/accounts/\(account.folder)/files"
    return try FileManager.default.subpathsOfDirectory(atPath: path).filter { $0.contains("/") }.map { "\(path)/\($0)" }
  }

  private func sweep(_ storage: DiskFileStorage, at time: Int64, inUse: Bool = true) async throws {
    try await storage.sweep(account, SweepRule(at: time, neverUsedBefore: 0) { inUse ? Set($0) : [] })
  }

  private let later = FileSweep.grace + 1_000

  @Test("Bytes without a row go after 7 days and a second look; other files stay and are for the owner alone")
  func orphansAreSwept() async throws {
    let folder = try newFolder()
    let storage = DiskFileStorage(in: folder)
    defer { storage.close() }
    let stored = try await store([1, 2, 3], in: storage)
    let begun = try await upload(storage, 10)
    let writer = try await storage.openWriter(account, begun.id)
    let own = try files(folder)
    #expect(own.count == 2)
    for path in own {
      #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    }
    let place = try #require(own.first).dropLast(33)
    let orphan = "\(place)/\(String(repeating: "a", count: 30))\(place.suffix(2))"
    let foreign = "\(place)/lost+found"
    for path in [orphan, foreign] { #expect(FileManager.default.createFile(atPath: path, contents: Data([1]))) }
    try await sweep(storage, at: 1_000)
    try await sweep(storage, at: later - 1)
    #expect(try files(folder).sorted() == (own + [orphan, foreign]).sorted())
    try await sweep(storage, at: later)
    #expect(try files(folder).sorted() == (own + [foreign]).sorted())
    #expect(try await storage.content(account, stored.name) != nil)
    writer.close()
  }

  @Test("A file that is missing or cut for a moment is there again when its bytes are")
  func filesThatComeBack() async throws {
    let folder = try newFolder()
    let storage = DiskFileStorage(in: folder)
    defer { storage.close() }
    let stored = try await store([1, 2, 3], in: storage)
    let path = try #require(try files(folder).first)
    try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
    #expect(FileManager.default.createFile(atPath: path, contents: Data([1])))
    #expect(try await storage.open(account, stored.name) == nil)
    try FileManager.default.removeItem(atPath: path)
    #expect(try await storage.content(account, stored.name) == nil)
    // Reads note when the file was missing first, by the wall clock.
    let now = Date.nowInMilliseconds().milliseconds
    try await sweep(storage, at: now + 1_000)
    try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
    try await sweep(storage, at: now + 10 * later)
    let (content, file) = try #require(try await storage.open(account, stored.name))
    #expect(content.byteCount == 3 && file.descriptor >= 0)
    #expect(FileManager.default.contents(atPath: path) == Data([1, 2, 3]))
  }

  @Test(
    "The row of a missing file is removed after 7 days and a second check, and an upload may replace the file before")
  func filesThatDoNotComeBack() async throws {
    let folder = try newFolder()
    let storage = DiskFileStorage(in: folder)
    defer { storage.close() }
    let stored = try await store([1, 2, 3], in: storage)
    let other = try await store([4], in: storage)
    for path in try files(folder) where FileManager.default.contents(atPath: path) == Data([1, 2, 3]) {
      try FileManager.default.removeItem(atPath: path)
    }
    #expect(try await storage.content(account, stored.name) == nil)
    let new = NewUpload(userId: 1, name: stored.name, length: 2, metadata: "", expiry: 1_000)
    let replacing = try await storage.begin(account, new, quota: 1 << 40, at: 0)
    let now = Date.nowInMilliseconds().milliseconds
    try await sweep(storage, at: now + 1_000)
    #expect(try await storage.usedBytes(account, by: 1) == 3 * 4_096 + 3 + 2 + 1)
    let writer = try await storage.openWriter(account, replacing.id)
    try [UInt8]([8, 9]).withUnsafeBytes { try writer.append($0) }
    try writer.commit(at: 0, expiry: 1_000, quota: 1 << 40)
    writer.close()
    #expect(try await storage.content(account, stored.name)?.byteCount == 2)
    for path in try files(folder) where FileManager.default.contents(atPath: path) == Data([4]) {
      try FileManager.default.removeItem(atPath: path)
    }
    #expect(try await storage.content(account, other.name) == nil)
    try await sweep(storage, at: now + 10 * later)
    #expect(try await storage.usedBytes(account, by: 1) == 4_096 + 2)
  }

  @Test("On another volume nothing is removed and nothing is written, and the files are there when the own one is back")
  func anotherVolume() async throws {
    let folder = try newFolder()
    let storage = DiskFileStorage(in: folder)
    defer { storage.close() }
    let stored = try await store([1, 2, 3], in: storage)
    let place = folder.path + "/accounts/\(account.folder)/files"
    for isEmpty in [true, false] {
      try FileManager.default.moveItem(atPath: place, toPath: place + ".away")
      if !isEmpty {
        let other = "\(place)/ab/\(String(repeating: "a", count: 30))ab"
        try FileManager.default.createDirectory(atPath: "\(place)/ab", withIntermediateDirectories: true)
        #expect(FileManager.default.createFile(atPath: other, contents: Data([1])))
        #expect(FileManager.default.createFile(atPath: place + "/marker", contents: Data("another".utf8)))
      }
      await #expect(throws: ServerError.self) { try await storage.open(account, stored.name) }
      await #expect(throws: ServerError.self) { try await upload(storage, 10) }
      for round in 0..<3 { try await sweep(storage, at: Int64(round) * 2 * later, inUse: false) }
      if !isEmpty { #expect(try files(folder).count == 1) }
      if !isEmpty { try FileManager.default.removeItem(atPath: place) }
      try FileManager.default.moveItem(atPath: place + ".away", toPath: place)
      #expect(try await storage.content(account, stored.name)?.byteCount == 3)
    }
  }

  @Test("Uploads that are the first ones of an account at once are all taken")
  func firstUploadsAtOnce() async throws {
    let storage = DiskFileStorage(in: try newFolder())
    defer { storage.close() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<16 { group.addTask { _ = try await store([UInt8(number)], in: storage) } }
      try await group.waitForAll()
    }
  }

  @Test("A folder of version 0.1 is marked when it holds the files of its account, and not when it is another")
  func foldersFromBeforeTheMarker() async throws {
    for isOther in [false, true] {
      let folder = try newFolder()
      let storage = DiskFileStorage(in: folder)
      let stored = try await store([1, 2, 3], in: storage)
      let place = folder.path + "/accounts/\(account.folder)/files"
      try FileManager.default.removeItem(atPath: place + "/marker")
      try await storage.database(account).write { try $0.execute("UPDATE FileMarker SET isOnDisk = 0") }
      if isOther {
        try FileManager.default.moveItem(atPath: place, toPath: place + ".away")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        await #expect(throws: ServerError.self) { try await upload(storage, 10) }
        #expect(!FileManager.default.fileExists(atPath: place + "/marker"))
      } else {
        _ = try await upload(storage, 10)
        #expect(FileManager.default.fileExists(atPath: place + "/marker"))
        #expect(try await storage.content(account, stored.name) != nil)
      }
      storage.close()
    }
  }

  @Test("One sweep removes at most 1 % of an account, also when a database was put back and no record needs its files")
  func aSweepIsSmall() async throws {
    let folder = try newFolder()
    let storage = DiskFileStorage(in: folder)
    defer { storage.close() }
    for number in 0..<20 { _ = try await store([UInt8(number)], in: storage) }
    let count = try files(folder).count
    try await sweep(storage, at: 1, inUse: true)
    try await sweep(storage, at: 2, inUse: false)
    try await sweep(storage, at: later - 1_000 + 1, inUse: false)
    #expect(try files(folder).count == count)
    try await sweep(storage, at: later, inUse: false)
    #expect(try files(folder).count == count - 1)
    // Needed again: its mark is removed, and a later mark begins again.
    try await sweep(storage, at: later + 1, inUse: true)
    try await sweep(storage, at: later + 2, inUse: false)
    #expect(try files(folder).count == count - 1)
  }

  /// Bytes after the last commit, as a crash leaves them, are not counted as sent.
  @Test("Bytes after the last commit are discarded when an upload resumes") func whatACrashLeftBehindTheOffset()
    async throws
  {
    let folder = try newFolder()
    let storage = DiskFileStorage(in: folder)
    defer { storage.close() }
    let begun = try await upload(storage, 6)
    let first = try await storage.openWriter(account, begun.id)
    try [UInt8]([1, 2, 3]).withUnsafeBytes { try first.append($0) }
    try first.commit(at: 0, expiry: 1_000, quota: 1 << 40)
    first.close()
    let path = try #require(try files(folder).first)
    let handle = try #require(FileHandle(forWritingAtPath: path))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data([9, 9, 9, 9, 9, 9]))
    try handle.close()
    let second = try await storage.openWriter(account, begun.id)
    try [UInt8]([4, 5, 6]).withUnsafeBytes { try second.append($0) }
    try second.commit(at: 0, expiry: 1_000, quota: 1 << 40)
    second.close()
    #expect(FileManager.default.contents(atPath: path) == Data([1, 2, 3, 4, 5, 6]))
  }

  /// A commit that reached the log and not the disk fails, and comes back after a crash: the bytes that it counts have to
  /// be there, or it must not come.
  @Test("A failed commit that reappears after a crash never counts truncated bytes")
  func aFailedCommitNeverCountsBytesThatWereCut() async throws {
    let given = try newFolder()
    let before = DiskFileStorage(in: given)
    defer { before.close() }
    let begun = try await upload(before, 6)
    let writer = try await before.openWriter(account, begun.id)
    try [UInt8]([1, 2, 3, 4, 5, 6]).withUnsafeBytes { try writer.append($0) }
    let copy = try copy(given)
    let folder = try ServerFolder(copy, isCreating: true)
    let storage = DiskFileStorage(in: folder)
    defer { storage.close() }
    #expect(try await storage.upload(account, begun.id)?.offset == 0)
    // The failed operation was the one of this test.
    let log = "/accounts/\(account.folder)/files.db-wal"
    let known = try Data(contentsOf: URL(filePath: copy + log)).count
    try writer.commit(at: 0, expiry: 1_000, quota: 1 << 40)
    writer.close()
    let handle = try FileHandle(forWritingTo: URL(filePath: copy + log))
    try handle.seekToEnd()
    try handle.write(contentsOf: try Data(contentsOf: URL(filePath: given.path + log))[known...])
    try handle.close()
    #expect(try await afterACrash(copy, begun)?.isFinished == true)
    let next = try await storage.openWriter(account, begun.id)
    #expect(try await afterACrash(copy, begun)?.isFinished == false)
    next.close()
  }

  private func copy(_ folder: ServerFolder) throws -> String {
    let path = folder.path + "-\(UUID().uuidString)"
    try FileManager.default.copyItem(atPath: folder.path, toPath: path)
    try FileManager.default.removeItem(atPath: "\(path)/accounts/\(account.folder)/files.db-shm")
    return path
  }

  private func afterACrash(_ path: String, _ begun: StoredUpload) async throws -> StoredUpload? {
    let folder = try ServerFolder(try copy(try ServerFolder(path, isCreating: true)), isCreating: true)
    let storage = DiskFileStorage(in: folder)
    defer { storage.close() }
    return try await storage.upload(account, begun.id)
  }

  /// The same where it fails in this process: nothing is cut that the failed commit counts.
  @Test("A failed commit truncates no bytes") func whatAFailedCommitCountsIsNotCut() async throws {
    let folder = try newFolder()
    let storage = DiskFileStorage(in: folder)
    let begun = try await upload(storage, 6)
    let writer = try await storage.openWriter(account, begun.id)
    try [UInt8]([1, 2, 3, 4, 5, 6]).withUnsafeBytes { try writer.append($0) }
    storage.close()
    #expect(throws: (any Error).self) { try writer.commit(at: 0, expiry: 1_000, quota: 1 << 40) }
    writer.close()
    #expect(FileManager.default.contents(atPath: try #require(try files(folder).first))?.count == 6)
  }

  /// Reservations from before a crash do not count forever.
  @Test("A new writer replaces the reservation that a crash left behind") func reservationsOfACrash() async throws {
    let folder = try newFolder()
    let before = DiskFileStorage(in: folder)
    let new = NewUpload(
      userId: 1, name: ContentName(content: newUuid(), variant: .full), length: nil, metadata: "",
      expiry: 1_000)
    let begun = try await before.begin(account, new, quota: 100_000, at: 0)
    let used = try await before.usedBytes(account, by: 1)
    let crashed = try await before.openWriter(account, begun.id, reserving: 60_000, quota: 100_000)
    // The writer cannot give back anything any more.
    before.close()
    crashed.close()
    let after = DiskFileStorage(in: folder)
    defer { after.close() }
    #expect(try await after.usedBytes(account, by: 1) == used + 60_000)
    let writer = try await after.openWriter(account, begun.id, reserving: 70_000, quota: 100_000)
    #expect(try await after.usedBytes(account, by: 1) == used + 70_000)
    writer.close()
    #expect(try await after.usedBytes(account, by: 1) == used)
  }

  /// Bytes that were lost, as when a backup was put back in part: the upload and the content begin anew.
  @Test("An upload and a content with lost bytes start again") func bytesThatWereLost() async throws {
    let folder = try newFolder()
    let storage = DiskFileStorage(in: folder)
    defer { storage.close() }
    let begun = try await upload(storage, 6)
    let writer = try await storage.openWriter(account, begun.id)
    try [UInt8]([1, 2, 3]).withUnsafeBytes { try writer.append($0) }
    try writer.commit(at: 0, expiry: 1_000, quota: 1 << 40)
    writer.close()
    #expect(truncate(try #require(try files(folder).first), 2) == 0)
    await #expect(throws: FileRefusal.damaged) { _ = try await storage.openWriter(account, begun.id) }
    try await storage.removeUpload(account, begun.id)
    let stored = try await store([1, 2, 3], in: storage)
    #expect(truncate(try #require(try files(folder).first), 2) == 0)
    #expect(try await storage.open(account, stored.name) == nil)
    #expect(try await storage.content(account, stored.name) == nil)
    #expect(try await storage.usedBytes(account, by: 1) == 4_096 + 3, "it is marked and kept")
  }

  /// Names of accounts' files are not those of uploads: knowing one does not tell the other.
  @Test("File names on disk differ from upload ids and content names") func namesOnTheDiskAreTheServersOwn()
    async throws
  {
    let folder = try newFolder()
    let storage = DiskFileStorage(in: folder)
    defer { storage.close() }
    let stored = try await store([1], in: storage)
    let path = try #require(try files(folder).first)
    #expect(!path.contains(stored.id) && !path.contains(stored.name.content))
    #expect(path.contains(/\/[0-9a-f]{2}\/[0-9a-f]{32}$/))
  }
}
