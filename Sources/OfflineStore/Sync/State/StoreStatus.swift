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
  /// Records of each entity, without deleted ones, by entity type.
  public var entities: [(entityType: String, records: Int, dirty: Int)] = []

  /// Equal with the same counts and settings.
  public static func == (left: StoreStatus, right: StoreStatus) -> Bool { left.comparable == right.comparable }
  /// Hashes what ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(comparable) }

  private var comparable: [String] {
    [
      "\(pending) \(processing) \(failed) \(conflicts) \(parked) \(kept) \(mode)", lastSync ?? "", remoteURL ?? "",
      pause ?? "",
    ]
      + entities.map { "\($0.entityType) \($0.records) \($0.dirty)" }
  }

  /// Reads it, in one snapshot.
  static func read(_ entities: Entities, from connection: Connection) throws -> StoreStatus {
    var status = StoreStatus()
    let counts = try connection.fetchRows(
      """
      SELECT status, count(*), count(parkedBehind) FROM OfflineSyncQueue WHERE completedAt IS NULL GROUP BY status
      """, as: String.self, Int.self, Int.self)
    for (name, count, parked) in counts {
      switch name {
      case "pending": (status.pending, status.parked) = (count, parked)
      case "processing": status.processing = count
      case "failed": status.failed = count
      default: break
      }
    }
    status.conflicts =
      try connection.fetchOne(
        "SELECT count(*) FROM OfflineConflictResolution WHERE resolvedAt IS NULL", as: Int.self) ?? 0
    status.kept = try connection.fetchOne("SELECT count(*) FROM SyncInbox", as: Int.self) ?? 0
    status.lastSync = try SyncSettings.value(.lastSync, in: connection)
    status.mode = try SyncSettings.value(.mode, in: connection) ?? "cloud"
    status.remoteURL = try SyncSettings.value(.remoteURL, in: connection)
    status.pause = try SyncSettings.value(.pause, in: connection)
    for entity in entities.all where entity.sync != nil && entity.hasCommonFields {
      let row = try connection.fetchRows(
        """
        SELECT (SELECT count(*) FROM \(identifier: entity.table.name) WHERE isDeleted = 0),
          (SELECT count(*) FROM \(identifier: entity.table.name) WHERE isDirty = 1)
        """, as: Int.self, Int.self)
      if let (records, dirty) = row.first { status.entities.append((entity.type, records, dirty)) }
    }
    return status
  }
}
