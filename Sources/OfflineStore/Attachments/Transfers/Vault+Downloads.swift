import CipherSQL
import SealedFiles
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension Vault {
  /// Makes the folder in which the file of a transfer stands, or will.
  package func makeFolder(for transfer: FileTransfer) throws {
    try layout.makeAttachmentFolder(of: transfer.contentUuid)
  }

  /// How many bytes of files the disk has room for, what the database needs left out.
  package func bytesFreeForFiles() throws -> Int64 {
    Int64(try Files.freeBytes(at: layout.folder) - Self.spaceKeptFree)
  }

  /// Takes in what a download has written to ``VaultLayout/unfinishedFile(of:)``, encrypted: verifies it against key and
  /// digest, brings it to the disk, and puts it in its place. Nobody can open it before that. Then room is made, when the
  /// vault's limit asks for that.
  /// - Returns: false when the content is not wanted any more; then the file is removed.
  /// - Throws: ``VaultError`` with `damaged` when it is not the content that the record names, and `refused` when it is of a
  ///   newer format; the file is removed then, and the transfer is still the caller's to end.
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
    guard let bytes = Files.size(of: path) else { throw FileProblem.error(ENOENT, "read", path) }
    try Files.syncFile(path)
    let received = try content.digests[transfer.variant] ?? fileDigest(at: path)
    let isWanted = try database.write { connection in
      try SyncTransaction.run(on: connection, syncCatalog, now: Self.now) {
        try $0.downloadCompleted(transfer, sealedBytes: Int64(bytes), received: received, in: layout)
      }
    }
    evictIfPossible(keeping: transfer.contentUuid)
    return isWanted
  }

  /// Returns the length of a file in bytes.
  package func fileSize(at path: String) throws -> Int64 {
    guard let bytes = Files.size(of: path) else { throw FileProblem.unreadable(path) }
    return Int64(bytes)
  }

  /// Returns the SHA-256 of a file as it stands on the disk, in hexadecimal digits.
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
      throw VaultError(.unreadable, "cannot read \(path): \(error.text)", hint: "check the disk and the permissions")
    }
  }
}
