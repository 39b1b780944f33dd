import CipherSQL
import Platform
import VaultKeys

extension Vault {
  /// Reads all attachment files and verifies each one against its key and digest. Reports damaged, missing,
  /// orphaned and foreign files.
  /// - Parameter progress: receives the bytes that are done and the bytes in total. It may throw to cancel.
  @available(*, noasync, message: "call this from a dedicated thread in asynchronous code")
  public func verifyAttachments(
    progress: (_ done: Int64, _ total: Int64) throws -> Void = { _, _ in }
  ) throws -> AttachmentVerification {
    try AttachmentVerifier(layout: layout, entities: entities, database: database).run(reading: true, progress)
  }

  /// Queues downloads of the damaged and missing files that the server holds.
  /// - Returns: the number of queued downloads.
  public func fetchAgain(_ problems: [AttachmentProblem]) throws -> Int {
    var count = 0
    for problem in problems where problem.serverHasIt {
      guard let uuid = problem.attachments.first?.contentUuid else { continue }
      let variant: AttachmentVariant = problem.name.hasSuffix(VaultLayout.thumbnailSuffix) ? .thumbnail : .full
      try syncNow { transaction in
        try AttachmentContentRow.note(.absent, sealedBytes: nil, of: uuid, variant, in: transaction.connection)
        try transaction.requestDownload(of: uuid, variant)
      }
      count += 1
    }
    try sweepAttachments()
    return count
  }
}
