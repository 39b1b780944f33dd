import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// Queries about records of a REST remote: their ids on the server, and whether requests for them may be in flight.
package struct RemoteRecords {
  private let catalog: SyncCatalog
  private let connection: Connection

  package init(_ catalog: SyncCatalog, in connection: Connection) {
    (self.catalog, self.connection) = (catalog, connection)
  }

  /// Returns the records of an entity that the remote has, by their ids on the server. Leaves out records that the
  /// remote has deleted and the user has restored, because they receive new ids.
  package func known(_ table: RecordTable) throws -> [ServerId: StoredRecord] {
    var known: [ServerId: StoredRecord] = [:]
    try table.forEach(where: Self.isKnown(table), in: connection) { record in
      if let id = record.serverId { known[id] = record }
    }
    return known
  }

  /// Returns the records that the remote has deleted and the user has restored, by their former ids on the server.
  package func restored(_ table: RecordTable) throws -> [ServerId: StoredRecord] {
    var restored: [ServerId: StoredRecord] = [:]
    let isRestored: SQL = """
      record.serverId IS NOT NULL AND record.\(identifier: table.entity.key) IN (
        SELECT entityId FROM SyncBase WHERE entityType = \(table.entity.type) AND isDeleted = 1)
      """
    try table.forEach(where: isRestored, in: connection) { record in
      if let id = record.serverId { restored[id] = record }
    }
    return restored
  }

  /// Returns the UUIDs of the records of an entity that the remote has to create.
  package func uncreated(_ table: RecordTable) throws -> [String] {
    let isCreation: SQL = "entityType = \(table.entity.type) AND operationType = 'create' AND completedAt IS NULL"
    // In two parts, for each of which an index of the queue has no completed operations.
    return try connection.fetch(
      """
      SELECT uuid FROM \(identifier: table.entity.table.name)
      WHERE serverId IS NULL AND \(identifier: table.entity.key) IN (
        SELECT entityId FROM OfflineSyncQueue WHERE \(isCreation) AND payload IS NULL
        UNION ALL SELECT entityId FROM OfflineSyncQueue WHERE \(isCreation) AND payload IS NOT NULL)
      """, as: String.self)
  }

  private static func isKnown(_ table: RecordTable) -> SQL {
    """
    record.serverId IS NOT NULL AND NOT EXISTS (SELECT 1 FROM SyncBase AS base
      WHERE base.entityId = record.\(identifier: table.entity.key) AND base.entityType = \(table.entity.type)
        AND base.isDeleted = 1)
    """
  }

  /// Returns the acknowledged records whose ids at the remote are unknown, as after the remote moved to another address.
  package func unnamed(_ table: RecordTable) throws -> [StoredRecord] {
    var found: [StoredRecord] = []
    try table.forEach(
      where: "record.serverId IS NULL AND record.isDirty = 0 AND record.isDeleted = 0", in: connection
    ) { found.append($0) }
    return found
  }

  /// Returns whether an upload of a content is running.
  package func isUploading(_ content: String) throws -> Bool {
    try connection.fetchOne(
      "SELECT 1 FROM AttachmentTransfer WHERE contentUuid = \(content) AND direction = 'upload' AND status = 'running'",
      as: Int.self) != nil
  }

  /// Returns the time of the last complete fetch of each list, in milliseconds since 1970, by entity.
  package func fetchTimes() throws -> [String: Int64] {
    let rows = try connection.fetchRows(
      "SELECT entityType, fetchedAt FROM SyncFetch WHERE fetchedAt IS NOT NULL", as: String.self, String.self)
    return Dictionary(rows.compactMap { type, time in WireTime.milliseconds(time).map { (type, $0) } }) { $1 }
  }

  /// Returns whether the remote may have created a record of an entity without the device knowing.
  package func hasUnacknowledgedCreations(_ type: String) throws -> Bool {
    try connection.fetchOne(
      """
      SELECT 1 FROM OfflineSyncQueue AS operation WHERE entityType = \(type) AND completedAt IS NULL AND sendCount > 0
        AND (operationType = 'create' OR operationType = 'update' AND EXISTS (SELECT 1 FROM SyncBase AS base
          WHERE base.entityId = operation.entityId AND base.entityType = operation.entityType AND base.isDeleted = 1))
      LIMIT 1
      """, as: Int.self) != nil
  }

  /// Returns a record and its dependents that the remote has, the record first. Leaves out dependents that the remote has
  /// deleted before and the user has restored: a policy must not decide about their deletion again. Also leaves out
  /// records that the user has moved here, because the remote has them below another parent.
  package func family(of type: String, _ uuid: String) throws -> [(type: String, record: StoredRecord)] {
    var found: [(type: String, record: StoredRecord)] = []
    var seen: Set<String> = []
    func visit(_ table: RecordTable, _ record: StoredRecord) throws {
      guard seen.insert("\(table.entity.type) \(record.key)").inserted else { return }
      found.append((table.entity.type, record))
      for (child, reference) in catalog.children(of: table.entity.type) {
        var children: [StoredRecord] = []
        // Images that were not sent stay. The responses to their own requests show that their parent is missing.
        try child.forEach(
          where: "\(reference.refers("record", to: record.key)) AND record.syncVersion > 0 AND \(Self.isKnown(child))",
          in: connection
        ) { children.append($0) }
        for record in children where try !child.isMoved(record, by: reference, in: connection) {
          try visit(child, record)
        }
      }
    }
    if let table = catalog.tables[type], let record = try table.find(uuid, in: connection) { try visit(table, record) }
    return found
  }
}

extension RecordTable {
  /// Returns whether the user has changed a reference of a record since the remote stored the record. A record that the
  /// remote has deleted belongs nowhere at the remote.
  func isMoved(_ record: StoredRecord, by reference: Dependency, in connection: Connection) throws -> Bool {
    guard record.isDirty, let base = try BaseTable.find(entity.type, record.key, in: connection), !base.isDeleted else {
      return false
    }
    return reference.columns.contains { base.fields[$0] != record.state.fields[$0] }
  }
}
