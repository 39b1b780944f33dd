import CipherSQL
import Outbox

/// Confirmation of the files that the server is thought to hold. This device may have the only other copy of such a
/// file. A server that lost files, or was restored from a backup, receives them again before they are evicted here.
extension SyncTransaction {
  /// Returns whether the server must be asked for its files: once after each full comparison of all records.
  package func mustConfirmFiles() throws -> Bool {
    let last = try SyncSettings.value(.lastReconciliation, in: connection)
    return try last != nil && last != SyncSettings.value(.filesConfirmed, in: connection)
  }

  /// Returns whether the server began an epoch and was not asked for its files since. A restored server may have lost
  /// them.
  func areFilesDoubtful() throws -> Bool {
    try SyncSettings.value(.filesConfirmed, in: connection) == SyncSettings.filesAreDoubtful
  }

  /// Returns the files that are local and that the server is thought to hold, for at most `limit` contents, ordered
  /// by uuid.
  /// - Parameter uuid: the uuid after which the contents begin.
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

  /// Stores that every file was confirmed after the last full comparison.
  package func filesAreConfirmed() throws {
    let last = try SyncSettings.value(.lastReconciliation, in: connection)
    try SyncSettings.set(.filesConfirmed, last, in: connection)
  }
}

/// A local file that the server is thought to hold.
package struct FileToConfirm: Sendable, Hashable {
  package let contentUuid: String
  package let variant: AttachmentVariant
  /// SHA-256 of the server's file at the last comparison; `nil` if it was never compared.
  package let compared: String?
  /// SHA-256 of the plaintext, if known.
  package let digest: String?
}
