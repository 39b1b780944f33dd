import OfflineStore
import SyncModel

extension FileLane {
  /// Asks the server which of the files that it is thought to have it lacks, when that is due; those are sent again. When it
  /// cannot be asked, the next lane does it.
  func confirm() async throws {
    guard uploads, monitor.state != .offline, try await vault.sync({ try $0.mustConfirmFiles() }) else { return }
    var last = ""
    while true {
      let after = last
      let contents = try await vault.sync { transaction in
        try transaction.filesToConfirm(after: after, limit: MissingFilesRequest.greatestCount / 2)
      }
      guard let end = contents.last?.contentUuid else { break }
      let names = contents.flatMap { content in
        content.variants.map { FileName(contentUuid: content.contentUuid, variant: $0) }
      }
      let missing: Set<FileName>
      do throws(RemoteFailure) {
        missing = try await files.missing(among: names)
      } catch {
        return monitor.report(error.answer)
      }
      if !missing.isEmpty {
        try await vault.sync { transaction in
          for name in missing { try transaction.noteServer(has: false, name.contentUuid, name.variant) }
        }
      }
      last = end
    }
    try await vault.sync { try $0.filesAreConfirmed() }
  }
}
