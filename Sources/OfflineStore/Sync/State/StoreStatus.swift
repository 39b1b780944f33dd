import CipherSQL
import SyncModel

/// The store at a glance.
public struct StoreStatus: Sendable, Hashable {
  /// Operations by where they stand; `waiting` of the pending ones are parked behind a failed or contested one.
  public var pending = 0, processing = 0, failed = 0, conflicts = 0, parked = 0
  /// Records from the server that cannot be stored yet.
  public var kept = 0
  /// When the last round of sync ended well, as text.
  public var lastSync: String?
  /// `device` or `cloud`.
  public var mode = "cloud"
  /// The server's address, where one is set.
  public var remoteURL: String?
  /// Why the queue is paused.
  public var pause: String?
  /// Lists of a REST API whose last fetch failed, or brought only a part.
  public var lists: [FetchedList] = []
  /// How many records a comparison would delete that was held for a user to decide.
  public var heldDeletions: Int?
  /// Records of each entity, without deleted ones, by entity type.
  public var entities: [(entityType: String, records: Int, dirty: Int)] = []

  /// Equal with the same counts and settings.
  public static func == (left: StoreStatus, right: StoreStatus) -> Bool { left.comparable == right.comparable }
  /// Hashes what ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(comparable) }

  private var comparable: [String] {
    [
      "\(pending) \(processing) \(failed) \(conflicts) \(parked) \(kept) \(mode)", lastSync ?? "", remoteURL ?? "",
      pause ?? "", heldDeletions.map(String.init) ?? "",
    ]
      + entities.map { "\($0.entityType) \($0.records) \($0.dirty)" }
      + lists.map { "\($0.entityType) \($0.isWhole) \($0.problem ?? "")" }
  }

  /// Reads it, in one snapshot.
  /// - Parameter entities: those whose records are counted; nil for none.
  static func read(_ entities: Entities?, from connection: Connection) throws -> StoreStatus {
    var status = StoreStatus()
    func count(_ sql: SQL) throws -> Int { try connection.fetchOne(sql, as: Int.self) ?? 0 }
    // Each by an index of operations that are not completed: the history would cost more than all of them.
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

  /// Counts records without reading them: all of them by the smallest index of their table, those that are deleted and those
  /// that have an operation by indexes that hold nothing else.
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
