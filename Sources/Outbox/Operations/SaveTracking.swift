import CipherSQL

/// The operations that one write queued, so that the writer can ask later whether the server has stored them.
package struct SaveTracking: Sendable {
  /// An operation that is not acknowledged.
  package typealias Waiting = (status: String, message: String?, code: Int?, isScheduled: Bool)

  private struct RecordKey: Equatable, Sendable {
    let type: String
    let id: Int64
  }

  /// The highest `queueNumber` before the write.
  private let before: Int64
  /// The records of the operations that the write queued, by `queueNumber`.
  private let records: [Int64: RecordKey]

  /// Returns the highest `queueNumber`.
  package static func lastOperation(in connection: Connection) throws -> Int64 {
    try connection.fetchOne("SELECT coalesce(max(queueNumber), 0) FROM OfflineSyncQueue", as: Int64.self) ?? 0
  }

  /// Creates the tracking of a write.
  /// - Parameter before: ``lastOperation(in:)`` before the write.
  package init(after before: Int64, _ connection: Connection) throws {
    self.before = before
    let made = try connection.fetchRows(
      "SELECT queueNumber, entityType, entityId FROM OfflineSyncQueue WHERE queueNumber > \(before)",
      as: Int64.self, String.self, Int64.self)
    records = Dictionary(uniqueKeysWithValues: made.map { ($0, RecordKey(type: $1, id: $2)) })
  }

  /// Whether the write queued an operation. Otherwise its changes became part of a pending operation, or returned a record to its
  /// base, and all earlier operations count.
  package var isNew: Bool { !records.isEmpty }

  /// Returns the operations that are not acknowledged. An operation that is missing became part of another one of its record.
  package func waiting(_ connection: Connection) throws -> [Waiting] {
    guard let first = records.keys.min(), let last = records.keys.max() else {
      return try Self.waiting("queueNumber <= \(before)", connection)
    }
    var waiting: [Waiting] = []
    var absent = records
    let operations: SQL = """
      SELECT status, errorMessage, errorStatus, scheduledAt IS NOT NULL, queueNumber, entityType, entityId,
        completedAt IS NOT NULL
      FROM OfflineSyncQueue WHERE queueNumber BETWEEN \(first) AND \(last)
      """
    try connection.forEach(operations) { row in
      let number: Int64 = try row.decode(at: 4)
      // The number of a removed operation may have been given to another record.
      guard records[number] == RecordKey(type: try row.decode(at: 5), id: try row.decode(at: 6)) else { return }
      absent[number] = nil
      if try !row.decode(Bool.self, at: 7) {
        waiting.append(
          (try row.decode(at: 0), try row.decode(at: 1), try row.decode(at: 2), try row.decode(at: 3)))
      }
    }
    for record in absent.values {
      // One condition for each of the two indexes of unfinished operations.
      for payload in ["payload IS NULL", "payload IS NOT NULL"] {
        waiting += try Self.waiting(
          "entityId = \(record.id) AND entityType = \(record.type) AND \(raw: payload)", connection)
      }
    }
    return waiting
  }

  private static func waiting(_ condition: SQL, _ connection: Connection) throws -> [Waiting] {
    try connection.fetchRows(
      """
      SELECT status, errorMessage, errorStatus, scheduledAt IS NOT NULL FROM OfflineSyncQueue
      WHERE \(condition) AND completedAt IS NULL
      """, as: String.self, String?.self, Int?.self, Bool.self)
  }
}
