import CipherSQL
import Platform
import SealedFiles

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Vault {
  /// Reads a file, inspects it if it is a picture, encrypts it under its own key and flushes it to disk. The result
  /// does not belong to a record yet; see ``PreparedAttachment``. Memory use does not grow with the file.
  /// - Parameters:
  ///   - settings: the treatment of pictures; by default the settings of the vault.
  ///   - progress: receives the bytes that are done and the size in bytes. It may throw to cancel.
  /// - Throws: ``VaultError`` with `unreadable` when the file cannot be read or changes while it is read, with
  ///   `noSpace` (if possible before anything is written), or with `cannotWrite`. No file remains after an error.
  @available(*, noasync, message: "call this from a dedicated thread in asynchronous code")
  public func prepareAttachment(
    from path: String, settings: AttachmentSettings? = nil,
    progress: (_ done: Int, _ total: Int) throws -> Void = { _, _ in }
  ) throws -> PreparedAttachment {
    try prepareAttachment(
      from: path, settings: settings, under: try AttachmentLock(sharing: layout), progress: progress)
  }

  /// Prepares a file under a lock that several prepared files share, because each lock needs a file descriptor.
  func prepareAttachment(
    from path: String, settings: AttachmentSettings?, under lock: AttachmentLock,
    progress: (_ done: Int, _ total: Int) throws -> Void
  ) throws -> PreparedAttachment {
    let settings = try settings ?? attachmentSettings()
    let source = try AttachmentSource(path)
    try requireSpace(for: source)
    let intake = ContentEncryption(
      layout: layout, contentUuid: environment.uuids.next().sqlText, key: try Self.newKey())
    do {
      try intake.makeFolder()
      let (full, look) = try intake.seal(source, settings, progress)
      try source.checkUnchanged()
      var parts = [AttachmentVariant.full: full.part]
      if let thumbnail = look.thumbnail {
        parts[.thumbnail] = try intake.seal(.thumbnail) { try $0.append(thumbnail) }.part
      }
      try Files.syncFolder(layout.attachmentFolder(of: intake.contentUuid))
      return PreparedAttachment(
        source, byteCount: full.plainBytes, contentUuid: intake.contentUuid, key: intake.key, parts: parts,
        digest: full.part.digest, look: look, layout: layout, entities: entities, lock: lock)
    } catch {
      intake.abandon()
      if let error = error as? SealedFileError { throw VaultError(error) }
      throw error
    }
  }

  private static func newKey() throws -> SealingKey {
    do throws(SealedFileError) {
      return try SealingKey.random()
    } catch {
      throw VaultError(error)
    }
  }

  /// Checks, before anything is written, that the disk has space for the file, its thumbnail and its row.
  private func requireSpace(for source: AttachmentSource) throws {
    let needed = SealedFileFormat.sealedSize(ofPlain: source.byteCount) + Self.spaceKeptFree
    let free = try Files.freeBytes(at: layout.attachments)
    guard free < needed else { return }
    throw VaultError(
      .noSpace, "\(source.path) requires \(needed) bytes; \(free) are free on the disk of the vault",
      hint: "free some space and try again; a smaller storage-limit evicts files that the server has")
  }

  /// The bytes kept free for the thumbnail and for further writes to the database.
  static let spaceKeptFree = 4 << 20
}
