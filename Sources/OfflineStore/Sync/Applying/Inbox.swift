import CipherSQL
import SyncModel

/// What a transaction knows of the inbox and has left to do there.
final class InboxState {
  /// Whether anything is in the inbox or among the kept fields, so that each record of a page need not ask.
  fileprivate var isEmpty: Bool?
  var hasFields: Bool?
  /// Kept versions that were let in.
  fileprivate var admitted = 0
  /// Records that have come, and that more versions wait for than one transaction lets in.
  fileprivate var arrived: [String] = []
  /// Versions that were refused because another record has a UNIQUE value of theirs.
  var clashes: [RecordIdentity] = []

  /// The inbox was emptied.
  func clear() { isEmpty = true }
}

/// Names a record everywhere.
struct RecordIdentity: Hashable {
  let entityType: String
  let entityUuid: String
}

/// How far the inbox was gone through, across transactions. What is kept anew comes behind the end.
package struct InboxCursor: Sendable {
  fileprivate var last: Int64 = 0
  fileprivate var end: Int64?

  /// At the beginning.
  package init() {}
}

/// Records from the server that cannot be stored yet: the table `SyncInbox`.
extension SyncTransaction {
  /// Keeps a version for later. A newer one that is kept already stays.
  func keep(_ remote: RemoteRecord, _ reason: String, waitsFor: String?, detail: String) throws {
    inbox.isEmpty = false
    try connection.execute(
      """
      INSERT INTO SyncInbox (entityType, entityUuid, record, reason, waitsFor, detail)
      VALUES (\(remote.entityType), \(remote.entityUuid), \(remote.wire.json), \(reason), \(waitsFor.sqlArgument), \(detail))
      ON CONFLICT (entityType, entityUuid) DO UPDATE SET record = excluded.record, reason = excluded.reason,
        waitsFor = excluded.waitsFor, detail = excluded.detail
      WHERE json_extract(excluded.record, '$.version') >= json_extract(record, '$.version')
      """)
  }

  func keep(_ remote: RemoteRecord, _ missing: MissingReferences) throws {
    let first = missing.references[0]
    try keep(
      remote, "parent_missing", waitsFor: first.uuid,
      detail: "\(first.column) refers to a \(first.entityType) that has not come yet")
  }

  func forgetKept(_ type: String, _ uuid: String) throws {
    guard try !isInboxEmpty() else { return }
    try connection.execute("DELETE FROM SyncInbox WHERE entityType = \(type) AND entityUuid = \(uuid)")
  }

  /// Forgets what is kept of a record when it is not newer than a version that is stored.
  func forgetKept(_ remote: RemoteRecord, upTo version: Int64) throws {
    guard try !isInboxEmpty() else { return }
    try connection.execute(
      """
      DELETE FROM SyncInbox WHERE entityType = \(remote.entityType) AND entityUuid = \(remote.entityUuid)
        AND json_extract(record, '$.version') <= \(version)
      """)
  }

  /// A record that breaks a rule of this vault's tables: of a newer schema, or taken already by a record that was made
  /// here and not sent.
  func refuse(_ remote: RemoteRecord, _ error: SQLError, _ table: RecordTable) throws {
    if case .unique = error.constraint {
      inbox.clashes.append(RecordIdentity(entityType: remote.entityType, entityUuid: remote.entityUuid))
    }
    let (field, message) = ConstraintMessage(entity: table.entity).explain(error, connection)
    try keep(remote, "refused", waitsFor: nil, detail: field.map { "\($0) \(message)" } ?? message)
  }

  /// Kept versions that one transaction lets in, so that it stays short.
  static let admissionsAtOnce = 500

  /// Lets in what waited for a record that is there now. What is too much for this transaction is named by ``arrived``.
  func admitWaiting(for uuid: String, counts: inout ApplyCounts) throws {
    guard try !isInboxEmpty() else { return }
    let room = Self.admissionsAtOnce - inbox.admitted
    let found = inbox.admitted
    if room > 0 {
      try admit("waitsFor = ? ORDER BY rowid LIMIT \(room)", [.text(uuid)], counts: &counts)
      if inbox.admitted - found < room { return }
    }
    let isLeft =
      try connection.fetchOne("SELECT 1 FROM SyncInbox WHERE waitsFor = \(uuid) LIMIT 1", as: Int.self) != nil
    if isLeft, !inbox.arrived.contains(uuid) { inbox.arrived.append(uuid) }
  }

  /// Records that have come, and that more versions wait for than this transaction has let in. To be given to
  /// ``admit(arrived:counts:)`` in a transaction of its own.
  package var arrived: [String] { inbox.arrived }

  /// Goes on with what waits for records that have come.
  package func admit(arrived uuids: [String], counts: inout ApplyCounts) throws {
    for uuid in uuids { try admitWaiting(for: uuid, counts: &counts) }
    try resolveClashes(counts: &counts)
  }

  /// Lets in what came for a record while an operation of it was under way.
  func admit(_ uuid: String, counts: inout PushCounts) throws {
    guard try !isInboxEmpty() else { return }
    var applied = ApplyCounts()
    try admit("entityUuid = ? AND reason = 'in_flight' ORDER BY rowid", [.text(uuid)], counts: &applied)
    counts.conflicts += applied.conflicts
  }

  /// Tries again what waits for reasons that may have gone: a migration, a record that was in the way.
  /// - Parameters:
  ///   - place: where to go on.
  ///   - limit: how many versions at most.
  /// - Returns: whether there are more.
  package func admitAgain(from place: inout InboxCursor, limit: Int, counts: inout ApplyCounts) throws -> Bool {
    let newest = try connection.fetchOne("SELECT coalesce(max(rowid), 0) FROM SyncInbox", as: Int64.self) ?? 0
    let end = place.end ?? newest
    place.end = end
    let (first, last) = (place.last, min(end, newest))
    guard first < last else { return false }
    let through =
      try connection.fetchOne(
        """
        SELECT max(rowid) FROM (
          SELECT rowid FROM SyncInbox WHERE rowid > \(first) AND rowid <= \(last) ORDER BY rowid LIMIT \(limit))
        """, as: Int64?.self) ?? nil
    guard let through else { return false }
    place.last = through
    try admit("rowid > ? AND rowid <= ? ORDER BY rowid", [.integer(first), .integer(through)], counts: &counts)
    try resolveClashes(counts: &counts)
    return through < last
  }

  /// Tries again all that waits, for a migration, which is one transaction anyway.
  func admitAgain(counts: inout ApplyCounts) throws {
    var place = InboxCursor()
    while try admitAgain(from: &place, limit: Self.admissionsAtOnce, counts: &counts) {}
  }

  private func isInboxEmpty() throws -> Bool {
    if let known = inbox.isEmpty { return known }
    let isEmpty = try connection.fetchOne("SELECT 1 FROM SyncInbox LIMIT 1", as: Int.self) == nil
    inbox.isEmpty = isEmpty
    return isEmpty
  }

  private func admit(_ condition: String, _ arguments: [SQLArgument], counts: inout ApplyCounts) throws {
    let waiting = try connection.fetch(
      SQL(raw: "SELECT record FROM SyncInbox WHERE \(condition)", arguments: arguments), as: String.self)
    inbox.admitted += waiting.count
    for json in waiting {
      let remote = try RemoteRecord(json: Array(json.utf8))
      // Kept anew when it still cannot be stored.
      try forgetKept(remote.entityType, remote.entityUuid)
      try apply(remote, counts: &counts)
    }
  }
}

/// What records of the server refer to.
package struct MissingParents {
  let catalog: SyncCatalog
  let connection: Connection

  package init(catalog: SyncCatalog, connection: Connection) {
    (self.catalog, self.connection) = (catalog, connection)
  }

  /// A record that is not on this device.
  package typealias Parent = (entityType: String, uuid: String)

  /// The records that changes refer to, and that are neither on this device nor among the changes.
  /// - Parameter withDeleted: whether changes of deleted records count.
  package func of(_ changes: [RemoteRecord], withDeleted: Bool = false) throws -> [Parent] {
    var seen = Set(changes.map { RecordIdentity(entityType: $0.entityType, entityUuid: $0.entityUuid) })
    var missing: [Parent] = []
    for change in changes where withDeleted || !change.state.isDeleted {
      for column in catalog.tables[change.entityType]?.references ?? [] {
        guard let type = column.reference?.entityType, case .text(let uuid)? = change.state.fields[column.name],
          seen.insert(RecordIdentity(entityType: type, entityUuid: uuid)).inserted, let table = catalog.tables[type],
          try !table.has(uuid, in: connection)
        else { continue }
        missing.append((type, uuid))
      }
    }
    return missing
  }

  /// The records that versions in the inbox wait for, in the order of their uuids; each is looked up once, however many wait for
  /// it.
  /// - Parameter uuid: those behind this one.
  package func ofInbox(after uuid: String, limit: Int) throws -> [Parent] {
    var parents: [Parent] = []
    var last = uuid
    while parents.count < limit,
      let (json, next) = try connection.fetchRows(
        "SELECT record, waitsFor FROM SyncInbox WHERE waitsFor > \(last) ORDER BY waitsFor LIMIT 1",
        as: String.self, String.self
      ).first
    {
      last = next
      let remote = try RemoteRecord(json: Array(json.utf8))
      for column in catalog.tables[remote.entityType]?.references ?? []
      where remote.state.fields[column.name] == .text(next) {
        if let reference = column.reference { parents.append((reference.entityType, next)) }
      }
    }
    return parents
  }
}
