import CipherSQL
import Foundation
import RestorationModel
import StoreSupport
import SyncModel
import TestSupport
import VaultKeys

@testable import VaultStore

/// A vault with a project, a room and a reading, and files to take in.
final class AttachmentBench {
  let folder: TemporaryFolder
  let vault: Vault
  let project: UUID
  let log: UUID
  var path: String { folder.path + "/job.vault" }

  init() throws {
    folder = try TemporaryFolder()
    vault = try Vault.create(
      at: folder.path + "/job.vault",
      schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)], secret: keyFileSecret(1))
    (project, log) = try vault.database.write { db in
      let project = try db.insert(Project(title: "Mill Lane"))
      let room = try db.insert(Room(projectId: project.projectId, title: "Attic"))
      let log = try db.insert(
        AtmosphericLog(
          projectId: project.projectId, roomId: room.roomId, date: .nowInMilliseconds(), relativeHumidity: 50,
          temperature: 70))
      return (project.uuid, log.uuid)
    }
  }

  /// A file of random bytes.
  func file(_ name: String, bytes count: Int, seed: UInt64 = 1) throws -> String {
    var random = Seeded(seed)
    let words = (0..<(count + 7) / 8).map { _ in random.next() }
    let data = words.withUnsafeBytes { Data($0) }
    let path = folder.path + "/" + name
    try data.prefix(count).write(to: URL(filePath: path))
    return path
  }

  /// Takes a file in as an attachment of the reading.
  @discardableResult
  func attach(_ name: String = "a.bin", bytes: Int = 3000, seed: UInt64 = 1) throws -> UUID {
    try vault.attach([try file(name, bytes: bytes, seed: seed)], to: try vault.entities.entity("AtmosphericLog"), log)[
      0]
  }

  /// The files in the attachments folder.
  func files() throws -> [String] { try StoredFile.all(in: vault.layout).map(\.name) }

  /// The path of the file of an attachment.
  func stored(_ attachment: UUID, _ variant: AttachmentVariant = .full) throws -> String {
    vault.layout.attachmentFile(try vault.attachment(attachment).contentUuid ?? "", variant)
  }

  func content(_ attachment: UUID) throws -> [UInt8] {
    let reader = try vault.openAttachment(attachment)
    return try reader.read(0..<reader.byteCount)
  }

  /// Says that the server has everything.
  func markAtServer() throws {
    try vault.database.write { db in
      for type in ["Project", "Room", "AtmosphericLog", "Photo"] { try markAsSynced(type, in: db, vault.entities) }
    }
    try vault.syncNow { transaction in
      while let transfer = try transaction.nextUpload() {
        try transaction.uploadCompleted(transfer, compared: String(repeating: "0", count: 64))
      }
    }
  }

  func count(_ sql: SQL) throws -> Int { try vault.database.read { try $0.fetchOne(sql, as: Int.self) ?? 0 } }
}

/// The code of the vault's error that a body throws.
func vaultErrorCode(_ body: () throws -> Void) -> VaultError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? VaultError)?.code
  }
}
