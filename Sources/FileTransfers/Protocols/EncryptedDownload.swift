import CipherSQL
import SealedFiles
import VaultKeys

/// The encryption of a file that the server sends unencrypted.
public struct ContentSealing: Sendable {
  let key: SealingKey
  let identity: SealedFileIdentity

  package init(key: SealingKey, identity: SealedFileIdentity) { (self.key, self.identity) = (key, identity) }
}

/// A file that is encrypted while it comes: nothing readable is on the disk at any time. `@unchecked Sendable` holds because
/// the writer is used under the lock alone.
final class EncryptedDownload: DownloadTarget, @unchecked Sendable {
  private var writer: SealedFileWriter
  private let path: String
  private let sealing: ContentSealing
  private let lock = Locked(())

  var byteCount: Int64 { lock.withLock { _ in Int64(writer.plainBytes) } }

  init(_ path: String, _ sealing: ContentSealing) throws(DownloadProblem) {
    (self.path, self.sealing) = (path, sealing)
    do {
      writer = try Self.resume(path, sealing) ?? Self.create(path, sealing)
    } catch {
      throw .notWritten
    }
  }

  /// Returns `nil` if no earlier attempt can be resumed.
  private static func resume(_ path: String, _ sealing: ContentSealing) throws -> SealedFileWriter? {
    guard try SealedFileBeginning(ofFileAt: path) == .unfinished else { return nil }
    do throws(SealedFileError) {
      return try SealedFileWriter.resume(path, key: sealing.key, identity: sealing.identity)
    } catch {
      if [.noSpace, .cannotWrite, .unreadable, .outOfMemory].contains(error.code) { throw error }
      return nil
    }
  }

  private static func create(_ path: String, _ sealing: ContentSealing) throws -> SealedFileWriter {
    try Descriptor.remove(path)
    return try SealedFileWriter(creating: path, key: sealing.key, identity: sealing.identity)
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws { try lock.withLock { _ in try writer.append(bytes) } }

  func empty() throws(DownloadProblem) {
    do {
      try lock.withLock { _ in
        writer.abandon()
        writer = try Self.create(path, sealing)
      }
    } catch {
      throw .notWritten
    }
  }

  func complete() throws(DownloadProblem) {
    do {
      _ = try lock.withLock { _ in try writer.finish() }
    } catch {
      throw .notWritten
    }
  }

  /// Resumes after complete segments, also after a crash.
  func keep() {}
}
