import CipherSQL
import Foundation
import Platform
import RestorationModel
import SyncModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// Attachments when records are deleted and restored, keys are rotated, files are evicted, and vaults are backed up.
@Suite struct AttachmentLifeTests {
  private let bench: AttachmentBench
  private var vault: Vault { bench.vault }

  init() throws { bench = try AttachmentBench() }

  private func states() throws -> [String] {
    try StoredFile.all(in: vault.layout).map { file in
      var status = stat()
      #expect(stat(bench.path + "/" + file.name, &status) == 0)
      return "\(file.name) \(status.st_ino) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(status.st_size)"
    }
  }

  @Test("A key rotation leaves attachment files unchanged") func rotationDoesNotTouchFiles() throws {
    let attachment = try bench.attach(bytes: 100_000)
    let before = try states()
    let content = try bench.content(attachment)
    _ = try vault.rotateKey(.databaseKey)
    _ = try vault.addSlot(keyFileSecret(2))
    _ = try vault.rotateKey(.rootKey(keeping: [keyFileSecret(1), keyFileSecret(2)]))
    #expect(try states() == before)
    #expect(try bench.content(attachment) == content)
    let again = try Vault.open(at: bench.path, with: keyFileSecret(2), schemas: [RestorationSchema.schema])
    defer { again.close() }
    let reader = try again.openAttachment(attachment)
    #expect(try reader.read(0..<reader.byteCount) == content)
  }

  @Test("A deleted photo keeps its file and key until the deletion is purged")
  func aDeletedPhotoComesBackUntilItIsPurged() throws {
    let attachment = try bench.attach()
    try bench.markAtServer()
    #expect(try vault.removeAttachments([attachment]) == 1)
    #expect(vaultErrorCode { _ = try vault.attachment(attachment) } == .noSuchRecord)
    // The server has not been told: file and key are there.
    #expect(try bench.files().count == 1)
    let operations = try vault.database.read {
      try $0.fetch("SELECT operationId FROM OfflineSyncQueue WHERE completedAt IS NULL", as: String.self)
    }
    _ = try vault.discard(operations)
    #expect(try bench.content(attachment).count == 3000)
    // Told and purged: key and file are gone.
    #expect(try vault.removeAttachments([attachment]) == 1)
    try vault.database.write { db in
      try WriteMode.sync(on: db) {
        try db.execute("DELETE FROM OfflineSyncQueue")
        try db.execute("UPDATE OfflinePhoto SET isDirty = 0")
      }
    }
    #expect(try vault.syncNow { try $0.purgeDeleted(limit: 10) } == 1)
    #expect(try bench.count("SELECT count(*) FROM AttachmentContent") == 0)
    #expect(try vault.sweepAttachments() == 1)
    #expect(try bench.files().isEmpty)
  }

  @Test("The database overwrites deleted content") func whatTheDatabaseKeptOfADeletedKeyIsOverwritten() throws {
    #expect(try bench.count("PRAGMA secure_delete") == 1)
    let written = try vault.database.write { try $0.fetchOne("PRAGMA secure_delete", as: Int.self) }
    #expect(written == 1)
  }

  @Test("The photos of a deleted project are restored with the project") func whatGoesWithAProjectComesBackWithIt()
    throws
  {
    let attachment = try bench.attach()
    try bench.markAtServer()
    _ = try vault.delete(try vault.entities.entity("Project"), [bench.project])
    #expect(vaultErrorCode { _ = try vault.openAttachment(attachment) } == .noSuchRecord)
    _ = try vault.sweepAttachments()
    _ = try vault.database.write { try $0.execute("UPDATE OfflineProject SET isDeleted = 0") }
    #expect(try bench.content(attachment).count == 3000)
  }

  @Test("Eviction removes the least recently used files that the server has")
  func roomIsMadeOfWhatTheServerHasAndWasUsedLongestAgo() throws {
    let photos = try (1...4).map { try bench.attach("\($0).bin", bytes: 100_000, seed: UInt64($0)) }
    try bench.markAtServer()
    let unsent = try bench.attach("unsent.bin", bytes: 100_000, seed: 9)
    let contents = try photos.map { try vault.attachment($0).contentUuid ?? "" }
    try vault.database.write { db in
      for (index, content) in contents.enumerated() {
        // The third was looked at last, then the first.
        let minutes = [2, 4, 1, 3][index]
        try db.execute(
          """
          UPDATE AttachmentContent SET usedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', \("-\(minutes) hours"))
          WHERE contentUuid = \(content)
          """)
      }
    }
    try vault.setPreference(.storageLimit, "320KB")
    #expect(try vault.evict() == 2)
    #expect(try photos.map { try vault.attachment($0).full } == ["here", "evicted", "here", "evicted"])
    #expect(try bench.files().count == 3)
    #expect(vaultErrorCode { _ = try vault.openAttachment(photos[1]) } == .notHere)
    // Reading it has asked for it.
    #expect(
      try vault.syncNow { try $0.nextDownload(free: .max) }?.contentUuid == vault.attachment(photos[1]).contentUuid)
    // No file that the server lacks is evicted, whatever the limit is.
    try vault.setPreference(.storageLimit, "0")
    #expect(try vault.evict() == 2)
    #expect(try vault.attachment(unsent).full == "here")
    #expect(try bench.content(unsent).count == 100_000)
  }

  @Test("Eviction keeps the content that was just added") func whatHasJustComeIsNotTheFirstToGo() throws {
    let photo = try bench.attach()
    try bench.markAtServer()
    try vault.setPreference(.storageLimit, "0")
    #expect(try vault.evict(keeping: try vault.attachment(photo).contentUuid) == 0)
    #expect(try vault.attachment(photo).full == "here")
  }

  @Test("A download waits until the disk has enough free space") func whatTheDiskHasNoRoomForWaits() throws {
    let photo = try bench.attach(bytes: 100_000)
    try bench.markAtServer()
    _ = try vault.syncNow { try $0.evict(downTo: 0, keeping: nil) }
    #expect(vaultErrorCode { _ = try vault.openAttachment(photo) } == .notHere)
    #expect(try vault.syncNow { try $0.nextDownload(free: 99_999) } == nil)
    #expect(try vault.syncNow { try $0.nextDownload(free: 100_000) } != nil)
  }

  @Test("The error for a file that only the server has names the way to fetch it")
  func wayToFetch() throws {
    let photo = try bench.attach()
    try bench.markAtServer()
    _ = try vault.syncNow { try $0.evict(downTo: 0, keeping: nil) }
    func remedy() -> Remedy? { #expect(throws: VaultError.self) { _ = try vault.openAttachment(photo) }?.remedy }
    #expect(remedy() == .setRemoteAndSync)
    try vault.setRemote(url: "http://127.0.0.1:9", token: "t")
    #expect(remedy() == .syncRequestedFile)
    try vault.setPreference(.mode, "device")
    #expect(remedy() == .leaveDeviceModeAndSync)
  }

  /// The record has another content from now on: the key of the old one is removed, and its file afterwards.
  @Test("A record that loses its content loses the key and the file") func anotherContentShredsTheFormerOne() throws {
    let photo = try bench.attach()
    try vault.database.write { db in
      _ = try db.execute("UPDATE OfflinePhoto SET contentUuid = NULL, contentKey = NULL, contentDigest = NULL")
    }
    #expect(try bench.count("SELECT count(*) FROM AttachmentContent") == 0)
    #expect(try bench.count("SELECT count(*) FROM AttachmentTransfer") == 0)
    #expect(try vault.sweepAttachments() == 1)
    #expect(try vault.attachment(photo).contentUuid == nil)
  }

  /// A salvaged vault has the record and the file, and does not know that they belong together.
  @Test("A sweep recognizes a stored file without a digest by its key and queues the upload")
  func aFileThatItsKeyOpensIsTakenInWithoutADigest() throws {
    let photo = try bench.attach()
    try vault.database.write { db in
      _ = try db.execute("DELETE FROM AttachmentTransfer")
      _ = try db.execute("UPDATE AttachmentContent SET full = 'absent', fullBytes = NULL, digest = NULL")
    }
    #expect(try vault.sweepAttachments() == 0)
    #expect(try vault.attachment(photo).full == "here")
    #expect(try bench.count("SELECT count(*) FROM AttachmentTransfer WHERE direction = 'upload'") == 1)
  }

  /// Nothing says any more that a file is to be sent: the doctor does.
  @Test("A file that is neither at the server nor queued is found and queued") func aFileThatIsNotOnItsWayIsFound()
    throws
  {
    try bench.attach()
    #expect(
      try vault.database.read { try VaultInvariants.violations(vault.syncCatalog, in: $0) } == [])
    try vault.database.write { _ = try $0.execute("DELETE FROM AttachmentTransfer") }
    let found = try vault.database.read { try VaultInvariants.violations(vault.syncCatalog, in: $0) }
    #expect(found == ["1 file is neither on the server nor queued for upload"])
    try vault.database.write { try VaultInvariants.restore(vault.syncCatalog, on: $0) }
    #expect(try bench.count("SELECT count(*) FROM AttachmentTransfer WHERE direction = 'upload'") == 1)
  }

  /// Neither a conflict nor an operation contains the key, and a purged record leaves no key behind.
  @Test("Neither conflicts nor operations contain content keys") func keysStandInTheirRecordsAlone() throws {
    let photo = try bench.attach()
    try vault.database.write { db in
      try db.execute(
        """
        INSERT INTO OfflineConflictResolution (entityType, entityId, entityUuid, base, localVersion, conflictType)
        SELECT 'Photo', photoId, uuid, json_object('contentKey', 'abc', 'fileName', 'a'),
          json_object('contentKey', 'abc', 'fileName', 'b', 'isDeleted', json('false'), 'syncVersion', 1,
            'updatedAt', '2026-01-01T00:00:00.000Z'), 'concurrent_edit' FROM OfflinePhoto
        """)
    }
    let conflict = try #require(try vault.conflicts().first)
    #expect(conflict.base == #"{"fileName":"a"}"#)
    #expect(conflict.localVersion.contains("fileName") && !conflict.localVersion.contains("contentKey"))
    var operation = ""
    try vault.forEachOperation { if $0.entityUuid == photo.sqlText { operation = $0.operationId } }
    let payload = try #require(try vault.operation(operation).payload)
    #expect(payload.contains("contentDigest") && !payload.contains("contentKey"))
    try vault.database.write { db in
      try db.execute("UPDATE OfflineConflictResolution SET resolvedAt = detectedAt, resolution = 'manual'")
    }
    _ = try vault.removeAttachments([photo])
    #expect(try bench.count("SELECT count(*) FROM OfflinePhoto") == 0)
    #expect(
      try bench.count(
        "SELECT count(*) FROM OfflineConflictResolution WHERE base || localVersion LIKE '%contentKey%'") == 0)
  }

  @Test("The next opening completes an eviction that crashed between the row and the file")
  func aRunThatDiedBetweenTheRowAndTheFileIsFinishedAtTheNextOpening() throws {
    let photo = try bench.attach()
    try bench.markAtServer()
    #expect(try vault.syncNow { try $0.evict(downTo: 0, keeping: nil) } == 1)
    #expect(try bench.files().count == 1)
    try Vault.open(at: bench.path, with: keyFileSecret(1), schemas: [RestorationSchema.schema]).close()
    #expect(try bench.files().isEmpty)
    #expect(try vault.attachment(photo).full == "evicted")
  }

  /// A commit that reached the log and not the disk fails, and comes back after a crash, for which its file would have to be
  /// there still.
  @Test("A failed commit never leaves a row whose file was removed")
  func noRowOfAFailedCommitComesBackToAFileThatWasSwept() throws {
    let other = VaultLayout(folder: bench.folder.path + "/other.vault")
    try copy(vault.layout, to: other)
    let sweeping = try open(other)
    defer { sweeping.close() }
    let log = vault.layout.database(generation: 1) + "-wal"
    let known = try Data(contentsOf: URL(filePath: log)).count
    try bench.attach()
    // The failed operation was the one of this test.
    let file = try #require(try bench.files().first)
    try FileManager.default.createDirectory(
      atPath: Files.parent(of: other.folder + "/" + file), withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: bench.path + "/" + file, toPath: other.folder + "/" + file)
    let target = try FileHandle(forWritingTo: URL(filePath: other.database(generation: 1) + "-wal"))
    try target.seekToEnd()
    try target.write(contentsOf: try Data(contentsOf: URL(filePath: log))[known...])
    try target.close()
    #expect(try attachmentsAfterACrash(of: other) == 1)
    #expect(try sweeping.sweepAttachments() == 1)
    #expect(try attachmentsAfterACrash(of: other) == 0)
  }

  private func copy(_ from: VaultLayout, to: VaultLayout) throws {
    try FileManager.default.copyItem(atPath: from.folder, toPath: to.folder)
    try FileManager.default.removeItem(atPath: to.database(generation: 1) + "-shm")
  }

  private func open(_ layout: VaultLayout) throws -> Vault {
    try Vault.open(at: layout.folder, with: keyFileSecret(1), schemas: [RestorationSchema.schema])
  }

  private func attachmentsAfterACrash(of layout: VaultLayout) throws -> Int {
    let crashed = VaultLayout(folder: bench.folder.path + "/crashed.vault")
    try copy(layout, to: crashed)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: crashed.folder) } }
    let vault = try open(crashed)
    defer { vault.close() }
    #expect(try vault.verifyAttachments().problems.isEmpty)
    return try vault.database.read { try $0.fetchOne("SELECT count(*) FROM OfflinePhoto", as: Int.self) ?? 0 }
  }

  @Test("An evicted content that is attached again becomes a new content")
  func anEvictedContentIsTakenInAgainAsANewOne() throws {
    let photo = try bench.attach()
    try bench.markAtServer()
    _ = try vault.syncNow { try $0.evict(downTo: 0, keeping: nil) }
    _ = try vault.sweepAttachments()
    let again = try bench.attach()
    #expect(try bench.content(again).count == 3000)
    #expect(try vault.attachment(photo).contentUuid != vault.attachment(again).contentUuid)
  }

  @Test("A backup contains the attachments, and the restored vault opens them")
  func aBackupHasThemAndTheyOpenInTheRestoredVault() throws {
    let attachment = try bench.attach(bytes: 2_000_000)
    let content = try bench.content(attachment)
    try Data("small".utf8).write(to: URL(filePath: bench.stored(attachment) + ".thumbnail"))
    _ = try vault.backUp(to: bench.folder.path + "/b") { _, _ in
      // While it is copied nothing goes.
      let swept = try vault.sweepAttachments()
      #expect(swept == 0)
    }
    try Vault.restore(bench.folder.path + "/b", to: bench.folder.path + "/again.vault", with: keyFileSecret(1))
    let restored = VaultLayout(folder: bench.folder.path + "/again.vault")
    #expect(try StoredFile.all(in: restored).count == 2)
    let again = try Vault.open(at: restored.folder, with: keyFileSecret(1), schemas: [RestorationSchema.schema])
    defer { again.close() }
    let reader = try again.openAttachment(attachment)
    #expect(try reader.read(0..<reader.byteCount) == content)
    #expect(try again.verifyAttachments().problems.isEmpty)
    // The thumbnail of no row went when the vault was opened.
    #expect(try StoredFile.all(in: restored).count == 1)
  }

  @Test("An export overwrites a file only when asked") func anExportOverwritesNothingWithoutBeingTold() throws {
    let attachment = try bench.attach()
    let target = bench.folder.path + "/mine"
    try Data("mine".utf8).write(to: URL(filePath: target))
    #expect(vaultErrorCode { _ = try vault.exportAttachment(attachment, to: target) } == .alreadyExists)
    #expect(try Data(contentsOf: URL(filePath: target)) == Data("mine".utf8))
    let (path, count) = try vault.exportAttachment(attachment, to: target, overwrites: true)
    #expect(path == target && count == 3000)
    #expect(try Array(Data(contentsOf: URL(filePath: target))) == bench.content(attachment))
    #expect(try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions] as? Int == 0o600)
  }

  @Test(
    "A storage limit accepts decimal and binary units",
    arguments: [
      ("2GB", 2_000_000_000), ("500 MB", 500_000_000), ("4GiB", 4 << 30), ("0", 0), ("123", 123),
      ("1tb", 1_000_000_000_000),
    ] as [(String, Int64)])
  func aLimitIsReadAsPeopleWriteIt(_ text: String, _ bytes: Int64) throws {
    try vault.setPreference(.storageLimit, text)
    #expect(try vault.attachmentSettings().limit == bytes)
    #expect(ByteCount.parse(try vault.preference(.storageLimit)) == bytes)
  }

  @Test("An invalid storage limit is refused", arguments: ["", "GB", "-1", "1.5GB", "1XB", "99999999999TB"])
  func otherLimitsAreRefused(_ text: String) throws {
    #expect(vaultErrorCode { try vault.setPreference(.storageLimit, text) } == .badValue)
  }
}
