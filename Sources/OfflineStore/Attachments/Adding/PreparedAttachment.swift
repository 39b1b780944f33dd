import CipherSQL
import SealedFiles

/// A file that was taken in: encrypted, on the disk, and not yet part of any record.
///
/// ```swift
/// let photo = try vault.prepareAttachment(from: "IMG_0001.jpg")
/// try await vault.database.write { db in
///   let log = try db.insert(MoistureLog(...))
///   try photo.attach(to: "MoistureLog", log.uuid, in: db)
/// }
/// ```
///
/// - After a crash: without a committed record nothing of it is left after the next time that the vault is opened.
/// - Threads: one thread at a time. Keep it until the transaction has committed.
public final class PreparedAttachment {
  /// A name for people, which need not be one that a file may have.
  public let fileName: String
  /// What is stored, in bytes; less than the file when it was made smaller.
  public let byteCount: Int
  /// SHA-256 of what is stored, in hexadecimal digits.
  public let digest: String
  /// What it is, told by its content.
  public var mimeType: String { look.mimeType }
  /// As the picture is seen, in pixels; nil for what is no picture.
  public var pixels: (width: Int, height: Int)? {
    guard let width = look.width, let height = look.height else { return nil }
    return (width, height)
  }
  /// Why it was taken in without a look at what it shows.
  public var note: String? { look.note }

  struct Part {
    let path: String
    let sealedBytes: Int
    let digest: String
  }

  let contentUuid: String
  let key: SealingKey
  let parts: [AttachmentVariant: Part]
  let look: InspectedFile
  let layout: VaultLayout
  let entities: Entities
  private let lock: AttachmentLock

  init(
    _ source: AttachmentSource, byteCount: Int, contentUuid: String, key: SealingKey, parts: [AttachmentVariant: Part],
    digest: String, look: InspectedFile, layout: VaultLayout, entities: Entities, lock: AttachmentLock
  ) {
    (fileName, self.byteCount, self.digest) = (source.fileName, byteCount, digest)
    (self.contentUuid, self.key, self.parts, self.look) = (contentUuid, key, parts, look)
    (self.layout, self.entities, self.lock) = (layout, entities, lock)
  }

  /// What was not attached goes; when that fails, the vault sweeps it when it is opened next.
  deinit { abandon() }

  /// Removes what was not attached.
  func abandon() { for part in parts.values { try? Files.removeTree(part.path) } }
}
