import CipherSQL

/// Access to the rows of `AttachmentContent`.
package enum AttachmentContentRow {
  /// The local state of a file: absent, stored on this device, or evicted.
  package enum LocalState: String {
    case absent, here, evicted
  }

  /// Stores whether a file is on this device and the bytes that it occupies on disk. An evicted file keeps its number of
  /// bytes, so that it is fetched again only where it fits.
  package static func note(
    _ presence: LocalState, sealedBytes: Int64?, of contentUuid: String, _ variant: AttachmentVariant,
    in connection: WriteConnection
  ) throws {
    let column = "\(variant.rawValue)Bytes"
    let bytes: SQL =
      switch presence {
      case .here: "\(sealedBytes.sqlArgument)"
      case .evicted: "\(identifier: column)"
      case .absent: "NULL"
      }
    try connection.execute(
      """
      UPDATE AttachmentContent SET \(identifier: variant.rawValue) = \(presence.rawValue), \(identifier: column) = \(bytes)
      WHERE contentUuid = \(contentUuid)
      """)
  }

  /// Queues uploads of the local files that the server lacks, thumbnails first.
  /// - Parameter contentUuid: the content to queue; `nil` for all contents.
  package static func queueUploads(of contentUuid: String?, in connection: WriteConnection) throws {
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

  /// Returns a condition over the alias `content`: the file is local, the server lacks it, and no upload is queued.
  static func unqueued(_ variant: AttachmentVariant) -> SQL {
    let isUnsent: SQL =
      variant == .full ? "full = 'here' AND serverHasFull = 0" : "thumbnail = 'here' AND serverHasThumbnail = 0"
    return """
      \(isUnsent) AND NOT EXISTS (SELECT 1 FROM AttachmentTransfer AS transfer
        WHERE transfer.contentUuid = content.contentUuid AND variant = \(variant.rawValue) AND direction = 'upload')
      """
  }

  /// Returns whether ``noteUsed(_:in:)`` should run. The time of use has a resolution of one minute, so that most
  /// reads of a file write no row.
  package static func isToBeNotedAsUsed(_ contentUuid: String, in connection: Connection) throws -> Bool {
    try connection.fetchOne(
      """
      SELECT usedAt < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 minute') FROM AttachmentContent
      WHERE contentUuid = \(contentUuid)
      """, as: Bool.self) ?? false
  }

  /// Stores the current time as the time of last use.
  package static func noteUsed(_ contentUuid: String, in connection: WriteConnection) throws {
    try connection.execute(
      """
      UPDATE AttachmentContent SET usedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
      WHERE contentUuid = \(contentUuid)
      """)
  }
}
