import HTTPClient
import VaultStore
import SyncModel

extension TransferQueue {
  /// Compares the files that the server should have with those on this device, when that is due. Files that the
  /// server lacks, or has with other bytes, are sent again. If the request fails, the next run repeats it.
  func confirm() async throws {
    guard uploads, !network.isOffline, try await vault.sync({ try $0.mustConfirmFiles() }) else { return }
    var last = ""
    while true {
      let after = last
      let batch = try await vault.sync { try $0.filesToConfirm(after: after, limit: FileComparison.greatestCount / 2) }
      guard let end = batch.last?.contentUuid else { break }
      do throws(RemoteFailure) {
        try await confirm(batch)
      } catch {
        return network.report(error.responseClass)
      }
      last = end
    }
    try await vault.sync { try $0.filesAreConfirmed() }
  }

  private func confirm(_ batch: [FileToConfirm]) async throws(RemoteFailure) {
    let names = batch.map { FileName(contentUuid: $0.contentUuid, variant: $0.variant) }
    var outcomes: [(file: FileToConfirm, sha256: String?)] = []
    if let held = try await files.digests(of: names) {
      for (file, name) in zip(batch, names) {
        // A file that was equal once is not read again while the server's digest stays the same.
        if let sha256 = held[name]?.sha256, sha256 == file.compared { continue }
        switch await compare(held[name], file.contentUuid, file.variant, digest: file.digest) {
        case .same(let sha256): outcomes.append((file, sha256))
        case .different: outcomes.append((file, nil))
        case .unknown: continue
        }
      }
    } else {
      let missing = try await files.missing(among: names)
      outcomes = zip(batch, names).filter { missing.contains($0.1) }.map { ($0.0, nil) }
    }
    let noted = outcomes
    do {
      try await vault.sync { transaction in
        for (file, sha256) in noted {
          try transaction.noteServer(has: sha256 != nil, compared: sha256, file.contentUuid, file.variant)
        }
      }
    } catch {
      throw RemoteFailure(.refused, message: "\(error)", remedy: .checkVault)
    }
  }
}
