import CipherSQL
import OfflineStore
import SyncModel
import WebTransport

/// What a remote for an existing API has to know of the records of the vault: their ids there, and the records that they
/// hang on.
struct RestRecords: Sendable {
  let vault: Vault
  var catalog: SyncCatalog { vault.syncCatalog }

  func table(_ type: String) -> RecordTable? { catalog.tables[type] }

  func record(_ type: String, _ uuid: String) async throws(RemoteFailure) -> StoredRecord? {
    guard let table = table(type) else { return nil }
    return try await read { try table.find(uuid, in: $0) }
  }

  /// The records of a kind that the API knows, by their id there. One that is known to be deleted there and is to come back
  /// gets another id.
  func known(_ type: String) async throws(RemoteFailure) -> [ServerId: StoredRecord] {
    guard let table = table(type) else { return [:] }
    return try await read { connection in
      var known: [ServerId: StoredRecord] = [:]
      try table.forEach(
        where: """
          record.serverId IS NOT NULL AND NOT EXISTS (SELECT 1 FROM SyncBase AS base
            WHERE base.entityId = record.\(identifier: table.entity.key) AND base.entityType = \(type) AND base.isDeleted = 1)
          """, in: connection
      ) { record in
        if let id = record.serverId { known[id] = record }
      }
      return known
    }
  }

  /// An id of the API as the table keeps it; nil when it cannot: a text that is no number in a column of numbers.
  static func id(_ value: SyncValue, of table: RecordTable) -> ServerId? {
    guard let id = ServerId(value) else { return nil }
    let type = table.entity.table.columns.first { $0.name == "serverId" }?.declaredType.uppercased()
    switch (type, id) {
    case ("INTEGER"?, .text(let text)): return Int64(text).map(ServerId.integer)
    case ("TEXT"?, .integer(let number)): return .text(String(number))
    default: return id
    }
  }

  /// Records that the API is to know and whose id there is not known here, as after it moved to another address.
  func nameless(_ type: String) async throws(RemoteFailure) -> [StoredRecord] {
    guard let table = table(type) else { return [] }
    return try await read { connection in
      var found: [StoredRecord] = []
      try table.forEach(
        where: "record.serverId IS NULL AND record.isDirty = 0 AND record.isDeleted = 0", in: connection
      ) { found.append($0) }
      return found
    }
  }

  /// Whether the file of a content is on its way to the API at this moment.
  func isBeingSent(_ content: SyncValue?) async throws(RemoteFailure) -> Bool {
    guard case .text(let content)? = content else { return false }
    return try await read { connection in
      try connection.fetchOne(
        "SELECT 1 FROM AttachmentTransfer WHERE contentUuid = \(content) AND direction = 'upload' AND status = 'running'",
        as: Int.self) != nil
    }
  }

  /// When each list was fetched last, in milliseconds since 1970.
  func fetchTimes() async throws(RemoteFailure) -> [String: Int64] {
    try await read { connection in
      let rows = try connection.fetchRows(
        "SELECT entityType, fetchedAt FROM SyncFetch WHERE fetchedAt IS NOT NULL", as: String.self, String.self)
      return Dictionary(rows.compactMap { type, time in WireTime.milliseconds(time).map { (type, $0) } }) { $1 }
    }
  }

  /// Whether a record of a kind may have been made at the API without that being known here.
  func hasUnansweredCreations(_ type: String) async throws(RemoteFailure) -> Bool {
    try await read { connection in
      try connection.fetchOne(
        """
        SELECT 1 FROM OfflineSyncQueue AS operation WHERE entityType = \(type) AND completedAt IS NULL AND sendCount > 0
          AND (operationType = 'create' OR operationType = 'update' AND EXISTS (SELECT 1 FROM SyncBase AS base
            WHERE base.entityId = operation.entityId AND base.entityType = operation.entityType AND base.isDeleted = 1))
        LIMIT 1
        """, as: Int.self) != nil
    }
  }

  /// The record itself and what hangs on it at the API, itself first.
  func family(of type: String, _ uuid: String) async throws(RemoteFailure) -> [(type: String, record: StoredRecord)] {
    let catalog = catalog
    return try await read { connection in
      var found: [(type: String, record: StoredRecord)] = []
      var seen: Set<String> = []
      func visit(_ table: RecordTable, _ record: StoredRecord) throws {
        guard seen.insert("\(table.entity.type) \(record.key)").inserted else { return }
        found.append((table.entity.type, record))
        for (child, column) in catalog.children(of: table.entity.type) {
          var children: [StoredRecord] = []
          // Images that were not sent yet stay: their own requests show that what they belong to is gone.
          try child.forEach(
            where: """
              \(column.refers("record", to: record.key)) AND record.syncVersion > 0 AND record.serverId IS NOT NULL
              """, in: connection
          ) { children.append($0) }
          for record in children { try visit(child, record) }
        }
      }
      if let table = catalog.tables[type], let record = try table.find(uuid, in: connection) {
        try visit(table, record)
      }
      return found
    }
  }

  /// Reads from the vault. Where that fails, what was to be sent may be at the API already: it is an attempt, and no refusal.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Value
  ) async throws(RemoteFailure) -> Value {
    do {
      return try await vault.database.read { try body($0) }
    } catch is CancellationError {
      throw RemoteFailure(TransportFailure.cancelled)
    } catch {
      throw RemoteFailure(.attempt, message: "the vault could not be read: \(error)", hint: "fieldvault doctor")
    }
  }
}
