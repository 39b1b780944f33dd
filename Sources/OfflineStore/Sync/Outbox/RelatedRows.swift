import CipherSQL

/// What is kept of a record beside one of its operations, read together with that, since mostly there is nothing and a
/// question for each thing costs more than the answer.
///
/// True also means that it is not known, so that a doubt costs time and nothing else. An operation finds itself, too: what
/// grows is to be asked of a frozen one, and the other way round.
struct RelatedRows: Sendable {
  /// A row of `SyncBase`.
  var hasBase = true
  /// An operation that grows.
  var hasPending = true
  /// An operation that has its content for good, as long as it is not taken back.
  var hasSealed = true
  /// Rows of `SyncMoved` or `SyncCascade`.
  var hasFamily = true

  /// The number of columns in ``columns``.
  static let count: Int32 = 4

  /// What to select from `OfflineSyncQueue`.
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

  /// Nothing is known.
  init() {}

  /// What deletions have taken along stays as it is.
  static var withoutFamily: RelatedRows {
    var traces = RelatedRows()
    traces.hasFamily = false
    return traces
  }

  init(_ row: borrowing Row, from index: Int32) throws {
    hasBase = try row.decode(at: index)
    hasPending = try row.decode(at: index + 1)
    hasSealed = try row.decode(at: index + 2)
    hasFamily = try row.decode(at: index + 3)
  }
}
