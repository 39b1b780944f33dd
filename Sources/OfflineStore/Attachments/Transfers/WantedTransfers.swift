import CipherSQL
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What is to be moved, beside what follows from the contents by itself.
extension SyncTransaction {
  /// Has a file fetched, before anything else, that is not here; one whose download has failed is tried again.
  /// - Returns: false when it is here, or there is no such content.
  @discardableResult
  package func requestDownload(of contentUuid: String, _ variant: AttachmentVariant = .full) throws -> Bool {
    let isWanted = try connection.fetchOne(
      """
      SELECT CASE \(variant.rawValue) WHEN 'full' THEN full ELSE thumbnail END <> 'here' FROM AttachmentContent
      WHERE contentUuid = \(contentUuid)
      """, as: Bool.self)
    guard isWanted == true else { return false }
    try connection.execute(
      """
      UPDATE AttachmentTransfer SET scheduledAt = NULL, absences = 0, retryCount = 0, errorMessage = NULL,
        status = CASE status WHEN 'failed' THEN 'pending' ELSE status END
      WHERE contentUuid = \(contentUuid) AND variant = \(variant.rawValue) AND direction = 'download'
      """)
    try connection.execute(
      """
      INSERT INTO AttachmentTransfer (contentUuid, variant, direction)
      SELECT \(contentUuid), \(variant.rawValue), 'download' WHERE NOT EXISTS (SELECT 1 FROM AttachmentTransfer
        WHERE contentUuid = \(contentUuid) AND variant = \(variant.rawValue) AND direction = 'download')
      """)
    return true
  }

  /// Queues the files of a content that are here and that the server does not have, the thumbnail first.
  package func queueUploads(of contentUuid: String) throws {
    try AttachmentContentRow.queueUploads(of: contentUuid, in: connection)
  }

  /// Tries failed transfers again, and those that wait for their time.
  /// - Parameter contentUuid: of this content only; nil for all.
  /// - Returns: how many.
  @discardableResult
  package func retryTransfers(of contentUuid: String? = nil) throws -> Int {
    let which: SQL = contentUuid.map { "AND contentUuid = \($0)" } ?? ""
    try connection.execute(
      """
      UPDATE AttachmentTransfer SET status = 'pending', retryCount = 0, scheduledAt = NULL, errorMessage = NULL
      WHERE (status = 'failed' OR status = 'pending' AND scheduledAt IS NOT NULL) \(which)
      """)
    return connection.changedRowCount
  }

  /// No file is known to be at the server any more: what is here is sent, what is not is asked for again.
  func forgetServersFiles() throws {
    try connection.execute("DELETE FROM AttachmentTransfer")
    try connection.execute(
      """
      UPDATE AttachmentContent SET serverHasFull = 0, serverHasThumbnail = 0, comparedFull = NULL, comparedThumbnail = NULL,
        full = CASE full WHEN 'evicted' THEN 'absent' ELSE full END,
        thumbnail = CASE thumbnail WHEN 'evicted' THEN 'absent' ELSE thumbnail END
      """)
    let here = try connection.fetch(
      "SELECT contentUuid FROM AttachmentContent WHERE full = 'here' OR thumbnail = 'here' ORDER BY addedAt",
      as: String.self)
    for content in here { try queueUploads(of: content) }
  }
}

extension Vault {
  /// Sends and fetches again what has failed, and what waits for its time.
  /// - Parameter attachment: of this attachment only; nil for all.
  /// - Returns: how many files.
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
