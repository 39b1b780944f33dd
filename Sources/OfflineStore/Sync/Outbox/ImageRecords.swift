import CipherSQL
import SyncModel

/// Records that go to an API together with their image: the request that sends the image makes the record there.
extension SyncTransaction {
  /// Keeps the id that the API has given a record.
  package func keep(_ id: ServerId, of table: RecordTable, _ uuid: String) throws {
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) SET serverId = \(id.sqlArgument), lastSyncedAt = \(WireTime.text(serverNow))
      WHERE uuid = \(uuid)
      """)
  }

  /// The image cannot be sent, because what it belongs to is gone at the API: the record is one that was never there, and a
  /// person decides.
  package func openImageConflict(of table: RecordTable, _ uuid: String, field: String) throws {
    try connection.execute(
      "UPDATE \(identifier: table.entity.table.name) SET syncVersion = 0, lastSyncedAt = NULL WHERE uuid = \(uuid)")
    guard let record = try table.find(uuid, in: connection), record.syncStatus != "conflict" else { return }
    try openConflict(.deletedRemotely, [field], base: nil, remote: nil, record, table)
  }
}
