import CipherSQL
import RecordStore
import SyncModel

/// A row of the outbox.
package struct QueuedOperation: Sendable {
  package let number: Int64
  package let operationId: String
  /// Names the payload at the server; nil until the operation is sealed.
  package let idempotencyKey: String?
  package let entityType: String
  package let entityId: Int64
  package let entityUuid: String
  package let kind: OperationKind
  /// The payload; `nil` while the operation is pending.
  package let payload: String?
  /// A payload that the remote may have stored, and that edits have replaced.
  let sentPayload: String?
  /// The `queueNumber` of the operation that this one waits for.
  let blockedBy: Int64?
  let related: RelatedRows
  /// The facts that its transitions depend on.
  package let operation: OutboxOperation

  package var state: OutboxOperation.State { operation.state }
  var record: LocalIdentity { LocalIdentity(entityType, entityId) }
  var sendCount: Int { operation.sendCount }

  private static let columns = """
    queueNumber, operationId, entityType, entityId, entityUuid, operationType, payload, status, retryCount, maxRetries,
    scheduledAt IS NOT NULL, parkedBehind, sendCount, \(RelatedRows.columns), idempotencyKey,
    sentPayload
    """

  package static func all(
    where condition: String, _ arguments: [SQLArgument], in connection: Connection
  ) throws -> [QueuedOperation] {
    try all(
      SQL(raw: "SELECT \(columns) FROM OfflineSyncQueue WHERE \(condition)", arguments: arguments), in: connection)
  }

  private static func all(_ sql: SQL, in connection: Connection) throws -> [QueuedOperation] {
    var operations: [QueuedOperation] = []
    try connection.forEach(sql) { row in operations.append(try QueuedOperation(row)) }
    return operations
  }

  /// The operations that meet a condition together with one of some rows.
  private static func joined(_ rows: ParameterRows, _ condition: SQL) -> SQL {
    "SELECT \(raw: columns) FROM \(rows.table) AS row CROSS JOIN OfflineSyncQueue ON \(condition)"
  }

  private init(_ row: borrowing Row) throws {
    number = try row.decode(at: 0)
    operationId = try row.decode(at: 1)
    entityType = try row.decode(at: 2)
    entityId = try row.decode(at: 3)
    entityUuid = try row.decode(at: 4)
    kind = OperationKind(rawValue: try row.decode(at: 5)) ?? .update
    payload = try row.decode(at: 6)
    blockedBy = try row.decode(at: 11)
    related = try RelatedRows(row, from: 13)
    idempotencyKey = try row.decode(at: 13 + RelatedRows.count)
    sentPayload = try row.decode(at: 14 + RelatedRows.count)
    operation = OutboxOperation(
      state: OutboxOperation.state(status: try row.decode(at: 7), hasPayload: payload != nil), kind: kind,
      hasPayload: payload != nil, hasKey: idempotencyKey != nil, isFollowed: payload != nil && related.hasPending,
      isScheduled: try row.decode(at: 10), retryCount: try row.decode(at: 8), maxRetries: try row.decode(at: 9),
      sendCount: try row.decode(at: 12))
  }

  /// Returns the operations of a record that are not acknowledged, the sealed one first.
  package static func ofRecord(_ type: String, _ key: Int64, in connection: Connection) throws -> [QueuedOperation] {
    try sealed(type, key, in: connection) + pending(type, key, in: connection)
  }

  /// Returns the operations of records that are not acknowledged, the sealed one of each record first.
  static func ofRecords(
    _ records: some Collection<LocalIdentity>, in connection: Connection
  ) throws -> [LocalIdentity: [QueuedOperation]] {
    if records.isEmpty { return [:] }
    let rows = ParameterRows(records)
    let operations = try all("\(ofRecords(rows, hasPayload)) UNION ALL \(ofRecords(rows, isPending))", in: connection)
    return Dictionary(grouping: operations, by: \.record)
  }

  /// Returns the pending or conflicted operations of records; at most one of each record.
  static func pending(
    ofRecords records: [LocalIdentity], in connection: Connection
  ) throws -> [LocalIdentity: [QueuedOperation]] {
    if records.isEmpty { return [:] }
    return Dictionary(
      grouping: try all(ofRecords(ParameterRows(records), isPending), in: connection), by: \.record)
  }

  private static func ofRecords(_ records: ParameterRows, _ condition: String) -> SQL {
    joined(records, "\(ParameterRows.isRecord("OfflineSyncQueue")) AND \(raw: condition)")
  }

  /// Returns the operations with some numbers.
  static func numbered(_ numbers: some Collection<Int64>, in connection: Connection) throws -> [QueuedOperation] {
    numbers.isEmpty ? [] : try all(joined(ParameterRows(numbers), "queueNumber = row.column1"), in: connection)
  }

  /// Returns the operations with some ids that have a payload and are not acknowledged.
  static func sealed(ids: [String], in connection: Connection) throws -> [QueuedOperation] {
    if ids.isEmpty { return [] }
    return try all(
      joined(ParameterRows(ids), "operationId = row.column1 AND \(raw: hasPayload)"), in: connection)
  }

  private static let isPending = "payload IS NULL AND completedAt IS NULL"
  private static let hasPayload = "payload IS NOT NULL AND completedAt IS NULL"

  /// Returns the pending operation of a record, or its conflicted one; at most one.
  package static func pending(_ type: String, _ key: Int64, in connection: Connection) throws -> [QueuedOperation] {
    try all(
      where: "entityId = ? AND entityType = ? AND \(isPending)",
      [.integer(key), .text(type)], in: connection)
  }

  /// Returns the operation of a record that has a payload; at most one.
  package static func sealed(_ type: String, _ key: Int64, in connection: Connection) throws -> [QueuedOperation] {
    try all(
      where: "entityId = ? AND entityType = ? AND \(hasPayload)",
      [.integer(key), .text(type)], in: connection)
  }
}

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
