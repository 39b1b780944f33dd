import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

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
    inbox.facts.clashes = refused.map { RecordIdentity(entityType: $0, entityUuid: $1) }
    try resolveClashes(counts: &counts)
    try restoreSurvivingChildren()
    try sync.noteFilled()
  }

  /// Stores versions that were refused because of a UNIQUE value if another waiting version releases the value.
  package func resolveClashes(counts: inout ApplyCounts) throws {
    let names = inbox.facts.clashes
    for name in names {
      guard let set = try clash(of: name) else { continue }
      var stored = ApplyCounts()
      do {
        try undoable { try store(set, counts: &stored) }
      } catch is UnresolvedClash {
        continue
      } catch let error as SQLError where error.code == .constraint {
        continue
      }
      counts.applied += stored.applied
      counts.merged += stored.merged
      counts.conflicts += stored.conflicts
      counts.kept = max(0, counts.kept - set.count)
    }
    inbox.facts.clashes = []
  }

  private struct UnresolvedClash: Error {}

  /// The most versions of one set. Larger sets stay in the inbox, so that the transaction stays short.
  private static let largestClash = 200

  /// Returns a refused version with the versions that release the values it uses, and with the missing records that these
  /// versions reference; `nil` if a record that does not change, or that has local changes, holds a value.
  private func clash(of name: RecordIdentity) throws -> [RemoteRecord]? {
    var set: [RemoteRecord] = []
    var seen: Set<RecordIdentity> = [name]
    var open = [name]
    while let next = open.popLast() {
      guard set.count < Self.largestClash, let member = try waiting(next) else { return nil }
      let (remote, table) = (member.remote, member.table)
      for parent in try parents(of: member) where seen.insert(parent).inserted { open.append(parent) }
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
        if holder.isDeleted, try reuseRow(of: holder.uuid, for: remote, table) { continue }
        // The row stays, for example because a record references it whose newer version waits for this one.
        if holder.isDeleted, try sync.isDeletedForGood(holder.uuid, table.entity) { continue }
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
      let claimed = try claimedKeys(set)
      try releaseValues(to: set)
      for remote in set {
        // The row of a deletion is not written again, so it keeps the values that no other version needs. Other rows may
        // reference them.
        let keys = remote.state.isDeleted ? claimed[remote.entityUuid] ?? [] : nil
        if let table = catalog.tables[remote.entityType] { try clear(remote, table, keys) }
      }
      for remote in parentsFirst(set.filter { !$0.state.isDeleted }) { try applyNow(remote, counts: &counts) }
    }
  }

  /// Returns the names of the unique keys whose values versions of a set need, by the record that has them.
  private func claimedKeys(_ set: [RemoteRecord]) throws -> [String: Set<String>] {
    var claimed: [String: Set<String>] = [:]
    for remote in set where !remote.state.isDeleted {
      guard let table = catalog.tables[remote.entityType] else { continue }
      for holder in try table.holders(of: remote.state.fields, besides: remote.entityUuid, in: connection) {
        claimed[holder.uuid, default: []].insert(holder.key.name)
      }
    }
    return claimed
  }

  /// Takes the UNIQUE values that versions of a set need from deleted records outside the set, whose rows stay.
  private func releaseValues(to set: [RemoteRecord]) throws {
    let members = Set(set.map(\.entityUuid))
    for remote in set where !remote.state.isDeleted {
      guard let table = catalog.tables[remote.entityType] else { continue }
      for holder in try table.holders(of: remote.state.fields, besides: remote.entityUuid, in: connection)
      where holder.isDeleted && !members.contains(holder.uuid) {
        guard let record = try table.find(holder.uuid, in: connection) else { continue }
        try clear(record, [holder.key], table, isDeletion: true)
        // If a user restores the row, the operation builds on a version that the server merges, so that the row receives the
        // values of the server.
        try connection.execute(
          """
          UPDATE \(identifier: table.entity.table.name) SET syncVersion = syncVersion - 1
          WHERE \(identifier: table.entity.key) = \(record.key) AND syncVersion > 1
          """)
      }
    }
  }

  /// Orders versions: a referenced record before those that reference it. The rest of a cycle keeps its order.
  private func parentsFirst(_ set: [RemoteRecord]) -> [RemoteRecord] {
    var (order, rest) = ([RemoteRecord](), set)
    while !rest.isEmpty {
      let waiting = Set(rest.map(\.entityUuid))
      let ready = rest.filter { remote in
        let parents = catalog.tables[remote.entityType]?.references(in: remote.state.fields) ?? []
        return !parents.contains { $0.uuid != remote.entityUuid && waiting.contains($0.uuid) }
      }
      if ready.isEmpty { return order + rest }
      order += ready
      let done = Set(ready.map(\.entityUuid))
      rest.removeAll { done.contains($0.entityUuid) }
    }
    return order
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

  /// Removes the UNIQUE values from a row whose next version follows in the same set.
  /// - Parameter names: the names of the keys to clear; `nil` for all.
  private func clear(_ remote: RemoteRecord, _ table: RecordTable, _ names: Set<String>? = nil) throws {
    guard let record = try table.find(remote.entityUuid, in: connection), !record.isDirty else { return }
    let keys = try table.uniqueKeys(in: connection).filter { names?.contains($0.name) ?? true }
    try clear(record, keys.map { $0.having(remote.state.fields) }, table, isDeletion: remote.state.isDeleted)
  }

  /// Removes the values of UNIQUE keys from a row. A column becomes NULL if it may, otherwise it receives a value that no other
  /// row has.
  /// - Parameter isDeletion: whether the row is not written again, so that it keeps its references.
  private func clear(
    _ record: StoredRecord, _ keys: [UniqueKey], _ table: RecordTable, isDeletion: Bool
  ) throws {
    var assignments: [SQL] = []
    var names: [String] = []
    for key in keys {
      let cleared = key.clearing(connection.environment, referenced: table.referencedColumns)
      guard let (column, value) = cleared else { continue }
      if isDeletion, column.reference != nil, column.column.isNotNull { continue }
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

/// Changes of a record that take UNIQUE values from records whose newer versions need values of this record.
extension RemoteChanges {
  /// Performs a change of a record. If another record has one of the new values, and its version in the inbox waits for a
  /// value that the change gives up, directly or through others, these versions are stored with the change.
  func exchangingValues(of record: StoredRecord, _ table: RecordTable, _ change: () throws -> Void) throws {
    do {
      try undoable(isPart: true, change)
    } catch let error as SQLError where error.code == .constraint {
      guard case .unique = error.constraint else { throw error }
      let set = try versionsBehind(record, table)
      if set.isEmpty { throw error }
      do {
        try undoable(isPart: true) { try exchange(set, table, change) }
      } catch is UnresolvedClash {
        throw error
      }
    }
  }

  private func exchange(_ set: [RemoteRecord], _ table: RecordTable, _ change: () throws -> Void) throws {
    inbox.isStoringSet = true
    defer { inbox.isStoringSet = false }
    try connection.deferringForeignKeys {
      for remote in set { try clear(remote, table) }
      try change()
      var counts = ApplyCounts()
      for remote in parentsFirst(set) { try applyNow(remote, counts: &counts) }
    }
  }

  /// Returns the newer versions of records without local changes that wait for UNIQUE values of a record, or for those of
  /// such another record.
  private func versionsBehind(_ record: StoredRecord, _ table: RecordTable) throws -> [RemoteRecord] {
    let refused = try refusedVersions(of: table)
    var set: [RemoteRecord] = []
    var seen: Set<String> = [record.uuid]
    var open = [record.uuid]
    while let holder = open.popLast() {
      for (remote, holders) in refused where holders.contains(holder) && seen.insert(remote.entityUuid).inserted {
        guard let waiting = try table.find(remote.entityUuid, in: connection), !waiting.isDirty,
          waiting.state.syncVersion < remote.state.syncVersion
        else { continue }
        set.append(remote)
        open.append(remote.entityUuid)
      }
    }
    return set
  }
}

/// Rows of deleted records that other rows reference by UNIQUE values of several columns.
///
/// Such a reference is to whichever record has the values. If the server has them in another record, that record gets
/// the row: the row cannot be removed before the other record has the values, and two rows cannot have the values at once.
extension RemoteChanges {
  /// Gives the row of a deleted record to the record of a version that has its UNIQUE values.
  /// - Returns: `false` if the row has to stay, or if a reference is to another value or to the local id.
  func reuseRow(of uuid: String, for remote: RemoteRecord, _ table: RecordTable) throws -> Bool {
    let entity = table.entity
    guard try !table.has(remote.entityUuid, in: connection),
      let record = try table.find(uuid, in: connection), try sync.isRemovable(record.key, entity)
    else { return false }
    let others = catalog.entities.dependencies(on: entity).filter { dependency in
      !dependency.key.columns.allSatisfy { pair in
        remote.state.fields[pair.to] != nil && remote.state.fields[pair.to] == record.state.fields[pair.to]
      }
    }
    guard let references = try sync.emptiable(others, on: record.key, of: entity) else { return false }
    try sync.empty(references)
    try BaseTable.forget(entity.type, record.key, in: connection)
    try noteGone(record.key, table)
    try connection.execute(
      """
      UPDATE \(identifier: entity.table.name) SET uuid = \(remote.entityUuid), serverId = NULL, syncVersion = 0
      WHERE \(identifier: entity.key) = \(record.key)
      """)
    return true
  }

  /// Whether records may reference records of an entity by other values than the local id and the UUID.
  private func isReferencedByValues(_ entity: Entity) -> Bool {
    catalog.entities.dependencies(on: entity).contains { dependency in
      dependency.key.columns.contains { ![entity.key, "uuid"].contains($0.to) }
    }
  }

  /// Returns the versions of the inbox that have UNIQUE values of a record.
  func versionsClaimingValues(of record: StoredRecord, _ table: RecordTable) throws -> [RemoteRecord] {
    try refusedVersions(of: table).filter { $0.holders.contains(record.uuid) }.map(\.remote)
  }

  /// Returns the versions of the inbox that rules of a table refuse, with the records that have their UNIQUE values here.
  private func refusedVersions(of table: RecordTable) throws -> [(remote: RemoteRecord, holders: [String])] {
    let versions = try connection.fetch(
      """
      SELECT record FROM SyncInbox WHERE entityType = \(table.entity.type) AND reason = 'refused' ORDER BY rowid
      LIMIT \(Self.largestClash)
      """, as: String.self)
    return try versions.map { try RemoteRecord(json: Array($0.utf8)) }.filter { !$0.state.isDeleted }.map { remote in
      let holders = try table.holders(of: remote.state.fields, besides: remote.entityUuid, in: connection)
      return (remote, holders.map(\.uuid))
    }
  }

  /// Removes a record that the server never had, and gives its row to the record that has its UNIQUE values at the server.
  /// - Returns: `false` if the inbox has no such version, or if the row has to stay.
  /// - Throws: ``VaultError`` with `refused` if records of the server reference the values, and the row cannot go to the
  ///   other record. These records would be deleted as well.
  func giveRow(of record: StoredRecord, _ table: RecordTable) throws -> Bool {
    let entity = table.entity
    guard record.state.syncVersion == 0, isReferencedByValues(entity) else { return false }
    let versions = try versionsClaimingValues(of: record, table)
    for remote in versions {
      do {
        try undoable {
          try outbox.removeUnfinished(entity.type, record.key)
          try connection.execute(
            """
            UPDATE \(identifier: entity.table.name) SET isDeleted = 1, isDirty = 0
            WHERE \(identifier: entity.key) = \(record.key)
            """)
          guard try reuseRow(of: record.uuid, for: remote, table) else { throw UnresolvedClash() }
          var counts = ApplyCounts()
          try applyNow(remote, counts: &counts)
        }
        return true
      } catch is UnresolvedClash {
        continue
      }
    }
    try refuseWithDependentsOfServer(record, table, hasArrived: !versions.isEmpty)
    return false
  }
}
