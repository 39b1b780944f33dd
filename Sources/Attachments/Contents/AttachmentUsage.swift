import CipherSQL

/// The disk usage of the attachment files, and their waiting transfers.
public struct AttachmentUsage: Sendable, Hashable {
  /// The number of contents that records reference.
  public var contents = 0
  /// The bytes that the files occupy on this device's disk.
  public var bytesUsed: Int64 = 0
  /// The bytes that the files may occupy; see ``AttachmentSettings/limit``.
  public var limit: Int64 = 0
  /// The number of queued uploads, and the bytes of them that the server lacks.
  public var waiting = 0, bytesWaiting: Int64 = 0
  /// Transfers with status `failed`: refused, or failed after all retries. They are retried after one hour or more.
  public var failed = 0
  /// Uploads that failed at least once and will be retried.
  public var delayed = 0

  /// Whether the files occupy nine tenths of the limit or more.
  public var isNearLimit: Bool { bytesUsed >= limit / 10 * 9 }

  package static func read(from connection: Connection) throws -> AttachmentUsage {
    var usage = AttachmentUsage()
    usage.contents = try connection.fetchOne("SELECT count(*) FROM AttachmentContent", as: Int.self) ?? 0
    usage.bytesUsed = try bytesUsed(in: connection)
    usage.limit = try AttachmentSettings.read(from: connection).limit
    let waiting = try connection.fetchRows(
      """
      SELECT count(*), coalesce(sum(max(0, coalesce(
        CASE variant WHEN 'full' THEN fullBytes ELSE thumbnailBytes END, 0) - bytesDone)), 0)
      FROM AttachmentTransfer JOIN AttachmentContent USING (contentUuid) WHERE direction = 'upload'
      """, as: Int.self, Int64.self)
    if let row = waiting.first { (usage.waiting, usage.bytesWaiting) = row }
    usage.failed =
      try connection.fetchOne("SELECT count(*) FROM AttachmentTransfer WHERE status = 'failed'", as: Int.self) ?? 0
    usage.delayed =
      try connection.fetchOne(
        "SELECT count(*) FROM AttachmentTransfer WHERE direction = 'upload' AND status = 'pending' AND retryCount > 0",
        as: Int.self) ?? 0
    return usage
  }

  /// Returns the bytes that the files occupy on disk.
  package static func bytesUsed(in connection: Connection) throws -> Int64 {
    try connection.fetchOne(
      """
      SELECT coalesce(sum(CASE full WHEN 'here' THEN coalesce(fullBytes, 0) ELSE 0 END
        + CASE thumbnail WHEN 'here' THEN coalesce(thumbnailBytes, 0) ELSE 0 END), 0) FROM AttachmentContent
      """, as: Int64.self) ?? 0
  }
}
