import CipherSQL
import SyncModel

/// Versions from the server that take UNIQUE values from each other.
///
/// The server had them in another order, or made one of several steps. Applied as a set they are right, though SQLite, which
/// checks each row, refuses any first one.
extension SyncTransaction {
  /// Applies changes as a set: what others refer to first, and so that UNIQUE values may move between records in any order.
  package func apply(_ changes: [RemoteRecord], counts: inout ApplyCounts) throws {
    let types = catalog.parentsFirst.enumerated().map { ($1.entity.type, $0) }
    let ranks = Dictionary(types, uniquingKeysWith: { first, _ in first })
    let ordered = changes.enumerated().map { (rank: ranks[$1.entityType] ?? .max, place: $0, change: $1) }.sorted {
      ($0.rank, $0.place) < ($1.rank, $1.place)
    }
    for (_, _, change) in ordered { try apply(change, counts: &counts) }
    try resolveClashes(counts: &counts)
  }

  /// Does what waits for the last page of a pull.
  package func endPull(counts: inout ApplyCounts) throws {
    // What was refused on an earlier page may have its place now.
    let refused = try connection.fetchRows(
      "SELECT entityType, entityUuid FROM SyncInbox WHERE reason = 'refused' ORDER BY rowid LIMIT \(Self.largestClash)",
      as: String.self, String.self)
    inbox.clashes = refused.map { RecordIdentity(entityType: $0, entityUuid: $1) }
    try resolveClashes(counts: &counts)
    try restoreSurvivingChildren()
    try noteFilled()
  }

  /// Stores what was refused because of a UNIQUE value, where the record that holds the value gives it up.
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

  /// More versions than this that wait for each other stay in the inbox: a transaction has to be short.
  private static let largestClash = 200

  /// A refused version with those that give up what it takes; nil where a record that does not change, or that has changes of this
  /// device, holds a value.
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
        // The version, or a newer one, was stored after this one was kept. Clearing the record would leave its UNIQUE values empty.
        try forgetKept(next.entityType, next.entityUuid)
        return nil
      }
      // What was changed here can only be merged with the version as it came. The server does that when it gets the change.
      if remote.state.isDeleted, record?.isDirty == true { return nil }
      set.append(remote)
      // The server keeps the values of a deleted record beside it, and another record may have them.
      if remote.state.isDeleted { continue }
      for holder in try table.holders(of: remote.state.fields, besides: remote.entityUuid, in: connection) {
        if holder.isDirty { return nil }
        // The server has the deletion, so the row is only to be removed.
        if holder.isDeleted, try purgeDeleted(holder.uuid, of: table) { continue }
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

  /// Applies a kept version.
  /// - Throws: ``UnresolvedClash`` when it is kept again.
  private func applyNow(_ remote: RemoteRecord, counts: inout ApplyCounts) throws {
    try forgetKept(remote.entityType, remote.entityUuid)
    try apply(remote, counts: &counts)
    let isKept = try connection.fetchOne(
      "SELECT 1 FROM SyncInbox WHERE entityType = \(remote.entityType) AND entityUuid = \(remote.entityUuid)",
      as: Int.self)
    if isKept != nil { throw UnresolvedClash() }
  }

  /// Applies a deletion whose version has UNIQUE values of another record: the row keeps its own as long as it stays here.
  private func delete(_ remote: RemoteRecord, from table: RecordTable, counts: inout ApplyCounts) throws {
    guard let record = try table.find(remote.entityUuid, in: connection) else {
      return try forgetKept(remote.entityType, remote.entityUuid)
    }
    var remote = remote
    for key in try table.uniqueKeys(in: connection) {
      for column in key.columns { remote.state.fields[column.name] = record.state.fields[column.name] }
    }
    try applyNow(remote, counts: &counts)
    guard try !purgeDeleted(remote.entityUuid, of: table) else { return }
    // Restored by a user, the row starts from the version whose values it has, and the server answers with its own.
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) SET syncVersion = \(record.state.syncVersion)
      WHERE \(identifier: table.entity.key) = \(record.key)
      """)
  }

  /// Takes the UNIQUE values from the row of a version that is stored next, and so gives them to the columns again: NULL where the
  /// column takes it, else a value that no other row has.
  private func clear(_ remote: RemoteRecord, _ table: RecordTable) throws {
    guard let record = try table.find(remote.entityUuid, in: connection), !record.isDirty else { return }
    var assignments: [SQL] = []
    for key in try table.uniqueKeys(in: connection) {
      guard let (column, value) = key.having(remote.state.fields).clearing else { continue }
      // The row of a deletion is not written again, so its reference stays.
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
