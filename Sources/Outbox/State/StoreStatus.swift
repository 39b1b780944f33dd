import CipherSQL
import SchemaModel
import SyncModel

/// The state of the outbox, of the inbox and of the last sync round.
public struct StoreStatus: Sendable, Hashable {
  /// The numbers of operations by status. `waiting` counts the pending operations that a failed or conflicted one
  /// blocks.
  public var pending = 0, processing = 0, failed = 0, conflicts = 0, parked = 0
  /// The number of versions from the server that cannot be stored yet.
  public var kept = 0
  /// The end of the last successful round, in ISO 8601.
  public var lastSync: String?
  /// `device` or `cloud`.
  public var mode = "cloud"
  /// The address of the server; `nil` if no server is set.
  public var remoteURL: String?
  /// The reason why sync is paused.
  public var pause: String?
  /// Lists of a REST remote whose last fetch failed or was incomplete.
  public var lists: [FetchedList] = []
  /// The number of records that a held comparison would delete.
  public var heldDeletions: Int?
  /// The number of records of each entity without deleted ones, by entity type.
  public var entities: [(entityType: String, records: Int, dirty: Int)] = []

  /// Compares counts and settings.
  public static func == (left: StoreStatus, right: StoreStatus) -> Bool { left.comparable == right.comparable }
  /// Hashes the values that ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(comparable) }

  private var comparable: [String] {
    [
      "\(pending) \(processing) \(failed) \(conflicts) \(parked) \(kept) \(mode)", lastSync ?? "", remoteURL ?? "",
      pause ?? "", heldDeletions.map(String.init) ?? "",
    ]
      + entities.map { "\($0.entityType) \($0.records) \($0.dirty)" }
      + lists.map { "\($0.entityType) \($0.isWhole) \($0.problem ?? "")" }
  }

  /// Reads the status in one snapshot.
  /// - Parameter entities: the entities to count records of, or `nil`.
  package static func read(_ entities: Entities?, from connection: Connection) throws -> StoreStatus {
    var status = StoreStatus()
    func count(_ sql: SQL) throws -> Int { try connection.fetchOne(sql, as: Int.self) ?? 0 }
    // Each count uses an index of unfinished operations. A scan of the history would cost more than all of them.
    let parked = try count(
      "SELECT count(*) FROM OfflineSyncQueue WHERE parkedBehind IS NOT NULL AND status = 'pending' AND scheduledAt IS NULL"
    )
    let scheduled = try connection.fetchRows(
      """
      SELECT count(*), count(parkedBehind) FROM OfflineSyncQueue WHERE status = 'pending' AND scheduledAt IS NOT NULL
      """, as: Int.self, Int.self)
    let ready = try count(
      """
      SELECT count(*) FROM OfflineSyncQueue WHERE status = 'pending' AND scheduledAt IS NULL AND parkedBehind IS NULL
      """)
    status.pending = ready + parked + (scheduled.first?.0 ?? 0)
    status.parked = parked + (scheduled.first?.1 ?? 0)
    status.processing = try count("SELECT count(*) FROM OfflineSyncQueue WHERE status = 'processing'")
    status.failed = try count("SELECT count(*) FROM OfflineSyncQueue WHERE status = 'failed'")
    status.conflicts = try count("SELECT count(*) FROM OfflineConflictResolution WHERE resolvedAt IS NULL")
    status.kept = try count("SELECT count(*) FROM SyncInbox")
    status.lastSync = try SyncSettings.value(.lastSync, in: connection)
    status.mode = try SyncSettings.value(.mode, in: connection) ?? "cloud"
    status.remoteURL = try SyncSettings.value(.remoteURL, in: connection)
    status.pause = try SyncSettings.value(.pause, in: connection)
    status.heldDeletions = try SyncSettings.value(.heldDeletions, in: connection).flatMap { Int($0) }
    if try SyncSettings.value(.remoteRoutes, in: connection) != nil {
      status.lists = try connection.fetchRows(
        "SELECT entityType, fetchedAt IS triedAt, problem FROM SyncFetch WHERE problem IS NOT NULL ORDER BY entityType",
        as: String.self, Bool.self, String.self
      ).map { FetchedList(entityType: $0, isWhole: $1, problem: $2) }
    }
    if let entities { status.entities = try counts(entities, connection) }
    return status
  }

  /// Counts records without reading them: all records by the smallest index of their table, deleted records and
  /// records with an operation by indexes that contain nothing else.
  private static func counts(
    _ entities: Entities, _ connection: Connection
  ) throws -> [(entityType: String, records: Int, dirty: Int)] {
    let unsent = try connection.fetchRows(
      """
      SELECT entityType, count(*) FROM (
        SELECT entityType, entityId FROM OfflineSyncQueue INDEXED BY OfflineSyncQueue_growing
        WHERE payload IS NULL AND completedAt IS NULL
        UNION
        SELECT entityType, entityId FROM OfflineSyncQueue INDEXED BY OfflineSyncQueue_frozen
        WHERE payload IS NOT NULL AND completedAt IS NULL)
      GROUP BY entityType
      """, as: String.self, Int.self)
    let dirty = Dictionary(unsent, uniquingKeysWith: { first, _ in first })
    return try entities.all.filter { $0.sync != nil && $0.hasCommonFields }.map { entity in
      let records = try connection.fetchOne(
        """
        SELECT (SELECT count(*) FROM \(identifier: entity.table.name))
          - (SELECT count(*) FROM \(identifier: entity.table.name) WHERE isDeleted = 1)
        """, as: Int.self)
      return (entity.type, records ?? 0, dirty[entity.type] ?? 0)
    }
  }
}
