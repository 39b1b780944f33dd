import CipherSQL
import SyncModel

/// An operation of the outbox, for people.
public struct OutboxEntry: Sendable, Hashable {
  /// Names the operation for ever.
  public let operationId: String
  /// The kind of record.
  public let entityType: String
  /// Which record.
  public let entityUuid: String
  /// create, update or delete.
  public let operationType: String
  /// 0 critical to 3 low.
  public let priority: Int
  /// pending, processing, completed, failed or conflict.
  public let status: String
  /// How often the server answered it with an error.
  public let retryCount: Int
  /// What the server said last, or why the operation cannot be sent.
  public internal(set) var errorMessage: String?
  /// When it was queued.
  public let createdAt: String
  /// Not tried before; nil for at once.
  public let scheduledAt: String?
  /// When it was sent last.
  public let lastAttemptAt: String?
  /// Whether it waits for another that has stopped.
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
  /// Steps through the outbox in the order in which it is sent.
  /// - Parameter completed: the history, too.
  public func forEachOperation(completed: Bool = false, _ body: (OutboxEntry) throws -> Void) throws {
    try database.read { connection in
      let condition: SQL = completed ? "1" : "completedAt IS NULL"
      try connection.forEach(
        "SELECT \(OutboxEntry.columns) FROM OfflineSyncQueue WHERE \(condition) ORDER BY priority, queueNumber"
      ) { row in try body(try OutboxEntry(row)) }
    }
  }

  /// One operation, and what is or would be sent as JSON; nil when it would send nothing any more.
  /// - Throws: ``VaultError`` with `noSuchRecord`.
  public func operation(_ id: String) throws -> (entry: OutboxEntry, payload: String?) {
    let found = try database.write { connection in
      try SyncTransaction.run(on: connection, syncCatalog, now: Self.now) { transaction in
        try transaction.preview(id)
      }
    }
    guard let found else {
      throw VaultError(
        .noSuchRecord, "there is no operation \(id)", hint: "fieldvault outbox list --all shows those there are")
    }
    return found
  }

  /// Queues failed operations again, all or none.
  /// - Throws: ``VaultError`` with `noSuchRecord` or `refused`.
  public func retry(_ ids: [String]) throws {
    try syncNow { transaction in for id in ids { try transaction.retry(id) } }
  }

  /// Queues all failed operations again.
  /// - Returns: how many.
  public func retryAll() throws -> Int {
    try syncNow { transaction in
      let failed = try transaction.connection.fetch(
        "SELECT operationId FROM OfflineSyncQueue WHERE status = 'failed'", as: String.self)
      for id in failed { try transaction.retry(id) }
      return failed.count
    }
  }

  /// Gives up operations, all or none: their records are again as the server is known to have them, and those that it never
  /// had go.
  /// - Returns: how many records went.
  /// - Throws: ``VaultError`` with `noSuchRecord`, `busy`, or `badValue` and `refused` when another record has a value by now that
  ///   the record would take back.
  public func discard(_ ids: [String]) throws -> Int {
    try syncNow { transaction in
      for id in ids { try transaction.requireWaiting(id) }
      // One that goes may take others along: those of the same record, and of what hangs on it.
      return try ids.reduce(0) { count, id in
        try transaction.isWaiting(id) ? count + transaction.discard(id) : count
      }
    }
  }
}

extension SyncTransaction {
  /// An operation as it is sent, or would be.
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
      content = try operation.payload ?? wouldSend(operation)?.wire.json
    } catch let unsendable as UnsendableField {
      entry.errorMessage = unsendable.message
      return (entry, nil)
    }
    guard let payload = content else { return (entry, nil) }
    let entity = catalog.tables[operation.entityType]?.entity
    return (entry, try entity?.shown(payload, members: ["fields", "base"]) ?? payload)
  }
}
