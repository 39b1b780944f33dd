import CipherSQL

/// The operations that a write has made, to be asked what became of them.
struct SaveTracking: Sendable {
  typealias Waiting = (status: String, message: String?, code: Int?, isScheduled: Bool)

  private struct RecordKey: Equatable, Sendable {
    let type: String
    let id: Int64
  }

  /// Up to here there were operations before.
  private let before: Int64
  /// The records of those behind, by the numbers of the operations.
  private let records: [Int64: RecordKey]

  init(after before: Int64, _ connection: Connection) throws {
    self.before = before
    let made = try connection.fetchRows(
      "SELECT queueNumber, entityType, entityId FROM OfflineSyncQueue WHERE queueNumber > \(before)",
      as: Int64.self, String.self, Int64.self)
    records = Dictionary(uniqueKeysWithValues: made.map { ($0, RecordKey(type: $1, id: $2)) })
  }

  /// False when what was changed is part of an operation that waited already, or took one back: then all that waits counts.
  var isNew: Bool { !records.isEmpty }

  /// Those that are not done. One that is not there any more has become part of another one of its record.
  func waiting(_ connection: Connection) throws -> [Waiting] {
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
      // A number that is free may have gone to another record.
      guard records[number] == RecordKey(type: try row.decode(at: 5), id: try row.decode(at: 6)) else { return }
      absent[number] = nil
      if try !row.decode(Bool.self, at: 7) {
        waiting.append(
          (try row.decode(at: 0), try row.decode(at: 1), try row.decode(at: 2), try row.decode(at: 3)))
      }
    }
    for record in absent.values {
      // Said as the two indexes of what is not done have it.
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
