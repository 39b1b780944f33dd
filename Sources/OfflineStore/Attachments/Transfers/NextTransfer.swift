import CipherSQL
import SyncModel

/// Which file goes next. Only the one that holds the vault's ``SyncLock`` calls these.
///
/// A transfer that was handed out is `running` until its end is told with one of the functions of `EndOfTransfer.swift`;
/// one whose process died is pending again with ``recoverTransfers()``.
extension SyncTransaction {
  /// Transfers that were under way when a worker died wait again. Called once by each new worker, before it asks for any.
  package func recoverTransfers() throws {
    try connection.execute("UPDATE AttachmentTransfer SET status = 'pending' WHERE status = 'running'")
  }

  /// The next file to send: the oldest, and of one content the thumbnail before the rest. Only contents of which the server
  /// has a record that is not deleted; so an upload never comes before its record.
  /// - Parameter time: what has become due until then, in milliseconds since 1970; now when nil.
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

  /// The next file to fetch: what somebody asked for, then the thumbnails that are missing, then, where all files are to be
  /// here, the rest, as far as the limit of the cache allows.
  /// - Parameters:
  ///   - free: what the disk has room for, in bytes; what does not fit waits.
  ///   - time: what has become due until then, in milliseconds since 1970; now when nil.
  package func nextDownload(free: Int64, dueBy time: Int64? = nil) throws -> FileTransfer? {
    guard free > 0 else { return nil }
    if let wanted = try claim(wantedDownload(free, time)) { return wanted }
    let settings = try AttachmentSettings.read(from: connection)
    let room = try settings.limit - AttachmentUsage.bytesUsed(in: connection)
    // Thumbnails that made room come back when a tenth of it is free again.
    let lacking: SQL =
      room > settings.limit / 10 ? "thumbnail <> 'here'" : "thumbnail <> 'here' AND thumbnail = 'absent'"
    if let content = try missing(lacking + " AND thumbnailDigest IS NOT NULL", .thumbnail) {
      return try begin(content, .thumbnail)
    }
    guard settings.fetchesAll,
      let content = try missing("full = 'absent' AND coalesce(byteCount, 0) <= \(min(room, free))", .full)
    else { return nil }
    return try begin(content, .full)
  }

  /// When the next transfer becomes due, after a time, that waits for its own; nil when none does. Milliseconds since 1970.
  package func nextTransferDue(after time: Int64) throws -> Int64? {
    try connection.fetchOne(
      """
      SELECT min(scheduledAt) FROM AttachmentTransfer
      WHERE status IN ('pending', 'failed') AND scheduledAt > \(WireTime.text(time))
      """, as: Optional<String>.self
    ).flatMap { $0 }.flatMap(WireTime.milliseconds)
  }

  /// The longest that a transfer waits for its time, with room for a day of `Retry-After`: what lies further ahead is of
  /// before the clock was set back.
  private static let longestWait: Int64 = 25 * 3_600_000

  private func isDue(_ time: Int64?) -> SQL {
    """
    (transfer.scheduledAt IS NULL OR transfer.scheduledAt <= \(WireTime.text(time ?? now))
      OR transfer.scheduledAt > \(WireTime.text(now + Self.longestWait)))
    """
  }

  /// Downloads that have a row were asked for, or have failed before; those that were asked for go first.
  private func wantedDownload(_ free: Int64, _ time: Int64?) -> SQL {
    """
    transfer.direction = 'download' AND transfer.status IN ('pending', 'failed') AND \(isDue(time))
      AND (transfer.variant = 'thumbnail' OR coalesce(content.byteCount, 0) <= \(free))
      AND CASE transfer.variant WHEN 'full' THEN content.full ELSE content.thumbnail END <> 'here'
    ORDER BY transfer.variant = 'full' AND transfer.retryCount + transfer.absences > 0, transfer.transferNumber
    """
  }

  /// A content that nobody has tried to fetch yet.
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

  /// Takes the first transfer that a condition, with its order, lets pass.
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
