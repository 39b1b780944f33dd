import CipherSQL
import SealedFiles

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Vault {
  /// Takes a file in: reads it, looks at it if it is a picture, encrypts it under a key of its own, and brings it to the disk. It is not part of any
  /// record yet; see ``PreparedAttachment``. Memory does not grow with the file.
  /// - Parameters:
  ///   - settings: what is done to pictures on the way in; by default what the vault's settings say.
  ///   - progress: called with the bytes that are done and the bytes in all; may throw to end it.
  /// - Throws: ``VaultError`` with `unreadable` when the file cannot be read or does not stay as it is meanwhile, with
  ///   `noSpace` before anything is written where that can be known, with `cannotWrite`. Nothing is left behind then.
  @available(*, noasync, message: "use a thread of your own in asynchronous code")
  public func prepareAttachment(
    from path: String, settings: AttachmentSettings? = nil,
    progress: (_ done: Int, _ total: Int) throws -> Void = { _, _ in }
  ) throws -> PreparedAttachment {
    try prepareAttachment(
      from: path, settings: settings, under: try AttachmentLock(sharing: layout), progress: progress)
  }

  /// Takes a file in under a lock that several share: each has a descriptor, of which a process has not many.
  func prepareAttachment(
    from path: String, settings: AttachmentSettings?, under lock: AttachmentLock,
    progress: (_ done: Int, _ total: Int) throws -> Void
  ) throws -> PreparedAttachment {
    let settings = try settings ?? attachmentSettings()
    let source = try AttachmentSource(path)
    try requireSpace(for: source)
    let intake = ContentEncryption(layout: layout, contentUuid: UUID.version7().sqlText, key: try Self.newKey())
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

  /// Looks whether the file, its thumbnail and the row find room, before anything is written.
  private func requireSpace(for source: AttachmentSource) throws {
    let needed = SealedFileFormat.sealedSize(ofPlain: source.byteCount) + Self.spaceKeptFree
    let free = try Files.freeBytes(at: layout.attachments)
    guard free < needed else { return }
    throw VaultError(
      .noSpace, "\(source.path) needs \(needed) bytes, and \(free) are free where the vault is",
      hint: "free some space and try again; a smaller storage-limit removes files that the server has")
  }

  /// For the thumbnail, and for the database, in which what a person records next has to find room.
  static let spaceKeptFree = 4 << 20
}
