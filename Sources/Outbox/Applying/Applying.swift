import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// The results of applying versions from the server.
package struct ApplyCounts: Sendable, Equatable {
  /// Records that were inserted or changed.
  package var applied = 0
  package var merged = 0
  package var conflicts = 0
  /// Versions that wait in the inbox.
  package var kept = 0

  package init() {}
}

/// Applies versions of records from the server: one by one, as a page, after a comparison and after a new epoch.
package struct RemoteChanges: SyncComponent {
  let sync: SyncTransaction

  /// Applies a version of a record, or puts it into the inbox.
  package func apply(_ remote: RemoteRecord, counts: inout ApplyCounts) throws {
    guard let table = catalog.tables[remote.entityType] else {
      // No later schema can have such an entity either.
      guard RemoteRecord.isEntityType(remote.entityType) else { return }
      counts.kept += 1
      return try keep(remote, "unknown_entity", waitsFor: nil, detail: "this vault has no table for the entity yet")
    }
    do {
      try apply(remote, to: table, counts: &counts)
    } catch let missing as MissingReferences {
      counts.kept += 1
      try keep(remote, missing)
      try breakCircle(through: remote, counts: &counts)
    }
  }

  private func apply(_ remote: RemoteRecord, to table: RecordTable, counts: inout ApplyCounts) throws {
    guard try table.has(remote.entityUuid, in: connection),
      let record = try table.find(remote.entityUuid, in: connection)
    else {
      return try insert(remote, into: table, counts: &counts)
    }
    guard remote.state.syncVersion > record.state.syncVersion else {
      return try forgetKept(remote, upTo: record.state.syncVersion)
    }
    if try !QueuedOperation.sealed(table.entity.type, record.key, in: connection).isEmpty {
      // Only the response tells whether this version includes the operation.
      counts.kept += 1
      return try keep(remote, "in_flight", waitsFor: nil, detail: "an operation of the record waits for its response")
    }
    var rebasing: Rebasing?
    let isStored = try storing(remote, table) {
      if record.isDirty {
        let base = try BaseTable.find(table.entity.type, record.key, in: connection)
        rebasing = try rebase(record, base: base, on: remote, table)
      } else {
        try take(remote, over: record, table)
      }
      if remote.state.isDeleted { try noteGone(record.key, table) }
      try keepUnknownFields(of: remote, table)
    }
    guard isStored else { return counts.kept += 1 }
    try forgetKept(remote, upTo: remote.state.syncVersion)
    counts.applied += 1
    if let rebasing {
      if rebasing == .conflict { counts.conflicts += 1 } else { counts.merged += 1 }
    }
    if remote.state.isDeleted, !record.state.isDeleted {
      counts.conflicts += try openConflictsOfOrphans(of: record.key, table.entity.type, kind: .deletedRemotely)
    }
  }

  private func insert(_ remote: RemoteRecord, into table: RecordTable, counts: inout ApplyCounts) throws {
    func insert() throws {
      try table.insert(
        remote.entityUuid, remote.state,
        .init(serverId: remote.serverId, createdAt: remote.createdAt, lastSyncedAt: serverNow), references: references,
        in: connection)
    }
    do {
      if table.defersForeignKeys { try checked(insert) } else { try insert() }
    } catch let error where remote.state.isDeleted && !inbox.isRestoring && Self.isRefusal(error) {
      // This device has nothing that the deletion concerns.
      return try forgetKept(remote, upTo: remote.state.syncVersion)
    } catch let error as SQLError where error.code == .constraint {
      counts.kept += 1
      return try refuse(remote, error, table)
    } catch let error as VaultError where error.code == .badValue {
      counts.kept += 1
      return try keep(remote, "refused", waitsFor: nil, detail: error.message)
    }
    counts.applied += 1
    try keepUnknownFields(of: remote, table)
    // The inbox may have received a newer version since this one was requested.
    try forgetKept(remote, upTo: remote.state.syncVersion)
    try admitWaiting(for: remote.entityUuid, counts: &counts)
  }

  /// Performs changes of one record. Within a set, only the foreign keys of the whole set are checked.
  private func checked(_ body: () throws -> Void) throws {
    if inbox.isStoringSet { try connection.savepoint(body) } else { try connection.checkedSavepoint(body) }
  }

  /// Stores a version, or puts it into the inbox if a referenced record is missing or a rule of the table refuses it.
  /// In this case nothing of `body` remains: with a partial version, the next merge would treat old values as new.
  /// - Returns: whether the version was stored.
  func storing(_ remote: RemoteRecord, _ table: RecordTable, _ body: () throws -> Void) throws -> Bool {
    do {
      try checked(body)
    } catch let missing as MissingReferences {
      try keep(remote, missing)
      return false
    } catch let error as SQLError where error.code == .constraint {
      try refuse(remote, error, table)
      return false
    } catch let error as VaultError where error.code == .badValue {
      try keep(remote, "refused", waitsFor: nil, detail: error.message)
      return false
    } catch let unsendable as UnsendableField {
      try keep(
        remote, "refused", waitsFor: nil, detail: "\(unsendable.message), so the two versions cannot be merged")
      return false
    }
    return true
  }

  /// Gives the server's version to a record without local changes.
  private func take(_ remote: RemoteRecord, over record: StoredRecord, _ table: RecordTable) throws {
    var state = remote.state
    let isTaken = try isTaken(record.key, table)
    if isTaken, record.state.syncVersion == 0 { try noteLostValues(of: record, under: remote, table) }
    if isTaken { state.isDeleted = true } else if record.state.isDeleted { try noteGone(record.key, table) }
    try table.update(
      record.key, from: record.state, to: state,
      .init(
        serverId: remote.serverId, createdAt: record.corrected(createdAt: remote.createdAt), lastSyncedAt: serverNow),
      references: references, isGone: remote.state.isDeleted, in: connection)
    if !isTaken, record.state.isDeleted, !state.isDeleted { try restoreDependents(of: record.key, table) }
    guard isTaken, !remote.state.isDeleted, try !restoreIfReparented(record.key, table) else { return }
    // A cascade deleted the record on this device, and the server learns of that later.
    try conflicts.noteOverwritten(
      [OverwrittenValue(field: RecordState.deletionField, side: .remote, value: false)], base: record.state,
      local: record.state, remote: remote.state, kind: .deletedLocally, record, table, resolution: "local_wins")
  }

  /// Stores the values of a cascaded record that the server lost, before a version of another device replaces them. If
  /// the deletion is undone, no other row shows the edits that this device had sent.
  private func noteLostValues(of record: StoredRecord, under remote: RemoteRecord, _ table: RecordTable) throws {
    let lost = record.state.fields.members.filter { field in
      field.value != .null && remote.state.fields[field.name] != field.value && !table.rules[field.name].isComputed
    }
    try conflicts.noteOverwritten(
      lost.map { OverwrittenValue(field: $0.name, side: .local, value: $0.value) }, base: nil, local: record.state,
      remote: remote.state, record, table, resolution: "remote_wins")
  }

  /// The result for a record with local changes.
  package enum Rebasing: Sendable { case clean, queued, conflict }

  /// Rebases the changes since `base` on the server's version.
  /// - Throws: ``UnsendableField`` if a value of the record cannot be merged.
  @discardableResult
  func rebase(
    _ record: StoredRecord, base: RecordState?, on remote: RemoteRecord, _ table: RecordTable
  ) throws -> Rebasing {
    let type = table.entity.type
    if let unsendable = record.unsendable { throw unsendable }
    let result = merge(
      base: base, local: record.state, remote: remote.state, rules: table.rules,
      clock: MergeClock(serverNow: serverNow, localOffset: clockOffset))
    if let conflict = result.conflict {
      try conflicts.open(conflict.kind, conflict.fields, base: base, remote: remote.state, record, table)
      return .conflict
    }
    try conflicts.noteOverwritten(
      result.lost, base: base, local: record.state, remote: remote.state, kind: result.kind ?? .concurrentEdit, record,
      table, resolution: nil)
    try conflicts.close(
      of: record, table, resolution: "merge", by: "policy", note: "merged with the newer version of the server")
    var record = record
    if record.state.isDeleted, !result.merged.isDeleted {
      // The deletion lost, so the record is restored with the records that were cascaded.
      try sync.asUser { try sync.revive(record, table) }
      try restoreDependents(of: record.key, table)
      record = try table.find(key: record.key, in: connection) ?? record
    }
    let pending = try QueuedOperation.pending(type, record.key, in: connection)
    let isDone = !result.needsPush
    if isDone {
      for operation in pending { try outbox.remove(operation) }
      try BaseTable.forget(type, record.key, in: connection)
    } else {
      try BaseTable.set(
        table.base(from: remote.state, over: base), type, record.key, keepsUserEdits: table.keepsUserEdits,
        in: connection)
      try outbox.queue(result.patchToPush.isDeleted == true ? .delete : .update, record, table, pending: pending)
      for operation in pending { try outbox.apply(.conflictResolved, to: operation) }
    }
    var merged = result.merged
    // The times of a merge are the server's. The row keeps the time of this device.
    merged.updatedAt = isDone ? remote.state.updatedAt : record.state.updatedAt
    try table.update(
      record.key, from: record.state, to: merged,
      .init(
        serverId: remote.serverId ?? record.serverId, createdAt: record.corrected(createdAt: remote.createdAt),
        isDirty: !isDone, syncStatus: isDone ? "synced" : "pending", lastSyncedAt: serverNow), references: references,
      isGone: remote.state.isDeleted, in: connection)
    try table.compute(result.fieldsToCompute, ofKey: record.key, in: connection)
    return isDone ? .clean : .queued
  }

  /// Opens conflicts for new records whose parent the server deleted. They are shown and never dropped.
  func openConflictsOfOrphans(of key: Int64, _ type: String, kind: ConflictKind) throws -> Int {
    var count = 0
    for (table, column) in catalog.children(of: type) {
      var orphans: [StoredRecord] = []
      try table.forEach(
        where: """
          \(column.refers("record", to: key)) AND record.isDirty = 1 AND record.isDeleted = 0
            AND record.syncVersion = 0 AND record.syncStatus <> 'conflict'
          """, in: connection
      ) { orphans.append($0) }
      for orphan in orphans {
        guard try QueuedOperation.sealed(table.entity.type, orphan.key, in: connection).isEmpty else { continue }
        try conflicts.open(kind, [column.name], base: nil, remote: nil, orphan, table)
        count += 1
      }
    }
    return count
  }
}

/// Versions from the server whose UNIQUE values move between records.
///
/// The server stored them in another order, or in several steps. SQLite checks each row, so it would refuse the first
/// one, although the set is valid.
extension RemoteChanges {
  /// Applies a page as a set: referenced records first, and UNIQUE values in any order.
  package func apply(_ changes: [RemoteRecord], counts: inout ApplyCounts) throws {
    let types = catalog.parentsFirst.enumerated().map { ($1.entity.type, $0) }
    let ranks = Dictionary(types, uniquingKeysWith: { first, _ in first })
    let ordered = changes.enumerated().map { (rank: ranks[$1.entityType] ?? .max, place: $0, change: $1) }.sorted {
      ($0.rank, $0.place) < ($1.rank, $1.place)
    }
    for (_, _, change) in ordered { try apply(change, counts: &counts) }
    try resolveClashes(counts: &counts)
  }

  /// Performs the work that follows the last page of a pull.
  package func endPull(counts: inout ApplyCounts) throws {
    // Versions that were refused on an earlier page may fit now.
    let refused = try connection.fetchRows(
      "SELECT entityType, entityUuid FROM SyncInbox WHERE reason = 'refused' ORDER BY rowid LIMIT \(Self.largestClash)",
      as: String.self, String.self)
    inbox.clashes = refused.map { RecordIdentity(entityType: $0, entityUuid: $1) }
    try resolveClashes(counts: &counts)
    try restoreSurvivingChildren()
    try sync.noteFilled()
  }

  /// Stores versions that were refused because of a UNIQUE value if another waiting version releases the value.
  package func resolveClashes(counts: inout ApplyCounts) throws {
    let names = inbox.clashes
    for name in names {
      guard let set = try clash(of: name) else { continue }
      var stored = ApplyCounts()
      do {
        try connection.checkedSavepoint { try store(set, counts: &stored) }
      } catch is UnresolvedClash {
        continue
      } catch let error as SQLError where error.constraint == .foreignKey {
        continue
      }
      counts.applied += stored.applied
      counts.merged += stored.merged
      counts.conflicts += stored.conflicts
      counts.kept = max(0, counts.kept - set.count)
    }
    inbox.clashes = []
  }

  private struct UnresolvedClash: Error {}

  /// The most versions of one set. Larger sets stay in the inbox, so that the transaction stays short.
  private static let largestClash = 200

  /// Returns a refused version with the versions that release the values it uses; `nil` if a record that does not
  /// change, or that has local changes, holds a value.
  private func clash(of name: RecordIdentity) throws -> [RemoteRecord]? {
    var set: [RemoteRecord] = []
    var seen: Set<RecordIdentity> = [name]
    var open = [name]
    while let next = open.popLast() {
      let json = try connection.fetchOne(
        """
        SELECT record FROM SyncInbox
        WHERE entityType = \(next.entityType) AND entityUuid = \(next.entityUuid) AND reason = 'refused'
        """, as: String.self)
      guard let json, set.count < Self.largestClash, let table = catalog.tables[next.entityType] else { return nil }
      let remote = try RemoteRecord(json: Array(json.utf8))
      let record = try table.find(remote.entityUuid, in: connection)
      if let version = record?.state.syncVersion, version >= remote.state.syncVersion {
        // The inbox version is obsolete: this version, or a newer one, was stored later. Clearing the record would
        // leave its UNIQUE values empty.
        try forgetKept(next.entityType, next.entityUuid)
        return nil
      }
      // Local changes can only be merged with the complete version. The server merges when it receives them.
      if remote.state.isDeleted, record?.isDirty == true { return nil }
      set.append(remote)
      // The server keeps the values of a deleted record outside the unique keys, so another record may have them.
      if remote.state.isDeleted { continue }
      for holder in try table.holders(of: remote.state.fields, besides: remote.entityUuid, in: connection) {
        if holder.isDirty { return nil }
        // The server has acknowledged the deletion, so the row can be removed.
        if holder.isDeleted, try sync.purgeDeleted(holder.uuid, of: table) { continue }
        let key = RecordIdentity(entityType: next.entityType, entityUuid: holder.uuid)
        if seen.insert(key).inserted { open.append(key) }
      }
    }
    return set
  }

  private func store(_ set: [RemoteRecord], counts: inout ApplyCounts) throws {
    inbox.isStoringSet = true
    defer { inbox.isStoringSet = false }
    try connection.deferringForeignKeys {
      for remote in set where remote.state.isDeleted {
        guard let table = catalog.tables[remote.entityType] else { continue }
        try delete(remote, from: table, counts: &counts)
      }
      for remote in set {
        if let table = catalog.tables[remote.entityType] { try clear(remote, table) }
      }
      for remote in set where !remote.state.isDeleted { try applyNow(remote, counts: &counts) }
    }
  }

  /// Applies a version from the inbox.
  /// - Throws: ``UnresolvedClash`` if the version returns to the inbox.
  private func applyNow(_ remote: RemoteRecord, counts: inout ApplyCounts) throws {
    try forgetKept(remote.entityType, remote.entityUuid)
    try apply(remote, counts: &counts)
    let isKept = try connection.fetchOne(
      "SELECT 1 FROM SyncInbox WHERE entityType = \(remote.entityType) AND entityUuid = \(remote.entityUuid)",
      as: Int.self)
    if isKept != nil { throw UnresolvedClash() }
  }

  /// Applies a deletion whose version has UNIQUE values of another record. The row keeps its own values until it is
  /// removed.
  private func delete(_ remote: RemoteRecord, from table: RecordTable, counts: inout ApplyCounts) throws {
    guard let record = try table.find(remote.entityUuid, in: connection) else {
      return try forgetKept(remote.entityType, remote.entityUuid)
    }
    var remote = remote
    for key in try table.uniqueKeys(in: connection) {
      for column in key.columns { remote.state.fields[column.name] = record.state.fields[column.name] }
    }
    try applyNow(remote, counts: &counts)
    guard try !sync.purgeDeleted(remote.entityUuid, of: table) else { return }
    // If a user restores the row, the operation builds on the version whose values the row has, and the server
    // merges.
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) SET syncVersion = \(record.state.syncVersion)
      WHERE \(identifier: table.entity.key) = \(record.key)
      """)
  }

  /// Removes the UNIQUE values from a row whose next version follows in the same set. A column becomes NULL if it
  /// may, otherwise it receives a value that no other row has.
  private func clear(_ remote: RemoteRecord, _ table: RecordTable) throws {
    guard let record = try table.find(remote.entityUuid, in: connection), !record.isDirty else { return }
    var assignments: [SQL] = []
    var names: [String] = []
    for key in try table.uniqueKeys(in: connection) {
      let having = key.having(remote.state.fields)
      let cleared = having.clearing(connection.environment, referenced: table.referencedColumns)
      guard let (column, value) = cleared else { continue }
      // The row of a deletion is not written again, so it keeps its reference.
      if remote.state.isDeleted, column.reference != nil, column.column.isNotNull { continue }
      assignments.append("\(identifier: column.name) = \(value)")
      names.append(column.name)
    }
    guard let first = assignments.first else { return }
    let all = assignments.dropFirst().reduce(first) { "\($0), \($1)" }
    try connection.withoutChecks {
      try table.keepingReferences(to: record.key, changing: names, in: connection) {
        _ = try connection.execute(
          """
          UPDATE \(identifier: table.entity.table.name) SET \(all) WHERE \(identifier: table.entity.key) = \(record.key)
          """)
      }
    }
  }
}
