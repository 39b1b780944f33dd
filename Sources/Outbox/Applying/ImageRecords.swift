import CipherSQL
import RecordStore
import SyncModel

/// Records that are sent to a REST remote together with their image: the request with the image creates the record on
/// the server.
extension SyncTransaction {
  /// Stores the id that the remote gave to a record.
  package func keep(_ id: ServerId, of table: RecordTable, _ uuid: String) throws {
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) SET serverId = \(id.sqlArgument), lastSyncedAt = \(WireTime.text(serverNow))
      WHERE uuid = \(uuid)
      """)
  }

  /// Opens a conflict for an image that cannot be sent, because its parent is missing at the remote. The record
  /// counts as never sent, and the user decides.
  package func openImageConflict(of table: RecordTable, _ uuid: String, field: String) throws {
    try connection.execute(
      "UPDATE \(identifier: table.entity.table.name) SET syncVersion = 0, lastSyncedAt = NULL WHERE uuid = \(uuid)")
    guard let record = try table.find(uuid, in: connection), record.syncStatus != "conflict" else { return }
    try conflicts.open(.deletedRemotely, [field], base: nil, remote: nil, record, table)
  }
}
