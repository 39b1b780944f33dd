import CipherSQL
import Outbox
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Requests for transfers, in addition to the transfers that follow from the state of the contents.
extension SyncTransaction {
  /// Queues the download of a file that is not on this device, with precedence. A failed or delayed download
  /// becomes due at once.
  /// - Returns: `false` when the file is already local or the content does not exist.
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

  /// Queues uploads of the local files of a content that the server lacks, thumbnail first.
  package func queueUploads(of contentUuid: String) throws {
    try AttachmentContentRow.queueUploads(of: contentUuid, in: connection)
  }

  /// Makes failed and delayed transfers due at once.
  /// - Parameter contentUuid: restricts the transfers to one content; `nil` for all.
  /// - Returns: the number of transfers.
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

  /// Notes that the vault was pointed at another server, so that ``forgetServersFiles(limit:)`` has work to do.
  package func beginForgettingServersFiles() throws { try SyncSettings.set(.forgottenFile, "", in: connection) }

  /// Forgets which files of some contents a former server holds. Queues local files for upload, marks evicted files as
  /// absent, and discards queued transfers. The other contents follow in further transactions, before the vault syncs with
  /// any server.
  /// - Parameter limit: the most contents, so that the transaction stays short.
  /// - Returns: whether contents may be left.
  package func forgetServersFiles(limit: Int = 500) throws -> Bool {
    guard let first = try SyncSettings.value(.forgottenFile, in: connection) else { return false }
    let found = try connection.fetch(
      "SELECT contentUuid FROM AttachmentContent WHERE contentUuid > \(first) ORDER BY contentUuid LIMIT \(limit)",
      as: String.self)
    let last = found.count < limit ? nil : found.last
    try SyncSettings.set(.forgottenFile, last, in: connection)
    guard let end = found.last else { return false }
    let range: SQL = "contentUuid > \(first) AND contentUuid <= \(end)"
    try connection.execute("DELETE FROM AttachmentTransfer WHERE \(range)")
    try connection.execute(
      """
      UPDATE AttachmentContent SET serverHasFull = 0, serverHasThumbnail = 0, comparedFull = NULL, comparedThumbnail = NULL,
        full = CASE full WHEN 'evicted' THEN 'absent' ELSE full END,
        thumbnail = CASE thumbnail WHEN 'evicted' THEN 'absent' ELSE thumbnail END
      WHERE \(range)
      """)
    let here = try connection.fetch(
      "SELECT contentUuid FROM AttachmentContent WHERE \(range) AND (full = 'here' OR thumbnail = 'here') ORDER BY addedAt",
      as: String.self)
    for content in here { try queueUploads(of: content) }
    return last != nil
  }
}
