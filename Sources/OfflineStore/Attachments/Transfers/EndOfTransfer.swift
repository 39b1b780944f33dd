import CipherSQL
import SyncModel

/// What became of a transfer that ``SyncTransaction/nextUpload()`` or ``SyncTransaction/nextDownload()`` has handed out. Each
/// may be told twice, and of a transfer whose content is gone meanwhile: that changes nothing.
extension SyncTransaction {
  /// A server's refusals of an attempt that a transfer survives before it fails.
  package static let transferRetries = RetryDelay.retries

  /// Keeps where the server takes an upload, before its first byte is sent. Nil forgets it: the upload begins anew.
  package func note(address: String?, of transfer: FileTransfer) throws {
    try connection.execute(
      """
      UPDATE AttachmentTransfer SET address = \(address.sqlArgument),
        bytesDone = CASE WHEN address IS \(address.sqlArgument) THEN bytesDone ELSE 0 END
      WHERE transferNumber = \(transfer.number)
      """)
  }

  /// Keeps how many bytes are on the other side. What has got further counts as no failure any more.
  package func note(bytesDone: Int64, of transfer: FileTransfer) throws {
    try connection.execute(
      """
      UPDATE AttachmentTransfer SET bytesDone = \(max(0, bytesDone)),
        retryCount = CASE WHEN \(bytesDone) > bytesDone THEN 0 ELSE retryCount END
      WHERE transferNumber = \(transfer.number)
      """)
  }

  /// The server has the whole file.
  /// - Parameter digest: SHA-256 of the server's file, in hexadecimal digits, once it was compared with the one here; nil for a
  ///   server that does not tell it. Then the file never makes room here.
  package func uploadCompleted(_ transfer: FileTransfer, compared digest: String?) throws {
    try noteServer(has: true, compared: digest, transfer.contentUuid, transfer.variant)
    try remove(transfer)
  }

  /// Puts a file that was fetched, verified and synced to disk in its place: in this transaction, so that nothing that makes
  /// room or sweeps comes in between. After a crash before the commit it is fetched again.
  /// - Parameters:
  ///   - sealedBytes: what it takes on the disk.
  ///   - received: SHA-256 of the file as it was received, in hexadecimal digits.
  /// - Returns: false when its content is not wanted any more; then the file is removed.
  @discardableResult
  package func downloadCompleted(
    _ transfer: FileTransfer, sealedBytes: Int64, received: String, in layout: VaultLayout
  ) throws -> Bool {
    let part = layout.unfinishedFile(of: transfer)
    guard try isKnown(transfer.contentUuid) else {
      try Files.removeTree(part)
      return false
    }
    try Files.rename(part, to: layout.file(of: transfer))
    try Files.syncFolder(layout.attachmentFolder(of: transfer.contentUuid))
    try AttachmentContentRow.note(
      .here, sealedBytes: sealedBytes, of: transfer.contentUuid, transfer.variant, in: connection)
    // What has just come is not the first to make room.
    if transfer.variant == .full { try AttachmentContentRow.noteUsed(transfer.contentUuid, in: connection) }
    // It was verified against key and digest, so the server's file is compared already.
    try noteServer(has: true, compared: received, transfer.contentUuid, transfer.variant)
    try remove(transfer)
    return true
  }

  /// An attempt failed. The transfer is tried again after ``RetryDelay``, then it counts as failed and is tried less and less often.
  /// - Parameter jitter: 0 to 1, spreads the next tries of devices that failed together.
  package func transferFailed(_ transfer: FileTransfer, _ message: String, jitter: Double) throws {
    guard let retries = try retries(of: transfer) else { return }
    guard retries < Self.transferRetries else { return try transferRefused(transfer, message, jitter: jitter) }
    try wait(
      transfer, RetryDelay.milliseconds(afterRetries: retries, jitter: jitter),
      "retryCount = retryCount + 1, errorMessage = \(message)")
  }

  /// The transfer failed, such as that of a file that the server does not take. What stood in the way may change, such as a quota,
  /// so it is tried again by itself: after an hour, then after twice as long each time, at most every 24 hours.
  package func transferRefused(_ transfer: FileTransfer, _ message: String, jitter: Double = 0) throws {
    guard let retries = try retries(of: transfer) else { return }
    let hours = min(Int64(1) << min(max(retries - Self.transferRetries, 0), 5), 24)
    let delay = Double(hours * 3_600_000) * (1 + min(max(jitter, 0), 1) / 24)
    try connection.execute(
      """
      UPDATE AttachmentTransfer SET status = 'failed', scheduledAt = \(WireTime.text(now + Int64(delay))),
        retryCount = max(retryCount, \(Self.transferRetries)) + 1, errorMessage = \(message)
      WHERE transferNumber = \(transfer.number) AND status = 'running'
      """)
  }

  /// How many attempts of a transfer that is under way have failed.
  private func retries(of transfer: FileTransfer) throws -> Int? {
    try connection.fetchOne(
      "SELECT retryCount FROM AttachmentTransfer WHERE transferNumber = \(transfer.number) AND status = 'running'",
      as: Int.self)
  }

  /// There is no connection, the server asks to wait, or this device cannot do it now: no attempt was lost.
  /// - Parameter message: what a person can do about it; what was said before stays without one.
  package func transferInterrupted(
    _ transfer: FileTransfer, waiting milliseconds: Int64 = 0, message: String? = nil
  ) throws {
    try wait(transfer, milliseconds, "errorMessage = coalesce(\(message.sqlArgument), errorMessage)")
  }

  /// The server does not have the file yet: the device that took it in has not sent it. Asked for again after 30 seconds, then
  /// after twice as long each time, at most every hour, and never given up.
  package func downloadAbsent(_ transfer: FileTransfer) throws {
    guard
      let absences = try connection.fetchOne(
        "SELECT absences FROM AttachmentTransfer WHERE transferNumber = \(transfer.number) AND status = 'running'",
        as: Int.self)
    else { return }
    let seconds = min(Int64(30) << min(absences, 20), 3600)
    try wait(transfer, seconds * 1000, "absences = absences + 1")
  }

  /// Makes downloads due that wait because the server lacked the file.
  /// - Parameter limit: the greatest number of downloads; those with the fewest requests go first.
  package func askForAbsent(limit: Int) throws {
    try connection.execute(
      """
      UPDATE AttachmentTransfer SET scheduledAt = NULL WHERE transferNumber IN (
        SELECT transferNumber FROM AttachmentTransfer
        WHERE direction = 'download' AND status = 'pending' AND absences > 0 AND scheduledAt IS NOT NULL
        ORDER BY absences, transferNumber LIMIT \(limit))
      """)
  }

  /// Takes what the server has, or has not any more: then the file is sent again, where it is here.
  /// - Parameter digest: SHA-256 of the server's file, once it was compared with the one here.
  package func noteServer(
    has: Bool, compared digest: String? = nil, _ contentUuid: String, _ variant: AttachmentVariant
  ) throws {
    let compared = (has ? digest : nil).sqlArgument
    switch variant {
    case .full:
      try connection.execute(
        "UPDATE AttachmentContent SET serverHasFull = \(has), comparedFull = \(compared) WHERE contentUuid = \(contentUuid)"
      )
    case .thumbnail:
      try connection.execute(
        """
        UPDATE AttachmentContent SET serverHasThumbnail = \(has), comparedThumbnail = \(compared)
        WHERE contentUuid = \(contentUuid)
        """)
    }
    if !has { try queueUploads(of: contentUuid) }
  }

  // MARK: Parts

  private func isKnown(_ contentUuid: String) throws -> Bool {
    try connection.fetchOne("SELECT 1 FROM AttachmentContent WHERE contentUuid = \(contentUuid)", as: Int.self) != nil
  }

  private func remove(_ transfer: FileTransfer) throws {
    try connection.execute("DELETE FROM AttachmentTransfer WHERE transferNumber = \(transfer.number)")
  }

  private func wait(_ transfer: FileTransfer, _ milliseconds: Int64, _ changes: SQL) throws {
    let time: SQLArgument = milliseconds > 0 ? .text(WireTime.text(now + milliseconds)) : .null
    try connection.execute(
      """
      UPDATE AttachmentTransfer SET status = 'pending', scheduledAt = \(time), \(changes)
      WHERE transferNumber = \(transfer.number) AND status = 'running'
      """)
  }
}
