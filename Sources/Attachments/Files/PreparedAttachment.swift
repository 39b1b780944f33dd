import CipherSQL
import Platform
import SchemaModel
import SealedFiles
import VaultKeys

/// An encrypted file on disk that does not belong to a record yet.
///
/// ```swift
/// let photo = try vault.prepareAttachment(from: "IMG_0001.jpg")
/// try await vault.database.write { db in
///   let log = try db.insert(MoistureLog(...))
///   try photo.attach(to: "MoistureLog", log.uuid, in: db)
/// }
/// ```
///
/// - After a crash: the next opening of the vault removes the file, unless a committed record references it.
/// - Threads: one thread at a time. Keep the value until the transaction has committed.
public final class PreparedAttachment {
  /// The display name. It need not be a valid file name.
  public let fileName: String
  /// The size of the stored content in bytes. Smaller than the source file if the picture was recompressed.
  public let byteCount: Int
  /// SHA-256 of the stored content, in hexadecimal digits.
  public let digest: String
  /// The MIME type, detected from the content.
  public var mimeType: String { look.mimeType }
  /// The size in pixels after the orientation is applied; `nil` if the file is not a readable picture.
  public var pixels: (width: Int, height: Int)? {
    guard let width = look.width, let height = look.height else { return nil }
    return (width, height)
  }
  /// The reason why the picture could not be inspected or its location could not be removed; `nil` without a
  /// problem.
  public var note: String? { look.note }

  package struct Part {
    package let path: String
    package let sealedBytes: Int
    package let digest: String
  }

  package let contentUuid: String
  package let key: SealingKey
  package let parts: [AttachmentVariant: Part]
  package let look: InspectedFile
  package let layout: VaultLayout
  package let entities: Entities
  private let lock: AttachmentLock

  package init(
    _ source: AttachmentSource, byteCount: Int, contentUuid: String, key: SealingKey, parts: [AttachmentVariant: Part],
    digest: String, look: InspectedFile, layout: VaultLayout, entities: Entities, lock: AttachmentLock
  ) {
    (fileName, self.byteCount, self.digest) = (source.fileName, byteCount, digest)
    (self.contentUuid, self.key, self.parts, self.look) = (contentUuid, key, parts, look)
    (self.layout, self.entities, self.lock) = (layout, entities, lock)
  }

  /// Removes the files that were not attached. If that fails, the next opening of the vault removes them.
  deinit { abandon() }

  /// Removes the files that were not attached.
  package func abandon() { for part in parts.values { try? Files.removeTree(part.path) } }
}
