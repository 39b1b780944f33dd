import CipherSQL
import SealedFiles
import SyncModel

/// A file on its way to the server or from it, as the one who moves it needs to know it.
package struct FileTransfer: Sendable, Hashable {
  /// To the server or from it.
  package enum Direction: String, Sendable {
    case upload, download
  }

  /// Names the transfer; higher for those that were wanted later.
  package let number: Int64
  package let contentUuid: String
  package let variant: AttachmentVariant
  package let direction: Direction
  /// Where the server takes the upload; nil until it has begun.
  package let address: String?
  /// What the other side was known to have of an upload when it went on last. The server's word counts.
  package let bytesDone: Int64
  /// Attempts that failed.
  package let retryCount: Int
  /// Opens and seals the file: 32 bytes.
  package let contentKey: [UInt8]
  /// SHA-256 of what is encrypted in the file, in hexadecimal digits, where it is known.
  package let digest: String?
  /// The bytes that are encrypted in the file, where that is known; never known of a thumbnail.
  package let byteCount: Int64?

  static let columns: SQL = """
    transfer.transferNumber, transfer.contentUuid, transfer.variant, transfer.direction, transfer.address,
    transfer.bytesDone, transfer.retryCount, content.contentKey,
    CASE transfer.variant WHEN 'full' THEN content.digest ELSE content.thumbnailDigest END,
    CASE transfer.variant WHEN 'full' THEN content.byteCount END
    """

  init(_ row: borrowing Row) throws {
    number = try row.decode(at: 0)
    contentUuid = try row.decode(at: 1)
    let names: (variant: String, direction: String) = (try row.decode(at: 2), try row.decode(at: 3))
    variant = AttachmentVariant(rawValue: names.variant) ?? .full
    direction = Direction(rawValue: names.direction) ?? .upload
    address = try row.decode(at: 4)
    bytesDone = try row.decode(at: 5)
    retryCount = try row.decode(at: 6)
    contentKey = try row.decode(at: 7)
    digest = try row.decode(at: 8)
    byteCount = try row.decode(at: 9)
  }
}

extension FileTransfer {
  /// What opens and encrypts the file.
  package var sealingKey: SealingKey {
    get throws(SealedFileError) {
      var bytes = contentKey
      return try SealingKey(wiping: &bytes)
    }
  }

  /// Which file it is, as the file itself says it.
  package var identity: SealedFileIdentity {
    get throws(SealedFileError) { try SealedFileIdentity(contentUuid: contentUuid, variant: variant.sealed) }
  }
}

extension VaultLayout {
  /// Where the whole file of a transfer stands: for an upload it is there, for a download it will be.
  package func file(of transfer: FileTransfer) -> String { attachmentFile(transfer.contentUuid, transfer.variant) }

  /// Where a download is written until it is whole. What is there may be gone on with.
  package func unfinishedFile(of transfer: FileTransfer) -> String {
    unfinishedAttachment(transfer.contentUuid, transfer.variant)
  }
}
