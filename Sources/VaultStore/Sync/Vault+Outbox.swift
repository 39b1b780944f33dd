import CipherSQL
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An operation of the outbox, as commands show it.
public struct OutboxEntry: Sendable, Hashable {
  /// The id of the operation, unique in the vault.
  public let operationId: String
  /// The entity of the record.
  public let entityType: String
  /// The UUID of the record.
  public let entityUuid: String
  /// `create`, `update` or `delete`.
  public let operationType: String
  /// The priority, from 0 (critical) to 3 (low).
  public let priority: Int
  /// `pending`, `processing`, `completed`, `failed` or `conflict`.
  public let status: String
  /// The number of failed attempts.
  public let retryCount: Int
  /// The reason of the last failure.
  public internal(set) var errorMessage: String?
  /// The time when it was queued, in ISO 8601.
  public let createdAt: String
  /// The earliest time of the next attempt, in ISO 8601; `nil` if it is ready.
  public let scheduledAt: String?
  /// The time of the last attempt, in ISO 8601.
  public let lastAttemptAt: String?
  /// Whether it waits for a failed, conflicted or scheduled operation.
  public let isParked: Bool

  static let columns: SQL = """
    operationId, entityType, entityUuid, operationType, priority, status, retryCount, errorMessage, createdAt, scheduledAt,
    lastAttemptAt, parkedBehind IS NOT NULL
    """

  init(_ row: borrowing Row) throws {
    operationId = try row.decode(at: 0)
    entityType = try row.decode(at: 1)
    entityUuid = try row.decode(at: 2)
    operationType = try row.decode(at: 3)
    priority = try row.decode(at: 4)
    status = try row.decode(at: 5)
    retryCount = try row.decode(at: 6)
    errorMessage = try row.decode(at: 7)
    createdAt = try row.decode(at: 8)
    scheduledAt = try row.decode(at: 9)
    lastAttemptAt = try row.decode(at: 10)
    isParked = try row.decode(at: 11)
  }
}

extension Vault {
  /// Calls a closure with the operations in the order in which they are sent.
  /// - Parameter completed: whether to include acknowledged operations.
  public func forEachOperation(completed: Bool = false, _ body: (OutboxEntry) throws -> Void) throws {
    try database.read { connection in
      let condition: SQL = completed ? "1" : "completedAt IS NULL"
      try connection.forEach(
        "SELECT \(OutboxEntry.columns) FROM OfflineSyncQueue WHERE \(condition) ORDER BY priority, queueNumber"
      ) { row in try body(try OutboxEntry(row)) }
    }
  }

  /// Returns the first unfinished operations in the order in which they are sent. The cost does not grow with the number of operations
  /// that are ready.
  public func firstOperations(limit: Int) throws -> [OutboxEntry] {
    try database.read { connection in
      var entries: [(number: Int64, entry: OutboxEntry)] = []
      // Each part has an index, and together they are all unfinished operations.
      for part in Self.unfinishedParts {
        try connection.forEach(
          """
          SELECT \(OutboxEntry.columns), queueNumber FROM OfflineSyncQueue WHERE \(raw: part)
          ORDER BY priority, queueNumber LIMIT \(limit)
          """
        ) { row in entries.append((try row.decode(at: 12), try OutboxEntry(row))) }
      }
      entries.sort { ($0.entry.priority, $0.number) < ($1.entry.priority, $1.number) }
      return entries.prefix(limit).map(\.entry)
    }
  }

  /// The conditions of the indexes of unfinished operations, without overlaps.
  static let unfinishedParts = [
    "status = 'pending' AND scheduledAt IS NULL AND parkedBehind IS NULL",
    "status = 'pending' AND scheduledAt IS NOT NULL",
    "parkedBehind IS NOT NULL AND status = 'pending' AND scheduledAt IS NULL",
    "status = 'processing' OR status = 'failed' OR status = 'conflict'",
  ]

  /// Returns failed operations, the oldest first.
  public func failedOperations(limit: Int) throws -> [OutboxEntry] {
    try database.read { connection in
      var entries: [OutboxEntry] = []
      try connection.forEach(
        """
        SELECT \(OutboxEntry.columns) FROM OfflineSyncQueue WHERE status = 'failed' ORDER BY queueNumber LIMIT \(limit)
        """
      ) { row in entries.append(try OutboxEntry(row)) }
      return entries
    }
  }

  /// Returns the operations of a record that the server has not acknowledged: at most a sealed one and a later one.
  public func operations(of entity: Entity, _ uuid: UUID) throws -> [OutboxEntry] {
    try database.read { connection in
      let key = try RecordReader(connection).find(entity, uuid).key
      var entries: [OutboxEntry] = []
      // Two partial indexes of unfinished operations.
      for state in ["payload IS NOT NULL", "payload IS NULL"] {
        try connection.forEach(
          """
          SELECT \(OutboxEntry.columns) FROM OfflineSyncQueue
          WHERE entityId = \(key) AND entityType = \(entity.type) AND \(raw: state) AND completedAt IS NULL
          """
        ) { row in entries.append(try OutboxEntry(row)) }
      }
      return entries
    }
  }

  /// Returns an operation and its payload as JSON; the payload is `nil` if the operation has none.
  /// - Throws: ``VaultError`` with `noSuchRecord`.
  public func operation(_ id: String) throws -> (entry: OutboxEntry, payload: String?) {
    let found = try database.write { connection in
      try SyncTransaction.run(on: connection, syncCatalog, now: connection.environment.now) { transaction in
        try transaction.preview(id)
      }
    }
    guard let found else {
      throw VaultError(
        .noSuchRecord, "no operation \(id)", remedy: .showWholeOutbox)
    }
    return found
  }

  /// Queues failed operations again, in one transaction.
  /// - Throws: ``VaultError`` with `noSuchRecord` or `refused`.
  public func retry(_ ids: [String]) throws {
    try syncNow { transaction in for id in ids { try transaction.retry(id) } }
  }

  /// Queues all failed operations again.
  /// - Returns: the number of operations.
  public func retryAll() throws -> Int {
    try syncNow { transaction in
      let failed = try transaction.connection.fetch(
        "SELECT operationId FROM OfflineSyncQueue WHERE status = 'failed'", as: String.self)
      for id in failed { try transaction.retry(id) }
      return failed.count
    }
  }

  /// Discards operations, in one transaction. Their records return to the versions that the server has. Records that the
  /// server never had are removed with their dependents.
  /// - Returns: the number of removed records.
  /// - Throws: ``VaultError`` with `noSuchRecord` or `busy`; with `badValue` or `refused` if another record has a
  ///   UNIQUE value that a record would take back; with `refused` if a REST remote may have created a record whose row
  ///   other records on this device need.
  public func discard(_ ids: [String]) throws -> Int { try syncNow { try $0.discard(ids) } }
}

extension SyncTransaction {
  /// Returns an operation with its payload, or with the payload that it would have now.
  func preview(_ id: String) throws -> (entry: OutboxEntry, payload: String?)? {
    var entry: OutboxEntry?
    try connection.forEach(
      "SELECT \(OutboxEntry.columns) FROM OfflineSyncQueue WHERE operationId = \(id)"
    ) { row in entry = try OutboxEntry(row) }
    guard var entry else { return nil }
    let queued = try QueuedOperation.all(
      where: "operationId = ? AND completedAt IS NULL", [.text(id)], in: connection)
    guard let operation = queued.first else { return (entry, nil) }
    let content: String?
    do {
      content = try operation.payload ?? PayloadBuilder(sync: self).preview(operation)?.wire.json
    } catch let unsendable as UnsendableField {
      entry.errorMessage = unsendable.message
      return (entry, nil)
    }
    guard let payload = content else { return (entry, nil) }
    let entity = catalog.tables[operation.entityType]?.entity
    return (entry, try entity?.shown(payload, members: ["fields", "base"]) ?? payload)
  }
}
