import CipherSQL
import SyncModel

/// Whether anything is in the inbox, so that each record of a page need not ask.
final class InboxNotes {
  fileprivate var isEmpty: Bool?
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

  /// A record that breaks a rule of this vault's tables: of a newer schema, or taken already by a record that was made
  /// here and not sent.
  func refuse(_ remote: RemoteRecord, _ error: SQLError, _ table: RecordTable) throws {
    let (field, message) = ConstraintMessage(entity: table.entity).explain(error, connection)
    try keep(remote, "refused", waitsFor: nil, detail: field.map { "\($0) \(message)" } ?? message)
  }

  /// Fields that this vault has no column for yet.
  func keepFields(_ fields: SyncObject, of remote: RemoteRecord) throws {
    try connection.execute(
      """
      INSERT INTO SyncExtraFields (entityType, entityUuid, fields)
      VALUES (\(remote.entityType), \(remote.entityUuid), \(SyncValue.object(fields).json))
      ON CONFLICT (entityType, entityUuid) DO UPDATE SET fields = excluded.fields
      """)
  }

  /// Lets in what waited for a record that is there now.
  func admitWaiting(for uuid: String, counts: inout ApplyCounts) throws {
    try admit("waitsFor = ?", [.text(uuid)], counts: &counts)
  }

  /// Lets in what came for a record while an operation of it was under way.
  func admit(_ uuid: String, counts: inout PushCounts) throws {
    var applied = ApplyCounts()
    try admit("entityUuid = ? AND reason = 'in_flight'", [.text(uuid)], counts: &applied)
    counts.conflicts += applied.conflicts
  }

  /// Tries again what waits for reasons that may have gone: a migration, a record that was in the way.
  package func admitAgain(counts: inout ApplyCounts) throws {
    try admit("reason IN ('unknown_entity', 'refused', 'parent_missing', 'in_flight')", [], counts: &counts)
  }

  private func isInboxEmpty() throws -> Bool {
    if let known = inbox.isEmpty { return known }
    let isEmpty = try connection.fetchOne("SELECT 1 FROM SyncInbox LIMIT 1", as: Int.self) == nil
    inbox.isEmpty = isEmpty
    return isEmpty
  }

  private func admit(_ condition: String, _ arguments: [SQLArgument], counts: inout ApplyCounts) throws {
    guard try !isInboxEmpty() else { return }
    let waiting = try connection.fetch(
      SQL(raw: "SELECT record FROM SyncInbox WHERE \(condition) ORDER BY rowid", arguments: arguments), as: String.self)
    for json in waiting {
      let remote = try RemoteRecord(json: Array(json.utf8))
      // Kept anew when it still cannot be stored.
      try forgetKept(remote.entityType, remote.entityUuid)
      try apply(remote, counts: &counts)
    }
  }

  /// Uuids of records that others wait for, with their entity as far as the waiting ones tell it.
  package func missingParents() throws -> [(entityType: String, uuid: String)] {
    var parents: [(String, String)] = []
    let waiting = try connection.fetchRows(
      "SELECT record, waitsFor FROM SyncInbox WHERE reason = 'parent_missing' LIMIT 5000", as: String.self, String.self)
    var seen: Set<String> = []
    for (json, uuid) in waiting where seen.insert(uuid).inserted {
      let remote = try RemoteRecord(json: Array(json.utf8))
      guard let table = catalog.tables[remote.entityType] else { continue }
      for column in table.columns where remote.state.fields[column.name] == .text(uuid) {
        if let reference = column.reference { parents.append((reference.entityType, uuid)) }
      }
    }
    return parents
  }

  /// Fields that a migration has made columns for since they came.
  package func applyKeptFields() throws {
    let kept = try connection.fetchRows(
      "SELECT entityType, entityUuid, fields FROM SyncExtraFields", as: String.self, String.self, String.self)
    for (type, uuid, json) in kept {
      guard let table = catalog.tables[type] else { continue }
      let fields = try SyncObject(parsing: json)
      let known = fields.filter { table.places[$0.name] != nil }
      guard !known.isEmpty, let record = try table.find(uuid, in: connection) else { continue }
      var state = record.state
      state.fields = state.fields.overlaid(with: known)
      try table.update(
        record.key, from: record.state, to: state,
        .init(serverId: record.serverId, isDirty: record.isDirty, syncStatus: record.syncStatus),
        references: references, in: connection)
      if var base = try BaseTable.find(type, record.key, in: connection) {
        base.fields = base.fields.overlaid(with: known)
        try BaseTable.set(base, type, record.key, keepsUserEdits: table.keepsUserEdits, in: connection)
      }
      let rest = fields.filter { table.places[$0.name] == nil }
      try connection.execute("DELETE FROM SyncExtraFields WHERE entityType = \(type) AND entityUuid = \(uuid)")
      if !rest.isEmpty {
        try connection.execute(
          """
          INSERT INTO SyncExtraFields (entityType, entityUuid, fields)
          VALUES (\(type), \(uuid), \(SyncValue.object(rest).json))
          """)
      }
    }
  }
}
