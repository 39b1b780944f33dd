import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// The commands of sync within one write transaction of a vault.
///
/// The derived triggers store these writes unchanged: they neither stamp nor queue them, except within ``asUser(_:)``.
package struct SyncTransaction {
  package let catalog: SyncCatalog
  package let connection: WriteConnection
  /// Milliseconds since 1970 by this device's clock.
  package let now: Int64
  /// The time by the server's clock minus the time by the device's clock, in milliseconds.
  package let clockOffset: Int64
  /// Facts about the inbox, which is mostly empty.
  let inbox = InboxState()
  let schemaVersions = SchemaVersions()

  /// Runs a body in a transaction of the database.
  package static func run<Result>(
    on connection: WriteConnection, _ catalog: SyncCatalog, now: Int64, _ body: (SyncTransaction) throws -> Result
  ) throws -> Result {
    let offset = try SyncSettings.clockOffset(in: connection)
    return try WriteMode.sync(on: connection) {
      try body(SyncTransaction(catalog: catalog, connection: connection, now: now, clockOffset: offset))
    }
  }

  /// The time by the server's clock, in milliseconds since 1970.
  package var serverNow: Int64 { now + clockOffset }

  /// The table of the operations.
  package var outbox: Outbox { Outbox(catalog: catalog, connection: connection, now: now) }
  /// Applies versions of records from the server.
  package var changes: RemoteChanges { RemoteChanges(sync: self) }
  /// The table of the conflicts.
  var conflicts: ConflictStore { ConflictStore(sync: self) }
  /// Performs decisions about conflicts.
  package var resolver: ConflictResolver { ConflictResolver(sync: self) }

  /// Marks a record as equal to the server's version, whose time its base has.
  func markClean(_ record: StoredRecord, _ table: RecordTable) throws { try markClean([record.key], table) }

  /// Marks records as equal to the server's versions, whose times their bases have.
  func markClean(_ keys: [Int64], _ table: RecordTable) throws {
    let (type, key) = (table.entity.type, table.entity.key)
    try connection.execute(
      """
      UPDATE \(identifier: table.entity.table.name) AS record SET isDirty = 0,
        syncStatus = CASE WHEN syncVersion > 0 THEN 'synced' ELSE 'pending' END,
        updatedAt = coalesce(
          (SELECT updatedAt FROM SyncBase WHERE entityId = record.\(identifier: key) AND entityType = \(type)), updatedAt)
      WHERE \(identifier: key) IN \(ParameterRows(keys).table)
      """)
    let records = keys.map { LocalIdentity(type, $0) }
    try BaseTable.forget(bases: records, families: records, in: connection)
  }

  /// Performs writes as those of a user: stamped, queued and with cascades.
  func asUser<Result>(_ body: () throws -> Result) throws -> Result {
    try WriteMode.user(on: connection, body)
  }
}

/// A type with one responsibility within a sync transaction.
protocol SyncComponent {
  var sync: SyncTransaction { get }
}

extension SyncComponent {
  var catalog: SyncCatalog { sync.catalog }
  var connection: WriteConnection { sync.connection }
  var now: Int64 { sync.now }
  var serverNow: Int64 { sync.serverNow }
  var clockOffset: Int64 { sync.clockOffset }
  var inbox: InboxState { sync.inbox }
  var outbox: Outbox { sync.outbox }
  var changes: RemoteChanges { sync.changes }
  var conflicts: ConflictStore { sync.conflicts }
  var resolver: ConflictResolver { sync.resolver }
}
