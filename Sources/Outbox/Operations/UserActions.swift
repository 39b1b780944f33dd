import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

extension SyncTransaction {
  /// Queues a failed or scheduled operation again.
  /// - Throws: ``VaultError`` with `noSuchRecord` for an unknown id, with `refused` for an operation in another state.
  package func retry(_ operationId: String) throws {
    let queued = try waiting(operationId)
    guard try outbox.apply(.retried, to: queued) != nil else {
      throw VaultError(
        .refused,
        "operation \(operationId) is \(queued.operation.status); only a failed or scheduled operation can be retried",
        remedy: queued.state == .conflicted ? .resolveConflict : .explainOperation)
    }
  }

  /// Queues all failed operations again after a migration.
  func retryFailed() throws {
    for operation in try QueuedOperation.all(where: "status = 'failed' AND completedAt IS NULL", [], in: connection) {
      try outbox.apply(.retried, to: operation)
    }
  }

  /// Discards operations: their records return to the versions that the server has. A record that the server never had is
  /// removed with its dependents. If a REST remote may have created a record, its row goes as well: the remote cannot
  /// recognise the record when it is restored and sent again.
  /// - Returns: the number of removed records.
  /// - Throws: ``VaultError`` with `noSuchRecord`; with `busy` while an operation of a record is in flight; with
  ///   `badValue` or `refused` if another record has a UNIQUE value that a record would regain, or if a remaining
  ///   record references a record, or needs a row, that would be removed.
  @discardableResult
  package func discard(_ operationIds: [String]) throws -> Int {
    try clearReferences(betweenNewRecordsOf: try operationIds.map(waiting))
    var created: [(record: StoredRecord, table: RecordTable)] = []
    let gone = try operationIds.reduce(0) { count, id in
      // Discarding one operation may remove others: those of the same record and of its dependents.
      try find(id).map { try count + discard($0, &created) } ?? count
    }
    // The operations of dependents are discarded by now.
    for (record, table) in created { try removeRows(of: record, table) }
    return gone
  }

  /// Clears the optional references between records that the server never had and that are discarded together. Otherwise each record
  /// of a cycle would hold the next one.
  private func clearReferences(betweenNewRecordsOf operations: [QueuedOperation]) throws {
    var new: [String: Set<Int64>] = [:]
    for operation in operations
    where try BaseTable.find(operation.entityType, operation.entityId, in: connection) == nil {
      new[operation.entityType, default: []].insert(operation.entityId)
    }
    guard new.values.reduce(0, { $0 + $1.count }) > 1 else { return }
    func list(_ keys: Set<Int64>) -> String { "[" + keys.sorted().map(String.init).joined(separator: ",") + "]" }
    for (type, keys) in new.sorted(by: { $0.key < $1.key }) {
      guard let parent = catalog.tables[type]?.entity else { continue }
      for dependency in catalog.entities.dependencies(on: parent)
      where dependency.key.onDelete != .cascade && dependency.key.onDelete != .setNull {
        let child = dependency.child
        guard let children = new[child.type],
          let column = dependency.key.columns.first(where: { child.table.column($0.from)?.isNotNull == false })
        else { continue }
        try asUser {
          _ = try connection.execute(
            """
            UPDATE \(identifier: child.table.name) AS child SET \(identifier: column.from) = NULL
            WHERE \(identifier: child.key) IN (SELECT value FROM json_each(\(list(children)))) AND isDeleted = 0
              AND EXISTS (
                SELECT 1 FROM \(identifier: parent.table.name) AS parent
                WHERE \(raw: dependency.isReferring(child: "child", parent: "parent"))
                  AND parent.\(identifier: parent.key) IN (SELECT value FROM json_each(\(list(keys)))))
            """)
        }
      }
    }
  }

  /// - Parameter created: receives the record if a REST remote may have created it.
  private func discard(
    _ operation: QueuedOperation, _ created: inout [(record: StoredRecord, table: RecordTable)]
  ) throws -> Int {
    let all = try QueuedOperation.ofRecord(operation.entityType, operation.entityId, in: connection)
    if let sent = all.first(where: { $0.state == .inFlight }) {
      throw VaultError(
        .busy, "operation \(sent.operationId) of this record is being sent",
        hint: "wait for the response, or sync again if none arrives; then change the record again")
    }
    guard let table = catalog.tables[operation.entityType],
      let record = try table.find(key: operation.entityId, in: connection)
    else {
      try outbox.remove(operation)
      return 0
    }
    if try mayBeCreated(by: all) { created.append((record, table)) }
    return try discardOperations(of: record, table)
  }

  /// Returns whether a REST remote may have created the record of some operations, or created it again, without a response.
  private func mayBeCreated(by operations: [QueuedOperation]) throws -> Bool {
    guard try SyncSettings.value(.remoteRoutes, in: connection) != nil else { return false }
    return try operations.contains { operation in
      guard operation.sendCount > 0 else { return false }
      if operation.kind == .create { return true }
      return try operation.kind == .update
        && BaseTable.find(operation.entityType, operation.entityId, in: connection)?.isDeleted == true
    }
  }

  /// Removes the rows of a deleted record and of its dependents.
  /// - Throws: ``VaultError`` with `refused` if another record needs the row. The user could restore the record with it.
  private func removeRows(of record: StoredRecord, _ table: RecordTable) throws {
    let dependents = Dependents(connection: connection, entities: catalog.entities)
    for (entity, keys) in try dependents.all(of: table.entity, [record.key], onlyLive: false).reversed() {
      guard let table = catalog.tables[entity.type] else { continue }
      for key in keys {
        if let record = try table.find(key: key, in: connection) { _ = try purgeDeleted(record.uuid, of: table) }
      }
    }
    guard try table.has(record.uuid, in: connection) else { return }
    let type = table.entity.type
    throw VaultError(
      .refused, "the server may have created the \(type), and another record on this device refers to it",
      hint: "retry the operation, or discard the operations of the records that refer to this \(type) as well")
  }

  private func discardOperations(of record: StoredRecord, _ table: RecordTable) throws -> Int {
    var record = record
    let type = table.entity.type
    let conflict = try OpenConflict.find(of: record, type, in: connection)
    try conflicts.close(of: record, table, resolution: "remote_wins", by: nil, note: "discarded with its operation")
    // The base of a record in conflict is older than the server's version.
    if let remote = conflict?.remote {
      try resolver.explainingConstraints(of: table) {
        try changes.returningValues(of: record, table) {
          try resolver.adopt(record, on: remote, remote: remote, table)
        }
      }
      return 0
    }
    guard var base = try BaseTable.find(type, record.key, in: connection), !base.isOfTombstone else {
      var gone = 0
      try resolver.explainingConstraints(of: table) { gone = try discardRecord(record, table) }
      return gone
    }
    let root = base.isDeleted ? nil : try changes.deletedParent(of: base, table)
    if root != nil { base.isDeleted = true }
    try resolver.explainingConstraints(of: table) {
      if record.state.isDeleted, !base.isDeleted {
        try revive(record, table, towards: base)
        record = try table.find(key: record.key, in: connection) ?? record
      }
      if !record.state.isDeleted, base.isDeleted { try changes.deleteFollowersAgain(of: record.key, table) }
      try outbox.removeUnfinished(type, record.key)
      try changes.returningValues(of: record, table) {
        try table.update(
          record.key, from: record.state, to: base, .init(serverId: record.serverId), in: connection)
      }
      try BaseTable.forget(type, record.key, in: connection)
      if let root { try changes.noteFollower(record.key, type, of: root.key, root.type) }
    }
    return 0
  }

  /// Removes a record that the server never had, with its dependents. Records of the server that are dependents only by an
  /// unsent edit, or by UNIQUE values that another record has at the server, stay.
  /// - Returns: the number of removed records.
  /// - Throws: ``VaultError`` with `refused` if such a dependent would lose the record with its values.
  @discardableResult
  func discardRecord(_ record: StoredRecord, _ table: RecordTable) throws -> Int {
    let type = table.entity.type
    if try changes.giveRow(of: record, table) { return record.state.isDeleted ? 0 : 1 }
    try outbox.removeUnfinished(type, record.key)
    try changes.undoUnsentReferences(to: record, table.entity)
    let gone =
      record.state.isDeleted
      ? 0 : try Dependents(connection: connection, entities: catalog.entities).count(of: table.entity, record.key)
    if try SyncSettings.value(.remoteRoutes, in: connection) != nil {
      // The remote has deleted the record, or its parent. Without a route for deletions, the trigger would refuse this one.
      try connection.execute(
        """
        UPDATE \(identifier: table.entity.table.name) SET serverId = NULL WHERE \(identifier: table.entity.key) = \(record.key)
        """)
    }
    try asUser {
      _ = try connection.execute(
        "DELETE FROM \(identifier: table.entity.table.name) WHERE \(identifier: table.entity.key) = \(record.key)")
    }
    // The deletion has queued operations that the server does not need.
    try outbox.removeUnfinished(type, record.key)
    try markClean(record, table)
    return gone
  }

  /// Restores a deleted record as a user does.
  /// - Parameter target: the state that the record receives afterwards; `nil` if it keeps its values. A partial index may have let
  ///   another record take a UNIQUE value of the row meanwhile, which the row then receives from this state.
  func revive(_ record: StoredRecord, _ table: RecordTable, towards target: RecordState? = nil) throws {
    if let target {
      var state = record.state
      for holder in try table.holders(of: state.fields, besides: record.uuid, in: connection) {
        for column in holder.key.columns { state.fields[column.name] = target.fields[column.name] }
      }
      if state != record.state {
        try table.update(
          record.key, from: record.state, to: state,
          .init(serverId: record.serverId, isDirty: record.isDirty, syncStatus: record.syncStatus), in: connection)
      }
    }
    try asUser {
      _ = try connection.execute(
        """
        UPDATE \(identifier: table.entity.table.name) SET isDeleted = 0
        WHERE \(identifier: table.entity.key) = \(record.key) AND isDeleted = 1
        """)
    }
  }

  private func find(_ operationId: String) throws -> QueuedOperation? {
    try QueuedOperation.all(
      where: "operationId = ? AND completedAt IS NULL", [.text(operationId)], in: connection
    ).first
  }

  private func waiting(_ operationId: String) throws -> QueuedOperation {
    guard let operation = try find(operationId) else {
      throw VaultError(
        .noSuchRecord, "no pending operation \(operationId)", remedy: .showOutbox)
    }
    return operation
  }
}
