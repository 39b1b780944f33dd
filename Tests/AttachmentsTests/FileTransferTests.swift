import CipherSQL
import Foundation
import Platform
import SyncModel
import TestSupport
import Testing
import VaultStore

@testable import Attachments
import VaultKeys

/// The order of transfers, and their results.
@Suite struct FileTransferTests {
  private let bench: PhotoBench
  private let contents = (0..<4).map(PhotoBench.content)

  init() throws { bench = try PhotoBench() }

  private func name(_ transfer: FileTransfer?) -> String {
    transfer.map { "\($0.variant) \($0.contentUuid.suffix(1))" } ?? "none"
  }

  @Test("Uploads go by age, thumbnails first, and never before their record")
  func uploadsGoByAgeTheThumbnailFirstAndNeverBeforeTheirRecord() throws {
    for (index, content) in contents.enumerated() {
      // The server has the records of the last two.
      try bench.addPhoto(content, isTyped: false, version: index < 2 ? 0 : 1)
      try bench.markHere(content)
    }
    let order = try bench.sync { transaction in try (0..<5).map { _ in name(try transaction.nextUpload()) } }
    #expect(order == ["thumbnail 2", "full 2", "thumbnail 3", "full 3", "none"])
    // The records have come there, and one was deleted since.
    try bench.database.write { db in
      try WriteMode.sync(on: db) {
        try db.execute("UPDATE OfflinePhoto SET syncVersion = 1, isDeleted = photoId = 1")
      }
    }
    let rest = try bench.sync { transaction in try (0..<3).map { _ in name(try transaction.nextUpload()) } }
    #expect(rest == ["thumbnail 1", "full 1", "none"])
  }

  @Test("A transfer in flight at a crash resumes with its address and offset")
  func whatWasUnderWayWhenAWorkerDiedIsTakenAgain() throws {
    try bench.addPhoto(contents[0], isTyped: false, version: 1)
    try bench.markHere(contents[0])
    let first = try #require(try bench.sync { try $0.nextUpload() })
    try bench.sync { transaction in
      try transaction.note(address: "/a", of: first)
      try transaction.note(bytesDone: 300, of: first)
    }
    try bench.sync { try $0.recoverTransfers() }
    let again = try #require(try bench.sync { try $0.nextUpload() })
    #expect(again.number == first.number)
    #expect(again.address == "/a")
    #expect(again.bytesDone == 300)
    // Another upload begins with nothing.
    try bench.sync { try $0.note(address: "/b", of: again) }
    #expect(try bench.count("SELECT bytesDone FROM AttachmentTransfer WHERE address = '/b'") == 0)
  }

  @Test(
    "A failed transfer is tried after at least 1, 2, 4, 8 and 16 s, then counts as failed and is tried less and less often"
  )
  func retriesOfTransfers() throws {
    try bench.addPhoto(contents[0], thumbnail: nil, isTyped: false, version: 1)
    try bench.database.write { db in
      try AttachmentContentRow.note(.here, sealedBytes: 10, of: contents[0], .full, in: db)
      try AttachmentContentRow.queueUploads(of: contents[0], in: db)
    }
    var now: Int64 = 1_000_000
    for seconds in [1, 2, 4, 8, 16] as [Int64] {
      let transfer = try #require(try bench.sync(now: now) { try $0.nextUpload() })
      try bench.sync(now: now) { try $0.transferFailed(transfer, "500", jitter: 0) }
      #expect(try bench.sync(now: now) { try $0.nextTransferDue(after: now) } == now + seconds * 1000)
      #expect(try bench.sync(now: now + seconds * 1000 - 1) { try $0.nextUpload() } == nil)
      now += seconds * 1000
    }
    let last = try #require(try bench.sync(now: now) { try $0.nextUpload() })
    try bench.sync(now: now) { try $0.transferFailed(last, "500", jitter: 0) }
    #expect(try bench.texts("SELECT status FROM AttachmentTransfer") == ["failed"])
    let hour: Int64 = 3_600_000
    for hours in [1, 2, 4, 8, 16, 24, 24] as [Int64] {
      #expect(try bench.texts("SELECT status FROM AttachmentTransfer") == ["failed"])
      #expect(try bench.sync(now: now) { try $0.nextTransferDue(after: now) } == now + hours * hour)
      #expect(try bench.sync(now: now + hours * hour - 1) { try $0.nextUpload() } == nil)
      now += hours * hour
      let again = try #require(try bench.sync(now: now) { try $0.nextUpload() })
      try bench.sync(now: now) { try $0.transferFailed(again, "500", jitter: 0) }
    }
    #expect(try bench.sync { try $0.retryTransfers() } == 1)
    let again = try #require(try bench.sync(now: now) { try $0.nextUpload() })
    #expect(again.retryCount == 0)
  }

  /// Transfers that become due during a run belong to the next run, and a time further ahead than any delay is of
  /// another clock.
  @Test("A transfer is due by a given time, also after the clock moved back") func whatIsDueIsDueByATimeAndByAnyClock()
    throws
  {
    try bench.addPhoto(contents[0], isTyped: false, version: 1)
    try bench.markHere(contents[0])
    let now: Int64 = 1_000_000
    for _ in 0..<2 {
      let transfer = try #require(try bench.sync(now: now) { try $0.nextUpload() })
      try bench.sync(now: now) { try $0.transferInterrupted(transfer, waiting: 1000) }
    }
    #expect(try bench.sync(now: now + 5000) { try $0.nextUpload(dueBy: now + 999) } == nil)
    #expect(try bench.sync(now: now + 5000) { try $0.nextDownload(free: 1 << 30, dueBy: now + 999) } == nil)
    let due = try #require(try bench.sync(now: now + 1000) { try $0.nextUpload(dueBy: now + 1000) })
    let day: Int64 = 86_400_000
    try bench.sync(now: now + 10 * day) { try $0.transferInterrupted(due, waiting: 1000) }
    #expect(try bench.sync(now: now) { try $0.nextUpload() } != nil)
  }

  @Test("A lost connection is no attempt, and progress resets the failure count")
  func aCutIsNoAttemptAndProgressForgivesTheFailuresBeforeIt() throws {
    try bench.addPhoto(contents[0], isTyped: false, version: 1)
    try bench.markHere(contents[0])
    for _ in 0..<20 {
      let transfer = try #require(try bench.sync(now: 5) { try $0.nextUpload() })
      #expect(transfer.retryCount == 0)
      try bench.sync(now: 5) { try $0.transferInterrupted(transfer) }
    }
    let transfer = try #require(try bench.sync(now: 5) { try $0.nextUpload() })
    try bench.sync(now: 5) { try $0.transferFailed(transfer, "x", jitter: 0) }
    #expect(try bench.count("SELECT max(retryCount) FROM AttachmentTransfer") == 1)
    try bench.sync(now: 5) { try $0.note(bytesDone: 10, of: transfer) }
    #expect(try bench.count("SELECT max(retryCount) FROM AttachmentTransfer") == 0)
  }

  @Test("A late response does not change a completed transfer") func lateResponseChangesNothing()
    throws
  {
    try bench.addPhoto(contents[0], isTyped: false, version: 1)
    try bench.markHere(contents[0])
    let transfer = try #require(try bench.sync { try $0.nextUpload() })
    try bench.sync { transaction in
      try transaction.uploadCompleted(transfer, compared: String(repeating: "0", count: 64))
      try transaction.uploadCompleted(transfer, compared: String(repeating: "0", count: 64))
      try transaction.transferFailed(transfer, "late", jitter: 1)
      try transaction.transferInterrupted(transfer)
      try transaction.note(address: "/late", of: transfer)
    }
    #expect(try bench.count("SELECT count(*) FROM AttachmentTransfer WHERE variant = 'thumbnail'") == 0)
    #expect(try bench.count("SELECT serverHasThumbnail FROM AttachmentContent") == 1)
  }

  @Test("Downloads start with requested files, then thumbnails, then the others by the download rule")
  func downloadsBeginWithWhatIsAskedForThenThumbnailsThenTheRestByRule() throws {
    for content in contents { try bench.addPhoto(content, isTyped: false, version: 1) }
    #expect(try bench.sync { try $0.requestDownload(of: contents[3]) })
    let order = try bench.sync { transaction in try (0..<6).map { _ in name(try transaction.nextDownload(free: .max)) }
    }
    #expect(order == ["full 3", "thumbnail 0", "thumbnail 1", "thumbnail 2", "thumbnail 3", "none"])
    try bench.database.write { try SyncSettings.set(.download, "all", in: $0) }
    let all = try bench.sync { transaction in try (0..<4).map { _ in name(try transaction.nextDownload(free: .max)) } }
    #expect(all == ["full 0", "full 1", "full 2", "none"])
  }

  @Test("Automatic downloads respect the storage limit, and requested ones do not")
  func theRuleFetchesNoMoreThanTheLimitAllows() throws {
    for content in contents { try bench.addPhoto(content, thumbnail: nil, isTyped: false, version: 1) }
    try bench.database.write { db in
      try SyncSettings.set(.download, "all", in: db)
      try SyncSettings.set(.storageLimit, "999", in: db)
    }
    #expect(try bench.sync { try $0.nextDownload(free: .max) } == nil)
    #expect(try bench.sync { try $0.requestDownload(of: contents[1]) })
    #expect(name(try bench.sync { try $0.nextDownload(free: .max) }) == "full 1")
  }

  @Test("A file that the server lacks is requested again later, without a limit")
  func whatTheServerDoesNotHaveYetIsAskedForLaterAndNeverGivenUp() throws {
    try bench.addPhoto(contents[0], isTyped: false, version: 1)
    var now: Int64 = 0
    var waits: [Int64] = []
    for _ in 0..<9 {
      let transfer = try #require(try bench.sync(now: now) { try $0.nextDownload(free: .max) })
      try bench.sync(now: now) { try $0.downloadAbsent(transfer) }
      let due = try #require(try bench.sync(now: now) { try $0.nextTransferDue(after: now) })
      waits.append((due - now) / 1000)
      now = due
    }
    #expect(waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600])
    let transfer = try #require(try bench.sync(now: now) { try $0.nextDownload(free: .max) })
    try bench.sync(now: now) { try $0.downloadAbsent(transfer) }
    #expect(try bench.sync(now: now) { try $0.nextDownload(free: .max) } == nil)
    try bench.addPhoto(contents[1], isTyped: false, version: 1)
    let other = try #require(try bench.sync(now: now) { try $0.nextDownload(free: .max) })
    try bench.sync(now: now) { try $0.downloadAbsent(other) }
    // Early, the least often requested one first.
    for (limit, expected) in [(0, "none"), (1, "thumbnail 1"), (1, "thumbnail 0"), (1, "none")] {
      try bench.sync(now: now) { try $0.askForAbsent(limit: limit) }
      #expect(name(try bench.sync(now: now) { try $0.nextDownload(free: .max) }) == expected)
    }
  }

  @Test("After a change of server each local file is queued for upload, in bounded transactions")
  func anotherServerIsSentEverythingThatIsHere()
    throws
  {
    try bench.addPhoto(contents[0], isTyped: false, version: 1)
    try bench.markHere(contents[0])
    try bench.addPhoto(contents[1], isTyped: false, version: 1)
    try bench.sync { transaction in
      while let transfer = try transaction.nextUpload() {
        try transaction.uploadCompleted(transfer, compared: String(repeating: "0", count: 64))
      }
      try transaction.connection.execute(
        "UPDATE AttachmentContent SET full = 'evicted' WHERE contentUuid = \(contents[1])")
      #expect(try !transaction.forgetServer())
      #expect(try !transaction.forgetServersFiles())
      try transaction.beginForgettingServersFiles()
    }
    var parts = 1
    while try bench.sync({ try $0.forgetServersFiles(limit: 1) }) { parts += 1 }
    #expect(parts == 3)
    #expect(
      try bench.texts("SELECT variant || ' ' || direction FROM AttachmentTransfer ORDER BY transferNumber")
        == ["thumbnail upload", "full upload"])
    #expect(try bench.texts("SELECT full FROM AttachmentContent ORDER BY contentUuid") == ["here", "absent"])
    #expect(try bench.texts("SELECT uploadStatus FROM OfflinePhoto ORDER BY photoId") == ["pending", "pending"])
  }

  @Test("A completed download moves into place with its row, and a purged content leaves no file")
  func aDownloadAppearsInItsPlaceWithTheRow() throws {
    let folder = try TemporaryFolder()
    let layout = VaultLayout(folder: folder.path)
    try bench.addPhoto(contents[0], isTyped: false, version: 1)
    let transfer = try #require(try bench.sync { try $0.nextDownload(free: .max) })
    _ = try folder.write("sealed", to: "attachments/00/\(contents[0]).thumbnail.part")
    #expect(
      try bench.sync {
        try $0.downloadCompleted(transfer, sealedBytes: 6, received: String(repeating: "0", count: 64), in: layout)
      })
    #expect(try Files.names(in: layout.attachments + "/00") == [contents[0] + ".thumbnail"])
    #expect(
      try bench.texts("SELECT thumbnail || thumbnailBytes || serverHasThumbnail FROM AttachmentContent") == ["here61"])
    // A content that was purged meanwhile leaves nothing.
    _ = try bench.sync { try $0.requestDownload(of: contents[0]) }
    let full = try #require(try bench.sync { try $0.nextDownload(free: .max) })
    _ = try folder.write("sealed", to: "attachments/00/\(contents[0]).part")
    try bench.database.write { try $0.execute("DELETE FROM AttachmentContent") }
    #expect(
      try !bench.sync {
        try $0.downloadCompleted(full, sealedBytes: 6, received: String(repeating: "0", count: 64), in: layout)
      })
    #expect(try Files.names(in: layout.attachments + "/00") == [contents[0] + ".thumbnail"])
  }

  @Test("A file whose copy at the server was not compared never makes room, and one that the server lost is sent again")
  func onlyComparedFilesMakeRoom() throws {
    try bench.addPhoto(contents[0], thumbnail: nil, isTyped: false, version: 1)
    try bench.database.write { db in
      try AttachmentContentRow.note(.here, sealedBytes: 10, of: contents[0], .full, in: db)
      try AttachmentContentRow.queueUploads(of: contents[0], in: db)
    }
    let transfer = try #require(try bench.sync { try $0.nextUpload() })
    try bench.sync { try $0.uploadCompleted(transfer, compared: nil) }
    #expect(try bench.sync { try $0.evict(downTo: 0, keeping: nil) } == 0)
    let digest = String(repeating: "0", count: 64)
    try bench.sync { try $0.noteServer(has: true, compared: digest, contents[0], .full) }
    let confirmed = try bench.sync { try $0.filesToConfirm(after: "", limit: 10) }
    #expect(confirmed.map(\.compared) == [digest])
    try bench.sync { try $0.noteServer(has: false, contents[0], .full) }
    #expect(try bench.sync { try $0.evict(downTo: 0, keeping: nil) } == 0)
    let again = try #require(try bench.sync { try $0.nextUpload() })
    try bench.sync { try $0.uploadCompleted(again, compared: digest) }
    #expect(try bench.sync { try $0.evict(downTo: 0, keeping: nil) } == 1)
  }

  @Test("Used and waiting bytes are counted") func whatWaitsAndWhatIsUsedIsCounted() throws {
    try bench.addPhoto(contents[0], isTyped: false, version: 1)
    try bench.markHere(contents[0], bytes: 600)
    var usage = try bench.database.read { try AttachmentUsage.read(from: $0) }
    #expect(usage.bytesUsed == 1200)
    #expect(usage.bytesWaiting == 1200)
    #expect(usage.waiting == 2)
    #expect(usage.limit == 2_000_000_000)
    #expect(!usage.isNearLimit)
    let transfer = try #require(try bench.sync { try $0.nextUpload() })
    try bench.sync { try $0.note(bytesDone: 100, of: transfer) }
    try bench.database.write { try SyncSettings.set(.storageLimit, "1300", in: $0) }
    usage = try bench.database.read { try AttachmentUsage.read(from: $0) }
    #expect(usage.bytesWaiting == 1100)
    #expect(usage.isNearLimit)
  }
}
