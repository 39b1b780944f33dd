import HTTPClient
import VaultStore
import Platform

extension TransferQueue {
  mutating func fetch(_ transfer: FileTransfer) async throws -> Verdict {
    let name = FileName(contentUuid: transfer.contentUuid, variant: transfer.variant)
    let tell = tell
    do {
      try vault.makeFolder(for: transfer)
      let sealing = ContentSealing(key: try transfer.sealingKey, identity: try transfer.identity)
      try await files.fetch(name, into: vault.layout.unfinishedFile(of: transfer), sealing) { bytes, whole in
        tell(.progress(FileProgress(name: name, isUpload: false, bytesDone: bytes, byteCount: whole)))
      }
      guard try await accept(transfer) else { return .goOn }
    } catch let problem as DownloadProblem {
      return try await verdict(of: problem, transfer)
    } catch let error as FileError {
      if error.code == .unreadable { return try await failed(transfer, error.message) }
      return try await waits(transfer, error.message)
    } catch let error as VaultError {
      // One file that cannot be stored does not delay the others.
      switch error.code {
      case .damaged, .unreadable: return try await failed(transfer, error.message)
      case .noSpace, .cannotWrite: return try await waits(transfer, error.message)
      case .busy: return try await interrupted(transfer, waiting: 5, .goOn)
      default: return try await refused(transfer, error.message)
      }
    }
    report.fetched += 1
    tell(.moved(FileProgress(name: name, isUpload: false, bytesDone: 0, byteCount: nil)))
    return .goOn
  }

  /// Reads and verifies the complete file, which is slow for large files.
  private func accept(_ transfer: FileTransfer) async throws -> Bool {
    let vault = vault
    return try await offload { try vault.acceptDownload(transfer) }
  }

  private mutating func verdict(of problem: DownloadProblem, _ transfer: FileTransfer) async throws -> Verdict {
    switch problem {
    case .transport(.cancelled): throw CancellationError()
    case .transport(let failure):
      return try await interrupted(transfer, .stop(Self.responseClass(of: failure), failure.message))
    case .storeNotReached: return try await interrupted(transfer, waiting: Self.storePause, .goOn)
    case .later(let seconds): return try await interrupted(transfer, waiting: max(seconds ?? 5, 1), .goOn)
    case .absent:
      try await store { try $0.downloadAbsent(transfer) }
      return .goOn
    case .credentials:
      return try await interrupted(transfer, .stop(.pauseCredentials, "the server refused the token for downloads"))
    case .serverFailed(let status): return try await failed(transfer, "the server failed (status \(status))")
    case .damaged: return try await failed(transfer, "the file on the server is damaged")
    case .notWritten: return try await waits(transfer, "the file could not be written; check the free disk space")
    case .refused(let status): return try await refused(transfer, "the server refused the download (status \(status))")
    }
  }
}
