import CipherSQL
import Outbox
import Platform
import SyncModel
import VaultKeys

/// The end of a transfer that ``SyncTransaction/nextUpload(dueBy:)`` or
/// ``SyncTransaction/nextDownload(free:dueBy:)`` returned. Each function can be called again for the same transfer,
/// or after its content was removed; the call then changes nothing.
extension SyncTransaction {
  /// The number of retries before a transfer fails.
  package static let transferRetries = RetryDelay.retries

  /// Stores the server's address of an upload before the first byte is sent. Another address, or `nil`, restarts
  /// the upload at its first byte.
  package func note(address: String?, of transfer: FileTransfer) throws {
    try connection.execute(
      """
      UPDATE AttachmentTransfer SET address = \(address.sqlArgument),
        bytesDone = CASE WHEN address IS \(address.sqlArgument) THEN bytesDone ELSE 0 END
      WHERE transferNumber = \(transfer.number)
      """)
  }

  /// Stores the number of bytes that the server has. Progress resets the retry count.
  package func note(bytesDone: Int64, of transfer: FileTransfer) throws {
    try connection.execute(
      """
      UPDATE AttachmentTransfer SET bytesDone = \(max(0, bytesDone)),
        retryCount = CASE WHEN \(bytesDone) > bytesDone THEN 0 ELSE retryCount END
      WHERE transferNumber = \(transfer.number)
      """)
  }

  /// Stores that the server has the complete file, and removes the transfer.
  /// - Parameter digest: SHA-256 of the server's file, in hexadecimal digits, after a comparison with the local
  ///   file; `nil` if the server does not report a digest. A file without a comparison is not evicted.
  package func uploadCompleted(_ transfer: FileTransfer, compared digest: String?) throws {
    try noteServer(has: true, compared: digest, transfer.contentUuid, transfer.variant)
    try remove(transfer)
  }

  /// Moves a file that was downloaded, verified and flushed to its final path. The move is part of this
  /// transaction, so that no eviction or sweep can run in between. After a crash before the commit the file is
  /// fetched again.
  /// - Parameters:
  ///   - sealedBytes: the size of the encrypted file on disk.
  ///   - received: SHA-256 of the file as received, in hexadecimal digits.
  /// - Returns: `false` when the content no longer exists; the file is then removed.
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
    // Marks the file as used now, so that it is not the next one to be evicted.
    if transfer.variant == .full { try AttachmentContentRow.noteUsed(transfer.contentUuid, in: connection) }
    // The verification against key and digest replaces a comparison with the server's file.
    try noteServer(has: true, compared: received, transfer.contentUuid, transfer.variant)
    try remove(transfer)
    return true
  }

  /// Stores a failed attempt. The transfer is retried after ``RetryDelay``. After ``transferRetries`` retries it
  /// fails and is retried less and less often.
  /// - Parameter jitter: 0 to 1. Spreads the retries of devices that failed together.
  package func transferFailed(_ transfer: FileTransfer, _ message: String, jitter: Double) throws {
    guard let retries = try retries(of: transfer) else { return }
    guard retries < Self.transferRetries else { return try transferRefused(transfer, message, jitter: jitter) }
    try wait(
      transfer, RetryDelay.milliseconds(afterRetries: retries, jitter: jitter),
      "retryCount = retryCount + 1, errorMessage = \(message)")
  }

  /// Marks a transfer as failed, for example because the server refuses the file. The cause may disappear, such as
  /// an exceeded quota. The transfer is therefore retried after one hour, then after twice as long each time, at
  /// most 24 hours. Jitter adds up to 1/24 of the delay.
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

  /// Returns the number of failed attempts of a running transfer, or `nil` if the transfer is not running.
  private func retries(of transfer: FileTransfer) throws -> Int? {
    try connection.fetchOne(
      "SELECT retryCount FROM AttachmentTransfer WHERE transferNumber = \(transfer.number) AND status = 'running'",
      as: Int.self)
  }

  /// Returns a transfer to pending without counting an attempt: the device is offline, the server asks to wait, or
  /// the device cannot continue now.
  /// - Parameter message: the remedy for the user. Without one, the previous message stays.
  package func transferInterrupted(
    _ transfer: FileTransfer, waiting milliseconds: Int64 = 0, message: String? = nil
  ) throws {
    try wait(transfer, milliseconds, "errorMessage = coalesce(\(message.sqlArgument), errorMessage)")
  }

  /// Schedules another request for a file that the server lacks because the device that added it has not sent it.
  /// The delay is 30 seconds and doubles each time, up to one hour. The number of requests is unlimited.
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
  /// - Parameter limit: the maximum number of downloads. Those with the fewest requests come first.
  package func askForAbsent(limit: Int) throws {
    try connection.execute(
      """
      UPDATE AttachmentTransfer SET scheduledAt = NULL WHERE transferNumber IN (
        SELECT transferNumber FROM AttachmentTransfer
        WHERE direction = 'download' AND status = 'pending' AND absences > 0 AND scheduledAt IS NOT NULL
        ORDER BY absences, transferNumber LIMIT \(limit))
      """)
  }

  /// Stores whether the server has a file. If not, a local file is queued for upload.
  /// - Parameter digest: SHA-256 of the server's file, after a comparison with the local file.
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
