import CipherSQL
import SealedFiles

extension AttachmentVariant {
  /// What the room of encrypted files calls it.
  package var sealed: SealedFileVariant { self == .full ? .full : .thumbnail }
}

/// A row of `AttachmentContent` as one who reads its files needs it.
struct SealedContent {
  let uuid: String
  let key: SealingKey
  let digests: [AttachmentVariant: String]
  let presence: [AttachmentVariant: AttachmentContentRow.LocalState]
  let sealedBytes: [AttachmentVariant: Int64]
  let serverHas: [AttachmentVariant: Bool]

  static let columns: SQL = """
    contentUuid, contentKey, digest, thumbnailDigest, full, thumbnail, fullBytes, thumbnailBytes, serverHasFull,
    serverHasThumbnail
    """

  init(_ row: borrowing Row) throws {
    uuid = try row.decode(at: 0)
    var bytes: [UInt8] = try row.decode(at: 1)
    key = try SealingKey(wiping: &bytes)
    var digests: [AttachmentVariant: String] = [:]
    digests[.full] = try row.decode(Optional<String>.self, at: 2)
    digests[.thumbnail] = try row.decode(Optional<String>.self, at: 3)
    self.digests = digests
    let full: String = try row.decode(at: 4)
    let thumbnail: String = try row.decode(at: 5)
    presence = [.full: .init(rawValue: full) ?? .absent, .thumbnail: .init(rawValue: thumbnail) ?? .absent]
    var sealedBytes: [AttachmentVariant: Int64] = [:]
    sealedBytes[.full] = try row.decode(Optional<Int64>.self, at: 6)
    sealedBytes[.thumbnail] = try row.decode(Optional<Int64>.self, at: 7)
    self.sealedBytes = sealedBytes
    serverHas = [.full: try row.decode(at: 8), .thumbnail: try row.decode(at: 9)]
  }

  /// The content of a uuid.
  static func find(_ uuid: String, in connection: Connection) throws -> SealedContent? {
    var found: SealedContent?
    try connection.forEach("SELECT \(columns) FROM AttachmentContent WHERE contentUuid = \(uuid)") { row in
      found = try SealedContent(row)
    }
    return found
  }

  /// Opens a file of it.
  func reader(_ variant: AttachmentVariant, in layout: VaultLayout) throws -> SealedFileReader {
    do throws(SealedFileError) {
      return try reader(variant, at: layout.attachmentFile(uuid, variant))
    } catch {
      throw VaultError(error)
    }
  }

  private func reader(_ variant: AttachmentVariant, at path: String) throws(SealedFileError) -> SealedFileReader {
    try SealedFileReader(
      path, key: key, identity: try SealedFileIdentity(contentUuid: uuid, variant: variant.sealed))
  }

  /// Reads a file of it from front to back.
  /// - Throws: ``VaultError`` with `damaged` when it is not what was written, or not what its record says.
  func verify(_ variant: AttachmentVariant, in layout: VaultLayout) throws {
    try verify(variant, at: layout.attachmentFile(uuid, variant))
  }

  /// The same for a file that does not stand in its place yet.
  func verify(_ variant: AttachmentVariant, at path: String) throws {
    let found: String
    do throws(SealedFileError) {
      found = try reader(variant, at: path).verify()
    } catch {
      throw VaultError(error)
    }
    guard let digest = digests[variant], digest != found else { return }
    throw VaultError(
      .damaged, "\(path) is whole and is not the content that the record names",
      hint: "fieldvault attach verify tells which records it belongs to")
  }
}

extension VaultError {
  /// What an encrypted file says of itself, in the words of a vault.
  init(_ error: SealedFileError) {
    let code: Code =
      switch error.code {
      case .notSealed, .otherContent, .unfinished, .truncated, .appended, .misplaced, .damaged, .notFound, .badKey,
        .badIdentity:
        .damaged
      case .newerFormat, .badRange: .refused
      case .unreadable: .unreadable
      case .noSpace: .noSpace
      case .cannotWrite, .alreadyExists, .outOfMemory: .cannotWrite
      }
    self.init(code, error.message, hint: error.hint)
  }
}
