import CipherSQL

/// Files that the server is thought to have, and of which only this device may have another copy. A server that lost some,
/// or was put back from a backup, gets them again, before they make room here.
extension SyncTransaction {
  /// Whether the server is to be asked for its files: once after each comparison of all records.
  package func mustConfirmFiles() throws -> Bool {
    let last = try SyncSettings.value(.lastReconciliation, in: connection)
    return try last != nil && last != SyncSettings.value(.filesConfirmed, in: connection)
  }

  /// Some contents with files that are here and that the server is thought to have, in the order of their uuids.
  /// - Parameter uuid: those behind this one.
  package func filesToConfirm(after uuid: String, limit: Int) throws -> [FileToConfirm] {
    let rows = try connection.fetchRows(
      """
      SELECT contentUuid, full = 'here' AND serverHasFull = 1, thumbnail = 'here' AND serverHasThumbnail = 1,
        comparedFull, comparedThumbnail, digest, thumbnailDigest
      FROM AttachmentContent WHERE contentUuid > \(uuid) AND (full = 'here' AND serverHasFull = 1
        OR thumbnail = 'here' AND serverHasThumbnail = 1)
      ORDER BY contentUuid LIMIT \(limit)
      """, as: String.self, Bool.self, Bool.self, Optional<String>.self, Optional<String>.self, Optional<String>.self,
      Optional<String>.self)
    return rows.flatMap { row in
      (row.1 ? [FileToConfirm(contentUuid: row.0, variant: .full, compared: row.3, digest: row.5)] : [])
        + (row.2 ? [FileToConfirm(contentUuid: row.0, variant: .thumbnail, compared: row.4, digest: row.6)] : [])
    }
  }

  /// All of them were asked for.
  package func filesAreConfirmed() throws {
    let last = try SyncSettings.value(.lastReconciliation, in: connection)
    try SyncSettings.set(.filesConfirmed, last, in: connection)
  }
}

/// A file that is here and that the server is thought to have.
package struct FileToConfirm: Sendable, Hashable {
  package let contentUuid: String
  package let variant: AttachmentVariant
  /// SHA-256 of the server's file when it was compared last; nil when it never was.
  package let compared: String?
  /// SHA-256 of what is encrypted in the file, where it is known.
  package let digest: String?
}
