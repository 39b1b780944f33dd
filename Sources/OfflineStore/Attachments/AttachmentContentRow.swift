import CipherSQL

/// The rows of `AttachmentContent`.
enum AttachmentContentRow {
  /// Whether a file is here.
  enum LocalState: String {
    case absent, here, evicted
  }

  /// Keeps whether a file is here, and what it takes on the disk.
  static func note(
    _ presence: LocalState, sealedBytes: Int64?, of contentUuid: String, _ variant: AttachmentVariant,
    in connection: WriteConnection
  ) throws {
    let bytes = presence == .here ? sealedBytes.sqlArgument : .null
    switch variant {
    case .full:
      try connection.execute(
        "UPDATE AttachmentContent SET full = \(presence.rawValue), fullBytes = \(bytes) WHERE contentUuid = \(contentUuid)"
      )
    case .thumbnail:
      try connection.execute(
        """
        UPDATE AttachmentContent SET thumbnail = \(presence.rawValue), thumbnailBytes = \(bytes)
        WHERE contentUuid = \(contentUuid)
        """)
    }
  }

  /// Queues the files that are here and that the server does not have, the thumbnail first.
  /// - Parameter contentUuid: those of this content; nil for all.
  static func queueUploads(of contentUuid: String?, in connection: WriteConnection) throws {
    let content: SQL = contentUuid.map { "contentUuid = \($0) AND " } ?? ""
    for variant in [AttachmentVariant.thumbnail, .full] {
      try connection.execute(
        """
        INSERT INTO AttachmentTransfer (contentUuid, variant, direction)
        SELECT contentUuid, \(variant.rawValue), 'upload' FROM AttachmentContent AS content
        WHERE \(content)\(unqueued(variant))
        """)
    }
  }

  /// True of an alias `content` whose file is here, and neither at the server nor on its way there.
  static func unqueued(_ variant: AttachmentVariant) -> SQL {
    let isUnsent: SQL =
      variant == .full ? "full = 'here' AND serverHasFull = 0" : "thumbnail = 'here' AND serverHasThumbnail = 0"
    return """
      \(isUnsent) AND NOT EXISTS (SELECT 1 FROM AttachmentTransfer AS transfer
        WHERE transfer.contentUuid = content.contentUuid AND variant = \(variant.rawValue) AND direction = 'upload')
      """
  }

  /// Whether somebody's look at it is to be written down. It is kept to the minute, so that looking is no write as a rule.
  static func isToBeNotedAsUsed(_ contentUuid: String, in connection: Connection) throws -> Bool {
    try connection.fetchOne(
      """
      SELECT usedAt < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 minute') FROM AttachmentContent
      WHERE contentUuid = \(contentUuid)
      """, as: Bool.self) ?? false
  }

  /// Somebody looked at it.
  static func noteUsed(_ contentUuid: String, in connection: WriteConnection) throws {
    try connection.execute(
      """
      UPDATE AttachmentContent SET usedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
      WHERE contentUuid = \(contentUuid)
      """)
  }
}
