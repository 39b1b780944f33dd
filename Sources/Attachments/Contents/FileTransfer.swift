import CipherSQL
import SealedFiles
import SyncModel
import VaultKeys

/// A file transfer with the data that performing it requires.
package struct FileTransfer: Sendable, Hashable {
  /// The direction of a transfer.
  package enum Direction: String, Sendable {
    case upload, download
  }

  /// The id of the transfer. Ids increase in the order in which transfers were queued.
  package let number: Int64
  package let contentUuid: String
  package let variant: AttachmentVariant
  package let direction: Direction
  /// The server's address of an upload; `nil` before the upload starts.
  package let address: String?
  /// The bytes of an upload that the server is known to have. The server's own offset takes precedence.
  package let bytesDone: Int64
  /// The number of failed attempts.
  package let retryCount: Int
  /// The key of the encrypted file, 32 bytes.
  package let contentKey: [UInt8]
  /// SHA-256 of the plaintext in hexadecimal digits, if known.
  package let digest: String?
  /// The size of the plaintext in bytes, if known. Always `nil` for a thumbnail.
  package let byteCount: Int64?

  package static let columns: SQL = """
    transfer.transferNumber, transfer.contentUuid, transfer.variant, transfer.direction, transfer.address,
    transfer.bytesDone, transfer.retryCount, content.contentKey,
    CASE transfer.variant WHEN 'full' THEN content.digest ELSE content.thumbnailDigest END,
    CASE transfer.variant WHEN 'full' THEN content.byteCount END
    """

  package init(_ row: borrowing Row) throws {
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
  /// The key of the encrypted file.
  package var sealingKey: SealingKey {
    get throws(SealedFileError) {
      var bytes = contentKey
      return try SealingKey(wiping: &bytes)
    }
  }

  /// The identity that the encrypted file must authenticate.
  package var identity: SealedFileIdentity {
    get throws(SealedFileError) { try SealedFileIdentity(contentUuid: contentUuid, variant: variant.sealed) }
  }
}

extension VaultLayout {
  /// Returns the final path of the transferred file. For an upload the file exists; a download creates it.
  package func file(of transfer: FileTransfer) -> String { attachmentFile(transfer.contentUuid, transfer.variant) }

  /// Returns the path of an incomplete download. A download may resume from the bytes in this file.
  package func unfinishedFile(of transfer: FileTransfer) -> String {
    unfinishedAttachment(transfer.contentUuid, transfer.variant)
  }
}
