import HTTPClient
import CipherSQL
import VaultStore
import Pictures
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

extension TransferQueue {
  mutating func send(_ transfer: FileTransfer) async throws -> Verdict {
    let source: UploadSource
    do {
      source = try await self.source(of: transfer)
    } catch let error as SealedFileError {
      return try await refused(transfer, error.message)
    } catch let error as Descriptor.Failure {
      return try await refused(transfer, "the file cannot be read: \(error.text)")
    }
    let vault = vault
    let name = FileName(contentUuid: transfer.contentUuid, variant: transfer.variant)
    let (tell, letDataGoFirst) = (tell, letDataGoFirst)
    @Sendable func told(_ bytes: Int64) -> FileProgress {
      FileProgress(name: name, isUpload: true, bytesDone: bytes, byteCount: source.byteCount)
    }
    let notRemembered = Locked<(any Error)?>(nil)
    let result = await files.send(
      source, name, address: transfer.address, link: link,
      remember: { address in
        do {
          try await vault.sync { try $0.note(address: address, of: transfer) }
        } catch {
          notRemembered.withLock { $0 = error }
          throw error
        }
      },
      progress: { bytes in
        tell(.progress(told(bytes)))
        await letDataGoFirst()
      })
    link = result.link
    if let error = notRemembered.withLock({ $0 }) { throw error }
    let offset = result.offset
    guard let problem = result.problem else {
      return try await finish(transfer, name, wasSent: result.wasSent, told(source.byteCount ?? offset))
    }
    try await store { try $0.note(bytesDone: offset, of: transfer) }
    return try await verdict(of: problem, transfer)
  }

  /// An upload is complete after the server's file was compared with the file on this device. If the server does not
  /// return digests, only a file that this device has sent counts as complete, and it is never evicted.
  private mutating func finish(
    _ transfer: FileTransfer, _ name: FileName, wasSent: Bool, _ progress: FileProgress
  ) async throws -> Verdict {
    let comparison: FileComparison
    do throws(RemoteFailure) {
      comparison = try await compare(transfer, name)
    } catch {
      if error.responseClass == .cancelled { throw CancellationError() }
      return try await interrupted(transfer, .stop(error.responseClass, error.message))
    }
    switch comparison {
    case .same(let sha256): try await store { try $0.uploadCompleted(transfer, compared: sha256) }
    case .unknown where wasSent: try await store { try $0.uploadCompleted(transfer, compared: nil) }
    case .unknown:
      return try await refused(
        transfer, "the server has a file with this name but does not provide its digest")
    case .different:
      // The stored address of the upload led to other bytes.
      try await store { try $0.note(address: nil, of: transfer) }
      return try await failed(transfer, "the server has other content with this name; the file stays on this device")
    }
    report.sent += 1
    tell(.moved(progress))
    return .goOn
  }

  private func compare(_ transfer: FileTransfer, _ name: FileName) async throws(RemoteFailure) -> FileComparison {
    guard let held = try await files.digests(of: [name]) else { return .unknown }
    return await compare(held[name], transfer.contentUuid, transfer.variant, digest: transfer.digest)
  }

  /// Compares the server's file with the file on this device. A file that cannot be read on this device proves
  /// nothing about the server's.
  func compare(
    _ held: FileDigestsResponse.Held?, _ contentUuid: String, _ variant: AttachmentVariant, digest: String?
  ) async -> FileComparison {
    guard held != nil else { return .different }
    let vault = vault
    let path = vault.layout.attachmentFile(contentUuid, variant)
    do {
      let file = try await offload { (bytes: try vault.fileSize(at: path), sha256: try vault.fileDigest(at: path)) }
      return FileComparison(held, byteCount: file.bytes, sha256: file.sha256, digest: digest)
    } catch {
      return .unknown
    }
  }

  /// The bytes to send: the encrypted file, or the decrypted content for a server that processes images.
  private func source(of transfer: FileTransfer) async throws -> UploadSource {
    let path = vault.layout.file(of: transfer)
    let isChosen = try await vault.database.read { try AttachmentSettings.read(from: $0).sendsPlaintext }
    if isChosen || files.takesPlaintext {
      let content = try OpenContent(
        SealedFileReader(path, key: try transfer.sealingKey, identity: try transfer.identity))
      return UploadSource(byteCount: Int64(content.byteCount), contentType: try content.kind().mimeType) {
        offset, buffer in try content.read(at: offset, buffer)
      }
    }
    let file = try OpenSealedFile(path)
    return UploadSource(byteCount: file.byteCount) { offset, buffer in try file.read(at: offset, buffer) }
  }

  private mutating func verdict(of problem: UploadProblem, _ transfer: FileTransfer) async throws -> Verdict {
    switch problem {
    case .transport(.cancelled): throw CancellationError()
    case .transport(.bodyFailed), .unreadable:
      return try await refused(transfer, "the file cannot be read; verify the attachments")
    case .transport(let failure):
      return try await interrupted(transfer, .stop(Self.responseClass(of: failure), failure.message))
    case .storeNotReached: return try await interrupted(transfer, waiting: Self.storePause, .goOn)
    case .later(let seconds): return try await interrupted(transfer, waiting: max(seconds ?? 5, 1), .goOn)
    case .credentials:
      return try await interrupted(transfer, .stop(.pauseCredentials, "the server does not accept the token for files"))
    case .tooLarge: return try await refused(transfer, "the file exceeds the size limit of the server")
    case .notTaken(let what): return try await refused(transfer, "the server refused the file: \(what)")
    case .storeRefused(let status, let code):
      let reason = code.map { ", \($0)" } ?? ""
      return try await failed(transfer, "the object store refused the file (status \(status)\(reason))")
    case .noRoom: return try await refused(transfer, "the server has no space left for the files of this account")
    case .refused(let status): return try await refused(transfer, "the server refused the file (status \(status))")
    case .serverFailed(let status): return try await failed(transfer, "the server failed (status \(status))")
    case .noProgress: return try await failed(transfer, "the server stored different content than was sent")
    case .unexpected: return try await failed(transfer, "the response of the server does not fit the request")
    case .vaultFailed:
      return try await failed(transfer, "the vault could not be read or written; check the vault")
    }
  }
}

/// An encrypted file, sent unchanged.
private final class OpenSealedFile: Sendable {
  let byteCount: Int64
  private let descriptor: Descriptor

  init(_ path: String) throws {
    descriptor = try Descriptor(opening: path, O_RDONLY | O_NOFOLLOW)
    byteCount = Int64(try descriptor.size())
  }

  func read(at offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    try descriptor.read(at: Int(offset), into: buffer)
  }
}

/// The content of an encrypted file. `@unchecked Sendable` holds because the reader is used under the lock only.
private final class OpenContent: @unchecked Sendable {
  let byteCount: Int
  private let reader: SealedFileReader
  private let isReading = Locked(())

  init(_ reader: SealedFileReader) {
    self.reader = reader
    byteCount = reader.byteCount
  }

  /// Returns the media type by the first bytes.
  func kind() throws -> FileKind {
    var first = [UInt8](repeating: 0, count: FileKind.prefixBytes)
    let count = try first.withUnsafeMutableBytes { try read(at: 0, $0) }
    return FileKind(beginning: Array(first.prefix(count)))
  }

  func read(at offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    try isReading.withLock { _ in try reader.read(at: Int(offset), into: buffer) }
  }
}
