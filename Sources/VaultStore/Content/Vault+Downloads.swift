import CipherSQL
import Platform
import SealedFiles
import SyncModel
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Vault {
  /// Creates the folder of a transfer's file.
  package func makeFolder(for transfer: FileTransfer) throws {
    try layout.makeAttachmentFolder(of: transfer.contentUuid)
  }

  /// Returns the free disk space for files in bytes, without the space reserved for the database.
  package func bytesFreeForFiles() throws -> Int64 {
    Int64(try Files.freeBytes(at: layout.folder) - Self.spaceKeptFree)
  }

  /// Accepts the encrypted file that a download wrote to ``VaultLayout/unfinishedFile(of:)``. Verifies it against
  /// key and digest, flushes it to disk and moves it to its final path. The file cannot be opened before that.
  /// Afterwards, evicts other files if the vault's limit requires it.
  /// - Returns: `false` when the content no longer exists; the file is then removed.
  /// - Throws: ``VaultError`` with `damaged` when the file does not match its record, or `refused` when its format
  ///   is newer. The file is then removed, and the caller must end the transfer.
  @discardableResult
  package func acceptDownload(_ transfer: FileTransfer) throws -> Bool {
    let path = layout.unfinishedFile(of: transfer)
    guard let content = try database.read({ try SealedContent.find(transfer.contentUuid, in: $0) }) else {
      try Files.removeTree(path)
      return false
    }
    do {
      try content.verify(transfer.variant, at: path)
    } catch let error as VaultError where error.code == .damaged || error.code == .refused {
      try Files.removeTree(path)
      throw error
    }
    guard let bytes = Files.size(of: path) else { throw FileError("read", path, Descriptor.Failure(number: ENOENT)) }
    try Files.syncFile(path)
    let received = try content.digests[transfer.variant] ?? fileDigest(at: path)
    let isWanted = try database.write { connection in
      try SyncTransaction.run(on: connection, syncCatalog, now: connection.environment.now) {
        try $0.downloadCompleted(transfer, sealedBytes: Int64(bytes), received: received, in: layout)
      }
    }
    evictIfPossible(keeping: transfer.contentUuid)
    return isWanted
  }

  /// Returns the length of a file in bytes.
  package func fileSize(at path: String) throws -> Int64 {
    guard let bytes = Files.size(of: path) else { throw FileError.unreadable(path) }
    return Int64(bytes)
  }

  /// Returns the SHA-256 of the stored bytes of a file, in hexadecimal digits.
  package func fileDigest(at path: String) throws -> String {
    do throws(Descriptor.Failure) {
      let file = try Descriptor(opening: path, O_RDONLY | O_NOFOLLOW)
      let digest = ContentDigest()
      while true {
        let part = try file.chunk(atMost: 1 << 20)
        if part.isEmpty { return digest.finish() }
        part.withUnsafeBytes { digest.add($0) }
      }
    } catch {
      throw FileError.unreadable(path, error)
    }
  }
}

extension Vault {
  /// Makes failed and delayed transfers due at once.
  /// - Parameter attachment: restricts the transfers to one attachment; `nil` for all.
  /// - Returns: the number of transfers.
  /// - Throws: ``VaultError`` with `noSuchRecord`.
  public func retryTransfers(of attachment: UUID? = nil) throws -> Int {
    try syncNow { transaction in
      var content: String?
      if let attachment {
        let record = try AttachmentRecord.find(attachment.sqlText, entities, in: transaction.connection).record
        guard let uuid = record.contentUuid else { return 0 }
        content = uuid
      }
      let count = try transaction.retryTransfers(of: content)
      if count > 0 { try SyncSettings.requestRound(in: transaction.connection) }
      return count
    }
  }
}
