import CipherSQL
import Outbox
import SyncModel

/// Selects the next file to transfer. Only the holder of the vault's ``SyncLock`` may call these functions.
///
/// A returned transfer is `running` until a function of `EndOfTransfer.swift` ends it. After a crash
/// ``recoverTransfers()`` returns it to pending.
extension SyncTransaction {
  /// Returns running transfers to pending after the process that ran them crashed. Each new worker calls this once,
  /// before it requests a transfer.
  package func recoverTransfers() throws {
    try connection.execute("UPDATE AttachmentTransfer SET status = 'pending' WHERE status = 'running'")
  }

  /// Claims the next file to send: the oldest queued upload. The thumbnail of a content precedes its full file. The
  /// server must already have a record of the content that is not deleted, so that no upload precedes its record.
  /// - Parameter time: includes uploads due until this time, in milliseconds since 1970; `nil` means now.
  package func nextUpload(dueBy time: Int64? = nil) throws -> FileTransfer? {
    let known = catalog.entities.refer(
      to: "transfer.contentUuid", where: "record.syncVersion > 0 AND record.isDeleted = 0")
    return try claim(
      """
      transfer.direction = 'upload' AND transfer.status IN ('pending', 'failed') AND \(isDue(time)) AND \(raw: known)
        AND CASE transfer.variant WHEN 'full' THEN content.full ELSE content.thumbnail END = 'here'
      ORDER BY transfer.transferNumber
      """)
  }

  /// Claims the next file to fetch. Requested files come first, then missing thumbnails. If the settings fetch all
  /// files, the missing full files follow, within the limit for local files.
  /// - Parameters:
  ///   - free: the free disk space for files, in bytes. A full file that does not fit waits.
  ///   - time: includes downloads due until this time, in milliseconds since 1970; `nil` means now.
  package func nextDownload(free: Int64, dueBy time: Int64? = nil) throws -> FileTransfer? {
    guard free > 0 else { return nil }
    if let wanted = try claim(wantedDownload(free, time)) { return wanted }
    let settings = try AttachmentSettings.read(from: connection)
    let room = try settings.limit - AttachmentUsage.bytesUsed(in: connection)
    // An evicted thumbnail is fetched again only if a tenth of the limit stays free behind it. Otherwise it would be
    // evicted again, and the two would repeat for ever.
    let lacking: SQL = """
      thumbnail <> 'here' AND thumbnailDigest IS NOT NULL
        AND (thumbnail = 'absent' OR coalesce(thumbnailBytes, 0) < \(room - settings.limit / 10))
      """
    if let content = try missing(lacking, .thumbnail) { return try begin(content, .thumbnail) }
    guard settings.fetchesAll,
      let content = try missing("full = 'absent' AND coalesce(byteCount, 0) <= \(min(room, free))", .full)
    else { return nil }
    return try begin(content, .full)
  }

  /// Returns the earliest time after `time` at which a scheduled transfer becomes due, in milliseconds since 1970;
  /// `nil` without one.
  package func nextTransferDue(after time: Int64) throws -> Int64? {
    try connection.fetchOne(
      """
      SELECT min(scheduledAt) FROM AttachmentTransfer
      WHERE status IN ('pending', 'failed') AND scheduledAt > \(WireTime.text(time))
      """, as: Optional<String>.self
    ).flatMap { $0 }.flatMap(WireTime.milliseconds)
  }

  /// The longest delay of a transfer, including a `Retry-After` of one day. A time further ahead was stored before
  /// the clock was set back.
  private static let longestWait: Int64 = 25 * 3_600_000

  private func isDue(_ time: Int64?) -> SQL {
    """
    (transfer.scheduledAt IS NULL OR transfer.scheduledAt <= \(WireTime.text(time ?? now))
      OR transfer.scheduledAt > \(WireTime.text(now + Self.longestWait)))
    """
  }

  /// Returns the condition and order of the queued downloads. They were requested, or have failed before. Full
  /// files that failed or were absent at the server come last.
  private func wantedDownload(_ free: Int64, _ time: Int64?) -> SQL {
    """
    transfer.direction = 'download' AND transfer.status IN ('pending', 'failed') AND \(isDue(time))
      AND (transfer.variant = 'thumbnail' OR coalesce(content.byteCount, 0) <= \(free))
      AND CASE transfer.variant WHEN 'full' THEN content.full ELSE content.thumbnail END <> 'here'
    ORDER BY transfer.variant = 'full' AND transfer.retryCount + transfer.absences > 0, transfer.transferNumber
    """
  }

  /// Returns the oldest content that matches a condition and has no queued download.
  private func missing(_ condition: SQL, _ variant: AttachmentVariant) throws -> String? {
    try connection.fetchOne(
      """
      SELECT contentUuid FROM AttachmentContent AS content WHERE \(condition) AND NOT EXISTS (
        SELECT 1 FROM AttachmentTransfer AS transfer
        WHERE transfer.contentUuid = content.contentUuid AND variant = \(variant.rawValue) AND direction = 'download')
      ORDER BY addedAt LIMIT 1
      """, as: String.self)
  }

  private func begin(_ content: String, _ variant: AttachmentVariant) throws -> FileTransfer? {
    try connection.execute(
      """
      INSERT INTO AttachmentTransfer (contentUuid, variant, direction) VALUES (\(content), \(variant.rawValue), 'download')
      """)
    return try claim("transfer.transferNumber = \(connection.lastInsertedRowID)")
  }

  /// Claims the first transfer that matches a condition, in the order that the condition includes.
  private func claim(_ condition: SQL) throws -> FileTransfer? {
    var found: FileTransfer?
    try connection.forEach(
      """
      SELECT \(FileTransfer.columns) FROM AttachmentTransfer AS transfer
      JOIN AttachmentContent AS content ON content.contentUuid = transfer.contentUuid
      WHERE \(condition) LIMIT 1
      """
    ) { row in found = try FileTransfer(row) }
    guard let found else { return nil }
    try connection.execute(
      """
      UPDATE AttachmentTransfer SET status = 'running', lastAttemptAt = \(WireTime.text(now)), scheduledAt = NULL
      WHERE transferNumber = \(found.number)
      """)
    return found
  }
}
