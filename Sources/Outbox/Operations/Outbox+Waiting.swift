import CipherSQL
import SyncModel

/// Operations that wait: for a time, or for another operation.
///
/// Blocking is a condition and not a state. A batch builder stores it once (`parkedBehind`), so that the next batch does not look at the
/// operation again.
extension Outbox {
  /// The condition of operations that can be sent now.
  static let isReady = "status = 'pending' AND scheduledAt IS NULL AND parkedBehind IS NULL"

  /// Returns whether an operation can be sent now.
  package static func hasReady(in connection: Connection) throws -> Bool {
    try connection.fetchOne("SELECT 1 FROM OfflineSyncQueue WHERE \(raw: isReady) LIMIT 1", as: Int.self) != nil
  }

  /// The longest time in milliseconds that an operation waits for a retry (``RetryDelay/longest`` is shorter). A later time was
  /// written before the clock was set back.
  private static let longestWait: Int64 = 60_000
  /// The most operations that one statement changes, so that a transaction stays short.
  private static let mostAtOnce = 500

  /// Stores that an operation waits for another one.
  func block(_ operation: QueuedOperation, behind number: Int64) throws {
    try connection.execute(
      "UPDATE OfflineSyncQueue SET parkedBehind = \(number) WHERE queueNumber = \(operation.number)")
  }

  /// Makes operations ready whose scheduled time has come.
  func wakeDue() throws {
    for isDue: SQL in [
      "scheduledAt <= \(WireTime.text(now))", "scheduledAt > \(WireTime.text(now + Self.longestWait))",
    ] {
      let due = try connection.fetchOne(
        "SELECT 1 FROM OfflineSyncQueue WHERE status = 'pending' AND \(isDue) LIMIT 1", as: Int.self)
      if due == nil { continue }
      try connection.execute(
        """
        UPDATE OfflineSyncQueue SET scheduledAt = NULL WHERE queueNumber IN (
          SELECT queueNumber FROM OfflineSyncQueue
          WHERE status = 'pending' AND scheduledAt IS NOT NULL AND \(isDue) LIMIT \(Self.mostAtOnce))
        """)
    }
  }

  /// Makes some operations ready again whose blocking operation was acknowledged, was removed or is sent again.
  /// - Returns: whether there was one.
  func unblock() throws -> Bool {
    var last: Int64 = .min
    while let number = try connection.fetchOne(
      "SELECT parkedBehind FROM OfflineSyncQueue WHERE parkedBehind > \(last) ORDER BY parkedBehind LIMIT 1",
      as: Int64.self)
    {
      last = number
      let blocking = try QueuedOperation.all(where: "queueNumber = ?", [.integer(number)], in: connection).first
      if let blocking, blocking.operation.blocksOthers || blocking.blockedBy != nil { continue }
      try connection.execute(
        """
        UPDATE OfflineSyncQueue SET parkedBehind = NULL WHERE queueNumber IN (
          SELECT queueNumber FROM OfflineSyncQueue WHERE parkedBehind = \(number) LIMIT \(Self.mostAtOnce))
        """)
      return true
    }
    return false
  }

  /// Returns the earliest scheduled time of an operation, in milliseconds since 1970; `nil` if no operation is scheduled.
  func nextDue() throws -> Int64? {
    let first = try connection.fetchOne(
      "SELECT min(scheduledAt) FROM OfflineSyncQueue WHERE status = 'pending' AND scheduledAt IS NOT NULL",
      as: Optional<String>.self)
    return first.flatMap { $0 }.flatMap(WireTime.milliseconds).map { min($0, now + Self.longestWait) }
  }
}
