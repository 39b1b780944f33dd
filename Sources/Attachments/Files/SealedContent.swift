import CipherSQL
import SchemaModel
import SealedFiles
import VaultKeys

extension AttachmentVariant {
  /// The corresponding variant in the format of encrypted files.
  package var sealed: SealedFileVariant { self == .full ? .full : .thumbnail }
}

/// The columns of an `AttachmentContent` row that reading its files requires.
package struct SealedContent {
  package let uuid: String
  package let key: SealingKey
  package let digests: [AttachmentVariant: String]
  package let presence: [AttachmentVariant: AttachmentContentRow.LocalState]
  package let sealedBytes: [AttachmentVariant: Int64]
  let serverHas: [AttachmentVariant: Bool]

  package static let columns: SQL = """
    contentUuid, contentKey, digest, thumbnailDigest, full, thumbnail, fullBytes, thumbnailBytes, serverHasFull,
    serverHasThumbnail
    """

  package init(_ row: borrowing Row) throws {
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

  /// Returns the content with a uuid, or `nil`.
  package static func find(_ uuid: String, in connection: Connection) throws -> SealedContent? {
    var found: SealedContent?
    try connection.forEach("SELECT \(columns) FROM AttachmentContent WHERE contentUuid = \(uuid)") { row in
      found = try SealedContent(row)
    }
    return found
  }

  /// Opens a file of the content.
  package func reader(_ variant: AttachmentVariant, in layout: VaultLayout) throws -> SealedFileReader {
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

  /// Reads a file of the content to its end and checks every chunk.
  /// - Throws: ``VaultError`` with `damaged` when the file does not decrypt, or does not match the digest of the
  ///   record.
  package func verify(_ variant: AttachmentVariant, in layout: VaultLayout) throws {
    try verify(variant, at: layout.attachmentFile(uuid, variant))
  }

  /// Verifies a file that is not yet at its final path.
  package func verify(_ variant: AttachmentVariant, at path: String) throws {
    let found: String
    do throws(SealedFileError) {
      found = try reader(variant, at: path).verify()
    } catch {
      throw VaultError(error)
    }
    guard let digest = digests[variant], digest != found else { return }
    throw VaultError(
      .damaged, "\(path) is intact but has a different digest than the record",
      remedy: .findRecordsOfFile)
  }
}

extension VaultError {
  /// Converts an error of an encrypted file to an error of the vault.
  package init(_ error: SealedFileError) {
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
