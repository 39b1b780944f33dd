import CipherSQL
import Foundation
import RestorationModel
import SQLCipherStorage
import SyncServer
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Photo records, which sync like other records and carry the content key of their file. The files themselves are
/// transferred separately.
@Suite struct AttachmentRecordTests {
  private let server: LocalServer
  private let one: Device
  private let two: Device

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
  }

  /// Attaches a file on the first device. Synchronous, because `Vault.attach` is unavailable in asynchronous code.
  private func attach(_ name: String, to project: UUID) throws -> UUID {
    let path = one.folder.path + "/" + name
    try Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7) }).write(to: URL(filePath: path))
    return try one.vault.attach([path], to: try one.vault.entities.entity("Project"), project)[0]
  }

  private func remove(_ uuid: UUID) throws { _ = try one.vault.removeAttachments([uuid]) }

  private func next(_ device: Device, upload: Bool) throws -> FileTransfer? {
    try device.vault.syncNow { upload ? try $0.nextUpload() : try $0.nextDownload(free: .max) }
  }

  @Test("A photo record carries its content key to other devices, and its upload progress stays local")
  func theKeyArrivesWithTheRecordAndTheServerKeepsCountAlone() async throws {
    let project = try await one.write { try $0.insert(Project(title: "House")).uuid }
    let photo = try attach("a.bin", to: project)
    // The file waits until the server has its record.
    #expect(try next(one, upload: true) == nil)
    try await one.syncRecords()
    let upload = try #require(try next(one, upload: true))
    #expect(upload.variant == .full && upload.byteCount == 5000)
    try await two.syncRecords()
    // The second device has the content row and its key, but not the file.
    let query: SQL = "SELECT uuid || hex(contentKey) || contentDigest || contentUuid FROM OfflinePhoto"
    #expect(try await two.values(query) == (try await one.values(query)))
    #expect(try await two.values("SELECT full || uploadStatus FROM photos") == ["absentpending"])
    #expect(
      try await two.values("SELECT hex(contentKey) || full FROM AttachmentContent") == [
        (try await one.values("SELECT hex(contentKey) FROM AttachmentContent")[0]) + "absent"
      ])
    #expect(try await one.digests() == (try await two.digests()))
    // The upload progress is local, so it adds nothing to the outbox.
    #expect(try await one.value("SELECT count(*) FROM OfflineSyncQueue WHERE completedAt IS NULL", as: Int.self) == 0)
    try await expectNoTransfersAtServer()

    try remove(photo)
    try await one.syncRecords()
    #expect(try await one.value("SELECT count(*) FROM AttachmentContent", as: Int.self) == 0)
    // The round that purged the record also deleted its file.
    #expect(try StoredFile.all(in: one.vault.layout).isEmpty)
    try await two.syncRecords()
    #expect(try await two.value("SELECT count(*) FROM AttachmentContent", as: Int.self) == 0)
  }

  /// The server stores records. Contents and transfers are tables of devices.
  private func expectNoTransfersAtServer() async throws {
    let accounts = server.folder.path + "/data/accounts"
    let folder = try #require(try FileManager.default.contentsOfDirectory(atPath: accounts).first)
    let database = try ServerFolder(server.folder.path + "/data", isCreating: false).openDatabase(
      "accounts/\(folder)/records.db", keyName: "account \(folder)", readers: 1)
    defer { database.close() }
    let tables = try await database.read { connection in
      try connection.fetch("SELECT name FROM sqlite_schema WHERE name GLOB 'Attachment*'", as: String.self)
    }
    #expect(tables.isEmpty)
  }

  @Test("A photo edited here and deleted on another device keeps its file and is restored on both devices")
  func aRecordThatIsDiscardedHereKeepsItsFileWhereItCanComeBack() async throws {
    let project = try await one.write { try $0.insert(Project(title: "House")).uuid }
    let photo = try attach("a.bin", to: project)
    try await one.syncRecords()
    // The second device deletes the photo and the first device changes it. The first device wins.
    try await two.syncRecords()
    try await two.write { _ = try $0.execute("DELETE FROM OfflinePhoto") }
    try await one.write { _ = try $0.execute("UPDATE OfflinePhoto SET fileName = 'roof.jpg'") }
    try await two.syncRecords()
    try await one.syncRecords()
    let content = try #require(try await one.value("SELECT contentUuid FROM AttachmentContent", as: String.self))
    #expect(Files.exists(one.vault.layout.attachmentFile(content, .full)))
    #expect(try await one.values("SELECT uuid FROM OfflinePhoto") == [photo.sqlText])
    // The client wins by policy, so the photo is live again on both devices.
    try await one.syncRecords()
    try await two.syncRecords()
    #expect(try await one.values("SELECT fileName FROM OfflinePhoto WHERE isDeleted = 0") == ["roof.jpg"])
    #expect(try await two.values("SELECT fileName FROM OfflinePhoto WHERE isDeleted = 0") == ["roof.jpg"])
    #expect(try await two.values("SELECT contentUuid FROM AttachmentContent") == [content])
  }
}
