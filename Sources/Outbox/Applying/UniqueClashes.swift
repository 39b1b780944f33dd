import CipherSQL
import RecordStore
import SyncModel

/// Versions from the server whose UNIQUE values move between records.
///
/// The server stored them in another order, or in several steps. SQLite checks each row, so it would refuse any first
/// one, although the set as a whole is valid.
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
        try connection.savepoint { try store(set, counts: &stored) }
      } catch is UnresolvedClash {
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

  /// Returns a refused version with the versions that release the values it takes; `nil` if a record that does not
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
    for key in try table.uniqueKeys(in: connection) {
      guard let (column, value) = key.having(remote.state.fields).clearing(connection.environment) else { continue }
      // The row of a deletion is not written again, so it keeps its reference.
      if remote.state.isDeleted, column.reference != nil, column.column.isNotNull { continue }
      assignments.append("\(identifier: column.name) = \(value)")
    }
    guard let first = assignments.first else { return }
    let all = assignments.dropFirst().reduce(first) { "\($0), \($1)" }
    try connection.withoutChecks {
      _ = try connection.execute(
        """
        UPDATE \(identifier: table.entity.table.name) SET \(all) WHERE \(identifier: table.entity.key) = \(record.key)
        """)
    }
  }
}
