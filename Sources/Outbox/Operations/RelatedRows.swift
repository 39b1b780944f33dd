import CipherSQL
import RecordStore

/// Which other tables have rows of an operation's record, read in the statement that reads the operation. Most records have none, and a
/// query for each table would cost more than its result.
///
/// `true` also means unknown, which costs a query and nothing else. An operation finds its own row too, so a sealed operation asks
/// for the pending one and a pending operation for the sealed one.
struct RelatedRows: Sendable {
  /// A row of `SyncBase`.
  var hasBase = true
  /// A pending operation.
  var hasPending = true
  /// An operation with a payload.
  var hasSealed = true
  /// Rows of `SyncMoved` or `SyncCascade`.
  var hasFamily = true

  /// The number of columns in ``columns``.
  static let count: Int32 = 4

  /// The expressions to select from `OfflineSyncQueue`.
  static let columns: String = {
    func exists(_ table: String, _ condition: String = "", id: String = "entityId", type: String = "entityType")
      -> String
    {
      """
      EXISTS (SELECT 1 FROM \(table) AS other WHERE other.\(id) = OfflineSyncQueue.entityId
        AND other.\(type) = OfflineSyncQueue.entityType \(condition))
      """
    }
    let family = [
      exists("SyncMoved"), exists("SyncCascade"), exists("SyncCascade", id: "rootId", type: "rootType"),
    ]
    return [
      exists("SyncBase"),
      exists("OfflineSyncQueue", "AND other.payload IS NULL AND other.completedAt IS NULL"),
      exists("OfflineSyncQueue", "AND other.payload IS NOT NULL AND other.completedAt IS NULL"),
      family.joined(separator: " OR "),
    ].joined(separator: ", ")
  }()

  /// Creates a value that knows nothing.
  init() {}

  /// Leaves out the records that were deleted with this one.
  static var withoutFamily: RelatedRows {
    var related = RelatedRows()
    related.hasFamily = false
    return related
  }

  init(_ row: borrowing Row, from index: Int32) throws {
    hasBase = try row.decode(at: index)
    hasPending = try row.decode(at: index + 1)
    hasSealed = try row.decode(at: index + 2)
    hasFamily = try row.decode(at: index + 3)
  }
}

extension BaseTable {
  /// Removes the base of a record, as ``forget(_:_:hasBase:hasFamily:in:)`` does, without queries for absent rows.
  static func forget(_ type: String, _ key: Int64, _ related: RelatedRows, in connection: WriteConnection) throws {
    try forget(type, key, hasBase: related.hasBase, hasFamily: related.hasFamily, in: connection)
  }
}
