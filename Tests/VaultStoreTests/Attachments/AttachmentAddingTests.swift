import CPlatform
import CipherSQL
import Foundation
import Platform
import RestorationModel
import SyncModel
import Testing

@testable import VaultStore

/// A file that is taken in is there whole with its record, or not at all.
@Suite struct AttachmentAddingTests {
  private let bench: AttachmentBench
  private var vault: Vault { bench.vault }

  init() throws { bench = try AttachmentBench() }

  @Test(
    "An attached file returns its content and is stored encrypted with mode 600",
    arguments: [0, 1, 65_535, 65_536, 1 << 20, (1 << 20) + 1, 3_500_000])
  func whatGoesInComesOut(_ size: Int) throws {
    let attachment = try bench.attach(bytes: size)
    let source = try Data(contentsOf: URL(filePath: bench.folder.path + "/a.bin"))
    #expect(try bench.content(attachment) == Array(source))
    let record = try vault.attachment(attachment)
    #expect(record.byteCount == Int64(size))
    #expect(record.fileName == "a.bin")
    #expect(record.full == "here")
    #expect(record.uploadStatus == "pending")
    let stored = try Data(contentsOf: URL(filePath: bench.stored(attachment)))
    #expect(size < 1000 || stored.range(of: source.prefix(64)) == nil)
    #expect(
      try FileManager.default.attributesOfItem(atPath: bench.stored(attachment))[.posixPermissions] as? Int == 0o600)
  }

  @Test("A range of a file is read without the rest, and damage elsewhere does not prevent reading")
  func aPartIsReadWithoutTheRest() throws {
    let attachment = try bench.attach(bytes: 5_000_000)
    let source = try Data(contentsOf: URL(filePath: bench.folder.path + "/a.bin"))
    let reader = try vault.openAttachment(attachment)
    for range in [0..<10, 1_048_570..<1_048_590, 4_999_990..<5_000_000, 2_000_000..<3_200_000] {
      #expect(try reader.read(range) == Array(source[range]))
    }
    #expect(vaultErrorCode { _ = try reader.read(4_999_999..<5_000_001) } == .refused)
    // Damage in one part does not prevent a viewer from reading the others.
    let path = try bench.stored(attachment)
    var bytes = try Data(contentsOf: URL(filePath: path))
    bytes[3_000_000] ^= 1
    try bytes.write(to: URL(filePath: path))
    let again = try vault.openAttachment(attachment)
    #expect(try again.read(0..<10) == Array(source[0..<10]))
    #expect(vaultErrorCode { _ = try again.read(2_999_000..<3_001_000) } == .damaged)
  }

  @Test("A new photo record takes over the references of its owner") func itTakesOverWhatItsOwnerRefersTo() throws {
    let attachment = try bench.attach()
    let photo = try #require(try vault.database.read { try Photo.all.fetchFirst($0) })
    #expect(photo.uuid == attachment)
    #expect(photo.projectId == 1 && photo.roomId == 1 && photo.atmosphericLogId == 1)
    #expect(photo.contentKey?.count == 32)
    #expect(
      photo.localPath == "attachments/\(photo.contentUuid?.sqlText.suffix(2) ?? "")/\(photo.contentUuid?.sqlText ?? "")"
    )
    // It is queued as any other record is.
    #expect(try bench.count("SELECT count(*) FROM OfflineSyncQueue WHERE entityType = 'Photo'") == 1)
  }

  @Test("Attaching to an entity without attachments or to a missing record is refused")
  func aKindOfRecordWithoutAttachmentsIsRefused() throws {
    let material = try vault.database.write { try $0.insert(Material(name: "Oak")) }
    let file = try bench.file("a.bin", bytes: 10)
    #expect(
      vaultErrorCode { _ = try vault.attach([file], to: try vault.entities.entity("Material"), material.uuid) }
        == .refused)
    let nobody = UUID.version7()
    #expect(
      vaultErrorCode { _ = try vault.attach([file], to: try vault.entities.entity("Room"), nobody) } == .noSuchRecord)
    #expect(try bench.files().isEmpty)
  }

  @Test("The same content attached twice is stored once and stays until both records are gone")
  func theSamePhotoTakenInTwiceIsStoredOnce() throws {
    let first = try bench.attach("a.bin")
    let second = try bench.attach("b.bin")
    let other = try bench.attach("c.bin", seed: 2)
    #expect(try bench.files().count == 2)
    #expect(try vault.attachment(first).contentUuid == vault.attachment(second).contentUuid)
    #expect(try vault.attachment(first).contentUuid != vault.attachment(other).contentUuid)
    #expect(try bench.count("SELECT count(DISTINCT contentKey) FROM OfflinePhoto") == 2)
    // One of them goes; the content stays for the other.
    #expect(try vault.removeAttachments([first]) == 1)
    #expect(try bench.content(second).count == 3000)
    #expect(try vault.removeAttachments([second]) == 1)
    #expect(try bench.files().count == 1)
  }

  @Test("Equal files attached in one call are stored once") func inOneCallAsWell() throws {
    let files = [try bench.file("a.bin", bytes: 100), try bench.file("b.bin", bytes: 100)]
    #expect(try vault.attach(files, to: try vault.entities.entity("AtmosphericLog"), bench.log).count == 2)
    #expect(try bench.files().count == 1)
  }

  @Test("A content whose file is missing is stored again") func aContentWhoseFileIsGoneIsStoredAnew() throws {
    let first = try bench.attach("a.bin")
    try FileManager.default.removeItem(atPath: bench.stored(first))
    let second = try bench.attach("b.bin")
    #expect(try bench.content(second).count == 3000)
  }

  @Test("Attaching a prepared file is part of the caller's transaction") func itIsPartOfTheTransactionOfTheCaller()
    throws
  {
    let prepared = try vault.prepareAttachment(from: try bench.file("a.bin", bytes: 2000))
    #expect(try bench.files().map { $0.hasSuffix(".part") } == [true])
    struct Undone: Error {}
    #expect(throws: Undone.self) {
      try vault.database.write { db in
        try prepared.attach(to: "Project", bench.project, in: db)
        throw Undone()
      }
    }
    #expect(try bench.count("SELECT count(*) FROM OfflinePhoto") == 0)
    // While it is held nothing sweeps it, and it may be tried again.
    #expect(try vault.sweepAttachments() == 0)
    let uuid = try vault.database.write { db in
      try prepared.attach(to: "Project", bench.project, fields: [("fileName", .text("hall.jpg"))], in: db)
    }
    #expect(try bench.content(uuid).count == 2000)
    #expect(try vault.attachment(uuid).fileName == "hall.jpg")
    withExtendedLifetime(prepared) {}
  }

  @Test("A prepared file that is not attached leaves no file") func whatWasNotAttachedLeavesNothing() throws {
    do { _ = try vault.prepareAttachment(from: try bench.file("a.bin", bytes: 2000)) }
    #expect(try bench.files().isEmpty)
    // A transaction that fails leaves nothing either.
    let file = try bench.file("b.bin", bytes: 10)
    _ = try vault.database.write {
      try $0.execute("CREATE TRIGGER no BEFORE INSERT ON OfflinePhoto BEGIN SELECT RAISE(ABORT, 'no'); END")
    }
    #expect(throws: (any Error).self) {
      try vault.attach([file], to: try vault.entities.entity("Project"), bench.project)
    }
    #expect(try bench.files().isEmpty)
  }

  @Test("A file that changes while being read is refused by name") func aFileThatChangesWhileItIsReadIsRefusedByName()
    throws
  {
    for (change, says) in [
      ("grow", "changed"), ("shrink", "changed"), ("touch", "changed"), ("remove", "removed"), ("replace", "replaced"),
    ] {
      let path = try bench.file("a.bin", bytes: 3 << 20)
      var isChanged = false
      do {
        _ = try vault.prepareAttachment(from: path) { done, _ in
          guard done > 0, !isChanged else { return }
          isChanged = true
          switch change {
          case "grow":
            let handle = try FileHandle(forWritingTo: URL(filePath: path))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data([1]))
          case "shrink": #expect(truncate(path, 1 << 20) == 0)
          case "touch":
            let handle = try FileHandle(forWritingTo: URL(filePath: path))
            try handle.write(contentsOf: Data([0x55]))
          case "remove": try FileManager.default.removeItem(atPath: path)
          default:
            try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
            try Data(count: 3 << 20).write(to: URL(filePath: path))
          }
        }
        Issue.record("\(change) was not seen")
      } catch let error as VaultError {
        #expect(error.code == .unreadable)
        #expect(error.message.contains(says) && error.message.contains(path), "\(error)")
      }
      try? FileManager.default.removeItem(atPath: path + ".old")
      #expect(try bench.files().isEmpty)
    }
  }

  @Test("A folder, a pipe, a device and a missing file are refused") func whatIsNoFileIsRefused() throws {
    let pipe = bench.folder.path + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    for path in [bench.folder.path, pipe, "/dev/zero", bench.folder.path + "/none"] {
      let error = #expect(throws: FileError.self) { _ = try vault.prepareAttachment(from: path) }
      #expect(error?.code == .unreadable)
    }
    #expect(try bench.files().isEmpty)
  }

  @Test("A cancelled preparation leaves no file") func endingItInTheMiddleLeavesNothing() throws {
    let file = try bench.file("a.bin", bytes: 4 << 20)
    #expect(throws: CancellationError.self) {
      _ = try vault.prepareAttachment(from: file) { done, _ in if done > 2 << 20 { throw CancellationError() } }
    }
    #expect(try bench.files().isEmpty)
  }

  @Test("A file larger than the free space is refused before any write")
  func moreThanTheDiskHasIsRefusedBeforeAnythingIsWritten() throws {
    let path = bench.folder.path + "/sparse"
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    let free = try Files.freeBytes(at: bench.path)
    try #require(truncate(path, off_t(free) + 1) == 0)
    #expect(vaultErrorCode { _ = try vault.prepareAttachment(from: path) } == .noSpace)
    #expect(try bench.files().isEmpty)
  }

  @Test(
    "Any file name is stored unchanged and exported safely",
    arguments: [
      "a\nb.jpg", "\u{1b}[31mred", "../..", " spaces ", "wörter 写真.jpg", "'; DROP TABLE OfflinePhoto; --", "-rf",
    ])
  func anyNameIsTakenAsItIs(_ name: String) throws {
    let plain = name == "../.." ? "dots" : name
    let attachment = try bench.attach(plain, bytes: 10)
    #expect(try vault.attachment(attachment).fileName == plain)
    // As it might come from another device.
    if name != plain {
      _ = try vault.database.write { try $0.execute("UPDATE OfflinePhoto SET fileName = '../../etc/passwd'") }
    }
    let target = bench.folder.path + "/out"
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
    let (path, _) = try vault.exportAttachment(attachment, to: target)
    let names = try FileManager.default.contentsOfDirectory(atPath: target)
    #expect(names.count == 1 && path == target + "/" + names[0])
    #expect(!names[0].contains("\n") && !names[0].contains("/") && !names[0].hasPrefix("."))
  }
}
