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
  package func filesToConfirm(
    after uuid: String, limit: Int
  ) throws -> [(contentUuid: String, variants: [AttachmentVariant])] {
    let rows = try connection.fetchRows(
      """
      SELECT contentUuid, full = 'here' AND serverHasFull = 1, thumbnail = 'here' AND serverHasThumbnail = 1
      FROM AttachmentContent WHERE contentUuid > \(uuid) AND (full = 'here' AND serverHasFull = 1
        OR thumbnail = 'here' AND serverHasThumbnail = 1)
      ORDER BY contentUuid LIMIT \(limit)
      """, as: String.self, Bool.self, Bool.self)
    return rows.map { uuid, full, thumbnail in
      (uuid, (full ? [AttachmentVariant.full] : []) + (thumbnail ? [.thumbnail] : []))
    }
  }

  /// All of them were asked for.
  package func filesAreConfirmed() throws {
    let last = try SyncSettings.value(.lastReconciliation, in: connection)
    try SyncSettings.set(.filesConfirmed, last, in: connection)
  }
}
