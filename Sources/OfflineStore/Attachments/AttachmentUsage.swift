import CipherSQL

/// What the files of attachments take, and what of them waits.
public struct AttachmentUsage: Sendable, Hashable {
  /// Contents that records refer to.
  public var contents = 0
  /// What their files take on this device's disk, in bytes.
  public var bytesUsed: Int64 = 0
  /// What they may take.
  public var limit: Int64 = 0
  /// Files that the server does not have yet, and their bytes.
  public var waiting = 0, bytesWaiting: Int64 = 0
  /// Transfers that are not tried again by themselves.
  public var failed = 0
  /// Uploads that have failed and are tried again later.
  public var delayed = 0

  /// True from nine tenths of the limit on.
  public var isNearLimit: Bool { bytesUsed >= limit / 10 * 9 }

  static func read(from connection: Connection) throws -> AttachmentUsage {
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

  /// What the files take on the disk.
  static func bytesUsed(in connection: Connection) throws -> Int64 {
    try connection.fetchOne(
      "SELECT coalesce(sum(coalesce(fullBytes, 0) + coalesce(thumbnailBytes, 0)), 0) FROM AttachmentContent",
      as: Int64.self)
      ?? 0
  }
}
