import Platform
import SealedFiles
import VaultKeys

extension FileRemote {
  /// Downloads a file and writes its content to a new file of mode 0600. Until it is complete and verified, it is encrypted on the
  /// disk, under the name with `.part`.
  /// - Parameters:
  ///   - key: the key of the file in base64, as its record has it; `nil` for a file that devices do not encrypt.
  ///   - path: the path of the new file, whose folder exists.
  /// - Throws: ``DownloadProblem``, with `damaged` for a file that the key does not open.
  public func fetchContent(_ name: FileName, key: String?, to path: String) async throws(DownloadProblem) {
    let (part, identity, sealing): (String, SealedFileIdentity, SealingKey)
    do throws(SealedFileError) {
      identity = try SealedFileIdentity(
        contentUuid: name.contentUuid, variant: name.variant == .full ? .full : .thumbnail)
      var bytes = key.flatMap { Base64.bytes($0.utf8) } ?? []
      sealing = bytes.count == SealingKey.byteCount ? try SealingKey(wiping: &bytes) : try SealingKey.random()
      part = path + ".part"
    } catch {
      throw .notWritten
    }
    try await fetch(name, into: part, ContentSealing(key: sealing, identity: identity)) { _, _ in }
    let reader: SealedFileReader
    do throws(SealedFileError) {
      reader = try SealedFileReader(part, key: sealing, identity: identity)
    } catch {
      throw [.unreadable, .notFound, .outOfMemory].contains(error.code) ? .notWritten : .damaged
    }
    do {
      let file = try OpenFile(creating: path)
      try reader.forEachChunk { try file.write($0) }
      try file.synchronize()
      try Files.removeTree(part)
    } catch is SealedFileError {
      throw .damaged
    } catch {
      throw .notWritten
    }
  }
}
