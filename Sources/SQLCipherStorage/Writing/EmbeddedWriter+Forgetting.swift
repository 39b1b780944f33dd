import CipherSQL
import RecordStore
import ServerStorage
import SyncModel

extension EmbeddedWriter {
  func forgetResponses(before time: Int64, atMost limit: Int) throws -> Bool {
    try connection.execute(
      """
      DELETE FROM ServerAnswer WHERE idempotencyKey IN (
        SELECT idempotencyKey FROM ServerAnswer WHERE storedAt < \(time) ORDER BY storedAt LIMIT \(limit))
      """)
    let isFull = connection.changedRowCount == limit
    // A device that was away for longer is accepted with any counter.
    try connection.execute(
      """
      DELETE FROM ServerDevice WHERE deviceId IN (
        SELECT deviceId FROM ServerDevice WHERE seenAt < \(time) ORDER BY seenAt LIMIT \(limit))
      """)
    return isFull || connection.changedRowCount == limit
  }

  func hasTombstone(of name: RecordName) throws -> Bool {
    try connection.withStatement("SELECT 1 FROM ServerTombstone WHERE entityType = ? AND entityUuid = ?") { statement in
      try statement.bind(name.entityType, at: 1)
      try statement.bind(name.entityUuid, at: 2)
      return try statement.step()
    }
  }

  func keepTombstone(of name: RecordName, at time: Int64) throws {
    try connection.execute(
      """
      INSERT INTO ServerTombstone (entityType, entityUuid, storedAt)
      VALUES (\(name.entityType), \(name.entityUuid), \(time))
      ON CONFLICT (entityType, entityUuid) DO UPDATE SET storedAt = excluded.storedAt
      """)
  }

  func removeTombstone(of name: RecordName) throws {
    try connection.execute(
      "DELETE FROM ServerTombstone WHERE entityType = \(name.entityType) AND entityUuid = \(name.entityUuid)")
  }

  func forgetTombstones(before time: Int64, atMost limit: Int) throws -> Bool {
    try connection.execute(
      """
      DELETE FROM ServerTombstone WHERE (entityType, entityUuid) IN (
        SELECT entityType, entityUuid FROM ServerTombstone WHERE storedAt < \(time) ORDER BY storedAt LIMIT \(limit))
      """)
    return connection.changedRowCount == limit
  }

  func forgetDeletions(
    before time: Int64, after place: RetentionCursor?, atMost limit: Int
  ) throws -> (forgotten: Int, last: RetentionCursor?) {
    let place = place ?? RetentionCursor(storedAt: Int64.min, sequence: 0)
    // Seed rows exist on each new device, which must learn of their deletion at any time.
    let expired = try connection.fetchRows(
      """
      SELECT storedAt, sequence, entityType, entityUuid FROM ServerRecord
      WHERE isDeleted = 1 AND (storedAt, sequence) > (\(place.storedAt), \(place.sequence)) AND storedAt < \(time)
        AND firstVersion > 0
      ORDER BY storedAt, sequence LIMIT \(limit)
      """, as: Int64.self, Int64.self, String.self, String.self)
    let budget = ThreadTime(connection.environment.clock)
    var forgotten = 0
    var last: RetentionCursor?
    for (storedAt, sequence, type, uuid) in expired {
      let name = RecordName(type, uuid)
      if try !isReferenced(name) {
        try purge(name, sequence)
        forgotten += 1
      }
      last = RetentionCursor(storedAt: storedAt, sequence: sequence)
      if budget.isOver { break }
    }
    return (forgotten, last)
  }

  private func purge(_ name: RecordName, _ sequence: Int64) throws {
    guard let table = map.tables[name.entityType]?.entity.table.name else { return }
    try connection.execute(
      """
      UPDATE ServerState SET horizon = max(horizon, \(sequence)), forgottenVersion = max(forgottenVersion, coalesce(
        (SELECT syncVersion FROM \(identifier: table) WHERE uuid = \(name.entityUuid)), 0))
      """)
    try WriteMode.purge(on: connection) {
      _ = try connection.execute("DELETE FROM \(identifier: table) WHERE uuid = \(name.entityUuid)")
    }
    try connection.execute("DELETE FROM ServerRecord WHERE sequence = \(sequence)")
  }

  /// Returns whether another record references a record.
  private func isReferenced(_ name: RecordName) throws -> Bool {
    for reference in map.dependents[name.entityType] ?? [] {
      // Two rows, because the record may reference itself.
      let some = try reader.dependents(of: name, by: reference, after: nil, limit: 2)
      if some.contains(where: { $0.name != name }) { return true }
    }
    return false
  }
}
