import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// The state of the inbox that a transaction has read, and the work that remains in the inbox.
final class InboxState {
  /// Facts about the tables, which are undone with them.
  struct Facts {
    /// Whether the inbox or the kept fields have a row. Read once, so that the records of a page need no query each.
    fileprivate var isEmpty: Bool?
    var hasFields: Bool?
    /// Records that arrived and that more versions wait for than one transaction applies.
    fileprivate var arrived: [String] = []
    /// Versions that were refused because another record has one of their UNIQUE values.
    var clashes: [RecordIdentity] = []
  }

  var facts = Facts()
  /// The number of inbox versions that were applied. Undone work counts as well, because it makes the transaction longer.
  fileprivate var admitted = 0
  /// Whether versions are stored that only fit together.
  var isStoringSet = false
  /// Whether a user restores the deleted records whose versions are stored.
  var isRestoring = false

  /// Performs changes in a savepoint. If they fail, the facts are undone with the tables.
  func undoing(_ savepoint: () throws -> Void) throws {
    let before = facts
    do {
      try savepoint()
    } catch {
      facts = before
      throw error
    }
  }

  /// Notes that versions were removed from the inbox.
  func noteRemoval() { facts.isEmpty = nil }
}

/// The entity and the UUID of a record.
package struct RecordIdentity: Hashable, Sendable {
  package let entityType: String
  package let entityUuid: String

  package init(entityType: String, entityUuid: String) { (self.entityType, self.entityUuid) = (entityType, entityUuid) }
}

/// A position in the inbox, across transactions. Versions that return to the inbox are after the end.
package struct InboxCursor: Equatable, Sendable {
  fileprivate var last: Int64 = 0
  fileprivate var end: Int64?

  /// Creates the position of the first version.
  package init() {}
}

/// Versions from the server that cannot be stored yet: the table `SyncInbox`.
extension RemoteChanges {
  /// Puts a version into the inbox, unless the inbox has a newer one.
  package func keep(_ remote: RemoteRecord, _ reason: String, waitsFor: String?, detail: String) throws {
    inbox.facts.isEmpty = false
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
    // The record itself arrives only with this version.
    let other = missing.references.first { $0.entityType != remote.entityType || $0.uuid != remote.entityUuid }
    let parent = other ?? missing.references[0]
    try keep(
      remote, "parent_missing", waitsFor: parent.uuid,
      detail: "\(parent.column) refers to a \(parent.entityType) that has not been fetched yet")
  }

  func forgetKept(_ type: String, _ uuid: String) throws {
    guard try !isInboxEmpty() else { return }
    try connection.execute("DELETE FROM SyncInbox WHERE entityType = \(type) AND entityUuid = \(uuid)")
  }

  /// Removes the version of a record from the inbox if it is not newer than the stored version.
  func forgetKept(_ remote: RemoteRecord, upTo version: Int64) throws {
    guard try !isInboxEmpty() else { return }
    try connection.execute(
      """
      DELETE FROM SyncInbox WHERE entityType = \(remote.entityType) AND entityUuid = \(remote.entityUuid)
        AND json_extract(record, '$.version') <= \(version)
      """)
  }

  /// Puts a version into the inbox that breaks a rule of the tables: it is of a newer schema, or a local record that
  /// was not sent has its UNIQUE value.
  func refuse(_ remote: RemoteRecord, _ error: SQLError, _ table: RecordTable) throws {
    if case .unique = error.constraint {
      inbox.facts.clashes.append(RecordIdentity(entityType: remote.entityType, entityUuid: remote.entityUuid))
    }
    let (field, message) = ConstraintMessage(entity: table.entity).explain(error, connection)
    try keep(remote, "refused", waitsFor: nil, detail: field.map { "\($0) \(message)" } ?? message)
  }

  /// Whether the tables refuse a version, or a record that it references is missing.
  static func isRefusal(_ error: any Error) -> Bool {
    switch error {
    case is MissingReferences: true
    case let error as SQLError: error.code == .constraint
    case let error as VaultError: error.code == .badValue
    default: false
    }
  }

  /// The most inbox versions that one transaction applies, so that it stays short.
  static let admissionsAtOnce = 500

  /// Applies the versions that waited for a record that exists now. ``arrived`` lists the records that further
  /// versions wait for.
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
    if isLeft, !inbox.facts.arrived.contains(uuid) { inbox.facts.arrived.append(uuid) }
  }

  /// The records that further versions of the inbox wait for. Pass them to ``admit(arrived:counts:)`` in a separate
  /// transaction.
  package var arrived: [String] { inbox.facts.arrived }

  /// Applies further versions that waited for records that arrived.
  package func admit(arrived uuids: [String], counts: inout ApplyCounts) throws {
    for uuid in uuids { try admitWaiting(for: uuid, counts: &counts) }
    try resolveClashes(counts: &counts)
  }

  /// Returns the UUIDs of the records whose versions wait for the responses to their operations.
  func recordsInFlight(_ operations: [PushOperation]) throws -> Set<String> {
    guard try !isInboxEmpty() else { return [] }
    return Set(
      try connection.fetch(
        """
        SELECT kept.entityUuid FROM \(Self.records(of: operations)) AS row CROSS JOIN SyncInbox AS kept
          ON \(raw: Self.isRecord) AND kept.reason = 'in_flight'
        """, as: String.self))
  }

  /// The rows of a statement with the records of operations, for ``isRecord``.
  static func records(of operations: [PushOperation]) -> SQL {
    var rows = ParameterRows(width: 2)
    for operation in operations { rows.append([.text(operation.entityType), .text(operation.entityUuid)]) }
    return rows.table
  }

  static let isRecord = "kept.entityType = row.column1 AND kept.entityUuid = row.column2"

  /// Applies the version of a record that waited for the response to its operation.
  func admit(_ type: String, _ uuid: String, counts: inout PushCounts) throws {
    guard try !isInboxEmpty() else { return }
    var applied = ApplyCounts()
    try admit(
      "entityType = ? AND entityUuid = ? AND reason = 'in_flight'", [.text(type), .text(uuid)], counts: &applied)
    counts.conflicts += applied.conflicts
  }

  /// Tries versions again whose reason may have disappeared, after a migration or the deletion of another record.
  /// - Parameters:
  ///   - place: the position to continue at. Moves to the end of the tried versions.
  ///   - limit: the most versions.
  /// - Returns: whether more versions remain.
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

  /// Tries all versions again in the transaction of a migration.
  package func admitAgain(counts: inout ApplyCounts) throws {
    var place = InboxCursor()
    while try admitAgain(from: &place, limit: Self.admissionsAtOnce, counts: &counts) {}
  }

  private func isInboxEmpty() throws -> Bool {
    if let known = inbox.facts.isEmpty { return known }
    let isEmpty = try connection.fetchOne("SELECT 1 FROM SyncInbox LIMIT 1", as: Int.self) == nil
    inbox.facts.isEmpty = isEmpty
    return isEmpty
  }

  private func admit(_ condition: String, _ arguments: [SQLArgument], counts: inout ApplyCounts) throws {
    let waiting = try connection.fetch(
      SQL(raw: "SELECT record FROM SyncInbox WHERE \(condition)", arguments: arguments), as: String.self)
    inbox.admitted += waiting.count
    for json in waiting {
      let remote = try RemoteRecord(json: Array(json.utf8))
      // The version returns to the inbox if it cannot be stored yet.
      try forgetKept(remote.entityType, remote.entityUuid)
      if try applyGone(remote, counts: &counts) { continue }
      try apply(remote, counts: &counts)
    }
  }
}

/// The records that this device lacks: those that versions of the server reference, and those that only the inbox has.
package struct MissingParents {
  let catalog: SyncCatalog
  let connection: Connection

  package init(catalog: SyncCatalog, connection: Connection) {
    (self.catalog, self.connection) = (catalog, connection)
  }

  /// A record that is missing on this device.
  package typealias Parent = (entityType: String, uuid: String)

  /// Returns the records that changes reference and that are neither on this device nor among the changes.
  /// - Parameter withDeleted: whether to include the references of deleted records.
  package func of(_ changes: [RemoteRecord], withDeleted: Bool = false) throws -> [Parent] {
    var seen = Set(changes.map { RecordIdentity(entityType: $0.entityType, entityUuid: $0.entityUuid) })
    var missing: [Parent] = []
    for change in changes where withDeleted || !change.state.isDeleted {
      for (type, uuid) in catalog.tables[change.entityType]?.references(in: change.state.fields) ?? [] {
        guard seen.insert(RecordIdentity(entityType: type, entityUuid: uuid)).inserted,
          let table = catalog.tables[type],
          try !table.has(uuid, in: connection)
        else { continue }
        missing.append((type, uuid))
      }
    }
    return missing
  }

  /// Returns the records of an entity that only the inbox has, ordered by UUID.
  /// - Parameter uuid: the UUID after which to start.
  package func recordsOfInbox(_ type: String, after uuid: String, limit: Int) throws -> [String] {
    guard let table = catalog.tables[type]?.entity.table.name else { return [] }
    return try connection.fetch(
      """
      SELECT entityUuid FROM SyncInbox WHERE entityType = \(type) AND entityUuid > \(uuid)
        AND NOT EXISTS (SELECT 1 FROM \(identifier: table) AS record WHERE record.uuid = entityUuid)
      ORDER BY entityUuid LIMIT \(limit)
      """, as: String.self)
  }

  /// Returns the records that versions in the inbox wait for, ordered by UUID. Each is looked up once, however many
  /// versions wait for it.
  /// - Parameter uuid: the UUID after which to start.
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
      let references = catalog.tables[remote.entityType]?.references(in: remote.state.fields) ?? []
      parents += references.filter { $0.uuid == next }.map { ($0.type, next) }
    }
    return parents
  }
}
