import CipherSQL
import SyncModel

/// A row of the outbox as the worker needs it.
package struct QueuedOperation: Sendable {
  package let number: Int64
  package let operationId: String
  /// Names the payload at the server; nil until the operation is sealed.
  package let idempotencyKey: String?
  package let entityType: String
  package let entityId: Int64
  package let entityUuid: String
  package let kind: OperationKind
  /// As it is sent; nil as long as the operation grows.
  package let payload: String?
  package let status: String
  package let retryCount: Int
  package let maxRetries: Int
  package let isScheduled: Bool
  package let parkedBehind: Int64?
  /// How often it was handed over to be sent.
  package let sendCount: Int
  let beside: RelatedRows

  private static let columns = """
    queueNumber, operationId, entityType, entityId, entityUuid, operationType, payload, status, retryCount, maxRetries,
    scheduledAt IS NOT NULL, parkedBehind, sendCount, \(RelatedRows.columns), idempotencyKey
    """

  /// Whether it will not be sent soon, so that others wait behind it.
  var isStopped: Bool { status == "failed" || status == "conflict" || isScheduled && status == "pending" }

  static func all(
    where condition: String, _ arguments: [SQLArgument], in connection: Connection
  ) throws -> [QueuedOperation] {
    var operations: [QueuedOperation] = []
    let sql = SQL(raw: "SELECT \(columns) FROM OfflineSyncQueue WHERE \(condition)", arguments: arguments)
    try connection.forEach(sql) { row in operations.append(try QueuedOperation(row)) }
    return operations
  }

  private init(_ row: borrowing Row) throws {
    number = try row.decode(at: 0)
    operationId = try row.decode(at: 1)
    entityType = try row.decode(at: 2)
    entityId = try row.decode(at: 3)
    entityUuid = try row.decode(at: 4)
    kind = OperationKind(rawValue: try row.decode(at: 5)) ?? .update
    payload = try row.decode(at: 6)
    status = try row.decode(at: 7)
    retryCount = try row.decode(at: 8)
    maxRetries = try row.decode(at: 9)
    isScheduled = try row.decode(at: 10)
    parkedBehind = try row.decode(at: 11)
    sendCount = try row.decode(at: 12)
    beside = try RelatedRows(row, from: 13)
    idempotencyKey = try row.decode(at: 13 + RelatedRows.count)
  }

  /// The operations of a record that are not completed, the sealed one first.
  static func ofRecord(_ type: String, _ key: Int64, in connection: Connection) throws -> [QueuedOperation] {
    try sealed(type, key, in: connection) + pending(type, key, in: connection)
  }

  static func pending(_ type: String, _ key: Int64, in connection: Connection) throws -> [QueuedOperation] {
    try all(
      where: "entityId = ? AND entityType = ? AND payload IS NULL AND completedAt IS NULL",
      [.integer(key), .text(type)], in: connection)
  }

  static func sealed(_ type: String, _ key: Int64, in connection: Connection) throws -> [QueuedOperation] {
    try all(
      where: "entityId = ? AND entityType = ? AND payload IS NOT NULL AND completedAt IS NULL",
      [.integer(key), .text(type)], in: connection)
  }
}
