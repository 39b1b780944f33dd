import CipherSQL
import SyncModel

extension SyncTransaction {
  /// Queues a failed operation again.
  /// - Throws: ``VaultError`` with `noSuchRecord` for an id that the outbox does not have, `refused` for one that has not
  ///   failed.
  package func retry(_ operationId: String) throws {
    let operation = try waiting(operationId)
    guard operation.status == "failed" || operation.isScheduled else {
      throw VaultError(
        .refused, "operation \(operationId) is \(operation.status) and needs no retry",
        hint: operation.status == "conflict" ? "fieldvault conflicts resolve" : "fieldvault why tells what it waits for"
      )
    }
    try queueAgain(operation)
  }

  /// Queues all failed operations again, because the tables have changed.
  func retryFailed() throws {
    for operation in try QueuedOperation.all(where: "status = 'failed' AND completedAt IS NULL", [], in: connection) {
      try queueAgain(operation)
    }
  }

  private func queueAgain(_ operation: QueuedOperation) throws {
    try connection.execute(
      """
      UPDATE OfflineSyncQueue SET status = 'pending', retryCount = 0, scheduledAt = NULL, errorMessage = NULL,
        errorStatus = NULL
      WHERE queueNumber = \(operation.number)
      """)
    try setStatus("pending", operation)
  }

  /// Gives up what an operation would have told the server: the record is again as the server is known to have it, and one
  /// that the server never had goes, with what hangs on it.
  /// - Returns: the records that went.
  /// - Throws: ``VaultError`` with `noSuchRecord`, with `busy` while an operation of the record is being sent, with `badValue` or
  ///   `refused` when another record has a value by now that the record would take back, or when a record that stays refers to
  ///   one that would go.
  @discardableResult
  package func discard(_ operationId: String) throws -> Int {
    let operation = try waiting(operationId)
    let all = try QueuedOperation.ofRecord(operation.entityType, operation.entityId, in: connection)
    if let sent = all.first(where: { $0.status == "processing" }) {
      throw VaultError(
        .busy, "operation \(sent.operationId) of this record is being sent",
        hint: "wait for the answer, or sync once more where none comes any more; then change the record again")
    }
    guard let table = catalog.tables[operation.entityType],
      var record = try table.find(key: operation.entityId, in: connection)
    else {
      try remove(operation)
      return 0
    }
    let type = operation.entityType
    let conflict = try OpenConflict.find(of: record, type, in: connection)
    try closeConflict(of: record, table, resolution: "remote_wins", by: nil, note: "discarded with its operation")
    // A contested record has a base that is older than what the server is known to have.
    if let remote = conflict?.remote {
      try explainingConstraints(of: table) { try adopt(record, on: remote, remote: remote, table) }
      return 0
    }
    guard let base = try BaseTable.find(type, record.key, in: connection), !base.isOfTombstone else {
      let gone =
        record.state.isDeleted
        ? 0 : try Dependents(connection: connection, entities: catalog.entities).count(of: table.entity, record.key)
      try explainingConstraints(of: table) { try discardRecord(record, table) }
      return gone
    }
    try explainingConstraints(of: table) {
      if record.state.isDeleted, !base.isDeleted {
        try asUser { try revive(record, table) }
        record = try table.find(key: record.key, in: connection) ?? record
      }
      try forgetOperations(of: record, table)
      try table.update(
        record.key, from: record.state, to: base, .init(serverId: record.serverId), references: references,
        in: connection)
      try BaseTable.forget(type, record.key, in: connection)
    }
    return 0
  }

  /// Removes a record that the server never had, with what hangs on it.
  func discardRecord(_ record: StoredRecord, _ table: RecordTable) throws {
    try forgetOperations(of: record, table)
    try asUser {
      _ = try connection.execute(
        "DELETE FROM \(identifier: table.entity.table.name) WHERE \(identifier: table.entity.key) = \(record.key)")
    }
    // The deletion has queued what nobody is to be told.
    try forgetOperations(of: record, table)
    try markClean(record, table)
  }

  func revive(_ record: StoredRecord, _ table: RecordTable) throws {
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) SET isDeleted = 0
      WHERE \(identifier: table.entity.key) = \(record.key) AND isDeleted = 1
      """)
  }

  func forgetOperations(of record: StoredRecord, _ table: RecordTable) throws {
    for operation in try QueuedOperation.ofRecord(table.entity.type, record.key, in: connection) {
      try remove(operation)
    }
  }

  /// Whether the outbox has an operation that is not done.
  func isWaiting(_ operationId: String) throws -> Bool { try find(operationId) != nil }

  /// - Throws: ``VaultError`` with `noSuchRecord`.
  func requireWaiting(_ operationId: String) throws { _ = try waiting(operationId) }

  private func find(_ operationId: String) throws -> QueuedOperation? {
    try QueuedOperation.all(
      where: "operationId = ? AND completedAt IS NULL", [.text(operationId)], in: connection
    ).first
  }

  private func waiting(_ operationId: String) throws -> QueuedOperation {
    guard let operation = try find(operationId) else {
      throw VaultError(
        .noSuchRecord, "no operation \(operationId) waits", hint: "fieldvault outbox list shows those that do")
    }
    return operation
  }
}
