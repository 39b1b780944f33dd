import CipherSQL
import GeneratedSchemas
import VaultStore
import SyncModel

/// The complete state of one record on all devices and at the server, for the report of a violation.
struct StateOfRecord {
  let devices: [any WatchedDevice]
  let server: Connection
  let history: HistoryCheck
  let workload: Workload

  func lines(_ type: String, _ uuid: String) throws -> [String] {
    var lines = ["\(type) \(uuid)"]
    lines += history.lines(of: uuid)
    lines += try server.fetch(
      """
      SELECT 'server: sequence ' || sequence || ' deleted ' || isDeleted || ' changed ' || fieldVersions || ' ' || fields
      FROM ServerRecord WHERE entityType = \(type) AND entityUuid = \(uuid)
      """, as: String.self)
    if let kind = workload.kind(type) {
      lines += try server.fetch(
        "SELECT 'server: made ' || createdAt || ', edited ' || updatedAt FROM \(identifier: kind.table) WHERE uuid = \(uuid)",
        as: String.self)
      lines += try references(kind, uuid)
    }
    for device in devices {
      lines += try device.read { connection in
        try self.lines(device, connection, type, uuid).map { "\(device.name): \($0)" }
      }
    }
    return lines
  }

  /// Where the file of a photo stands.
  private func content(_ connection: Connection, _ uuid: String) throws -> [String] {
    try connection.fetch(
      """
      SELECT 'content ' || contentUuid || ' ' || full || ' at the server ' || serverHasFull
      FROM AttachmentContent JOIN OfflinePhoto USING (contentUuid) WHERE uuid = \(uuid)
      """, as: String.self)
      + connection.fetch(
        """
        SELECT transfer.direction || ' ' || variant || ' ' || transfer.status || ', retries ' || transfer.retryCount
          || ', absences ' || absences || coalesce(' at ' || scheduledAt, '') || coalesce(': ' || errorMessage, '')
        FROM AttachmentTransfer AS transfer JOIN OfflinePhoto USING (contentUuid) WHERE uuid = \(uuid)
        """, as: String.self)
  }

  /// The records of a device that reference a record, which may prevent its removal. Deleted ones are followed by those
  /// that reference them.
  private func referring(
    to uuid: String, of type: String, _ connection: Connection, after seen: Set<String> = []
  ) throws -> [String] {
    guard let target = workload.kind(type), !seen.contains(uuid) else { return [] }
    return try workload.kinds.flatMap { kind in
      try kind.references.filter { $0.entity == type }.flatMap { reference in
        try connection.fetchRows(
          SQL(
            raw: """
              SELECT record.uuid, record.syncStatus || CASE record.isDirty WHEN 1 THEN ' dirty' ELSE '' END
                || CASE record.isDeleted WHEN 1 THEN ' deleted' ELSE '' END, record.isDeleted
              FROM \(SQL.quoted(kind.table)) AS record JOIN \(SQL.quoted(target.table)) AS target
                ON \(Self.condition(reference, target))
              WHERE target.uuid = ? LIMIT 3
              """, arguments: [.text(uuid)]), as: String.self, String.self, Bool.self
        ).flatMap { other, state, isDeleted in
          ["\(uuid) is referenced by \(kind.entity) \(other) \(state)"]
            + (isDeleted ? try referring(to: other, of: kind.entity, connection, after: seen.union([uuid])) : [])
        }
      }
    }
  }

  private static func condition(_ reference: Kind.Reference, _ target: Kind) -> String {
    zip(reference.columns, reference.targets ?? [target.key]).map { column, key in
      "target.\(SQL.quoted(key)) = record.\(SQL.quoted(column))"
    }.joined(separator: " AND ")
  }

  private func references(_ kind: Kind, _ uuid: String) throws -> [String] {
    try kind.references.flatMap { reference in
      guard let target = workload.kind(reference.entity) else { return [String]() }
      let names = reference.columns.joined(separator: ", ").replacing("'", with: "''")
      return try server.fetch(
        SQL(
          raw: """
            SELECT 'server: \(names) ' || target.uuid || CASE target.isDeleted WHEN 1 THEN ' (deleted)' ELSE '' END
            FROM \(SQL.quoted(kind.table)) AS record JOIN \(SQL.quoted(target.table)) AS target
              ON \(Self.condition(reference, target))
            WHERE record.uuid = ?
            """, arguments: [.text(uuid)]), as: String.self)
    }
  }

  private func lines(_ device: any WatchedDevice, _ connection: Connection, _ type: String, _ uuid: String) throws
    -> [String]
  {
    var lines: [String] = []
    guard let table = device.vault.syncCatalog.tables[type] else { return lines }
    if let record = try table.find(uuid, in: connection) {
      lines.append(
        "version \(record.state.syncVersion) \(record.syncStatus)\(record.isDirty ? " dirty" : "")"
          + "\(record.state.isDeleted ? " deleted" : "") \(SyncValue.object(record.state.fields).json)")
      lines += try connection.fetch(
        """
        SELECT 'base version ' || syncVersion || ' deleted ' || isDeleted || ' ' || fields FROM SyncBase
        WHERE entityType = \(type) AND entityId = \(record.key)
        """, as: String.self)
      lines += try connection.fetch(
        """
        SELECT 'taken along by ' || rootType || ' ' || rootId FROM SyncCascade
        WHERE entityType = \(type) AND entityId = \(record.key)
        """, as: String.self)
    } else {
      lines.append("not here")
    }
    lines += try connection.fetch(
      """
      SELECT 'operation ' || queueNumber || ' ' || operationType || ' ' || status || ' ' || coalesce(errorMessage, '')
        || coalesce(' behind ' || parkedBehind, '') || coalesce(' ' || payload, '')
      FROM OfflineSyncQueue WHERE entityType = \(type) AND entityUuid = \(uuid) ORDER BY queueNumber DESC LIMIT 6
      """, as: String.self)
    lines += try connection.fetch(
      """
      SELECT 'conflict ' || conflictType || ' ' || fields || ' ' || coalesce(resolution, 'open') || coalesce(' ' || notes, '')
        || ' local ' || localVersion || ' remote ' || coalesce(remoteVersion, 'none')
      FROM OfflineConflictResolution WHERE entityType = \(type) AND entityUuid = \(uuid)
      ORDER BY detectedAt DESC LIMIT 3
      """, as: String.self)
    if type == "Photo" { lines += try content(connection, uuid) }
    let refused = try connection.fetch(
      "SELECT record FROM SyncInbox WHERE entityType = \(type) AND entityUuid = \(uuid) AND reason = 'refused'",
      as: String.self)
    for json in refused {
      let fields = try RemoteRecord(json: Array(json.utf8)).state.fields
      for holder in try table.holders(of: fields, besides: uuid, in: connection) {
        let state = try table.find(holder.uuid, in: connection)
        lines.append(
          "the value is held by \(holder.uuid) \(state?.syncStatus ?? "")\(state?.isDirty == true ? " dirty" : "")"
            + "\(state?.state.isDeleted == true ? " deleted" : "") "
            + SyncValue.object(state?.state.fields ?? [:]).json)
        lines += try referring(to: holder.uuid, of: type, connection)
        let key = state?.key ?? 0
        lines += try connection.fetch(
          """
          SELECT 'it was deleted with ' || rootType || ' ' || rootId
            || coalesce(': operation ' || queueNumber || ' ' || operationType || ' ' || status, '')
            || coalesce(' behind ' || parkedBehind, '')
            || coalesce(': conflict ' || conflictType, '')
          FROM SyncCascade AS cascaded
          LEFT JOIN OfflineSyncQueue AS operation ON operation.entityType = rootType AND operation.entityId = rootId
            AND completedAt IS NULL
          LEFT JOIN OfflineConflictResolution AS open ON open.entityType = rootType AND open.entityId = rootId
            AND resolvedAt IS NULL
          WHERE cascaded.entityType = \(type) AND cascaded.entityId = \(key)
          """, as: String.self)
        lines += try connection.fetch(
          """
          SELECT 'its operation ' || queueNumber || ' ' || operationType || ' ' || status || coalesce(' behind ' || parkedBehind, '')
          FROM OfflineSyncQueue WHERE entityUuid = \(holder.uuid) AND completedAt IS NULL
          UNION ALL SELECT 'its conflict ' || conflictType || ' ' || coalesce(resolution, 'open')
          FROM OfflineConflictResolution WHERE entityUuid = \(holder.uuid)
          UNION ALL SELECT 'its inbox ' || reason || ' ' || record FROM SyncInbox WHERE entityUuid = \(holder.uuid)
          """, as: String.self)
      }
    }
    lines += try connection.fetch(
      """
      SELECT 'inbox ' || reason || coalesce(' for ' || waitsFor, '') || ' ' || record FROM SyncInbox
      WHERE entityType = \(type) AND entityUuid = \(uuid)
      """, as: String.self)
    return lines
  }
}
