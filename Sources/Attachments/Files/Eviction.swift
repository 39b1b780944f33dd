import CipherSQL
import Outbox

extension SyncTransaction {
  /// Evicts files until the remaining files occupy at most `limit` bytes: full files first, then thumbnails, each
  /// by least recent use. A file stays unless the length and digest of the server's file were compared with it.
  /// - Parameter kept: a content that stays because it was just fetched on request.
  /// - Returns: the number of evicted files.
  package func evict(downTo limit: Int64, keeping kept: String?) throws -> Int {
    // A REST remote does not return an evicted file.
    guard try SyncSettings.value(.remoteRoutes, in: connection) == nil, try !areFilesDoubtful() else { return 0 }
    var used = try AttachmentUsage.bytesUsed(in: connection)
    var count = 0
    for variant in AttachmentVariant.allCases {
      while used > limit, let (uuid, bytes) = try oldest(variant, besides: kept ?? "") {
        try AttachmentContentRow.note(.evicted, sealedBytes: nil, of: uuid, variant, in: connection)
        used -= bytes
        count += 1
      }
    }
    return count
  }

  private func oldest(_ variant: AttachmentVariant, besides kept: String) throws -> (uuid: String, bytes: Int64)? {
    let query: SQL =
      variant == .full
      ? """
      SELECT contentUuid, coalesce(fullBytes, 0) FROM AttachmentContent
      WHERE full = 'here' AND serverHasFull = 1 AND comparedFull IS NOT NULL AND contentUuid <> \(kept) ORDER BY usedAt LIMIT 1
      """
      : """
      SELECT contentUuid, coalesce(thumbnailBytes, 0) FROM AttachmentContent
      WHERE thumbnail = 'here' AND serverHasThumbnail = 1 AND comparedThumbnail IS NOT NULL AND contentUuid <> \(kept)
      ORDER BY usedAt LIMIT 1
      """
    return try connection.fetchRows(query, as: String.self, Int64.self).first.map { (uuid: $0.0, bytes: $0.1) }
  }
}
