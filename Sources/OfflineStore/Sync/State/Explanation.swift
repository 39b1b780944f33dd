import CipherSQL
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Where a record stands on its way to the server, and what it waits for.
public struct Explanation: Sendable, Hashable {
  /// pending, syncing, synced, conflict or failed.
  public let syncStatus: String
  /// In a sentence.
  public let reason: String
  /// What it waits for, the nearest first.
  public let chain: [Link]

  /// An operation or a record on the way.
  public struct Link: Sendable, Hashable {
    /// The kind of record.
    public let entityType: String
    /// Which record.
    public let entityUuid: String
    /// Nil for a record without an operation.
    public let operationId: String?
    /// Of the operation; or of the record, where it has none.
    public let status: String
    /// Why this one is not at the server.
    public let reason: String
  }
}

/// Finds out where a record stands.
struct Explainer {
  let catalog: SyncCatalog
  let connection: Connection

  func explain(_ table: RecordTable, _ uuid: String) throws -> Explanation {
    guard let record = try table.find(uuid, in: connection) else { throw RecordReader.missing(table.entity) }
    var chain: [Explanation.Link] = []
    try follow(table, record, into: &chain)
    if let first = chain.first {
      return Explanation(syncStatus: record.syncStatus, reason: first.reason, chain: chain)
    }
    return Explanation(syncStatus: record.syncStatus, reason: try settled(record, table), chain: [])
  }

  private func settled(_ record: StoredRecord, _ table: RecordTable) throws -> String {
    let root = try connection.fetchRows(
      "SELECT rootType, rootId FROM SyncCascade WHERE entityId = \(record.key) AND entityType = \(table.entity.type)",
      as: String.self, Int64.self
    ).first
    if let root { return "it was deleted with \(root.0) \(root.1), and the server is told of that one" }
    if record.state.syncVersion == 0 { return "it was never sent and there is nothing to send" }
    return "the server has it as it is here, at version \(record.state.syncVersion)"
  }

  private func follow(_ table: RecordTable, _ record: StoredRecord, into chain: inout [Explanation.Link]) throws {
    let type = table.entity.type
    if chain.contains(where: { $0.entityUuid == record.uuid }) || chain.count >= 20 { return }
    guard let operation = try QueuedOperation.ofRecord(type, record.key, in: connection).first else { return }
    let place = chain.count
    func link(_ reason: String) -> Explanation.Link {
      Explanation.Link(
        entityType: type, entityUuid: record.uuid, operationId: operation.operationId, status: operation.status,
        reason: reason)
    }
    chain.append(link(""))
    if let reason = try stopped(operation) {
      chain[place] = link(reason)
      return
    }
    for column in table.columns where operation.kind != .delete {
      guard let reference = column.reference, let parents = catalog.tables[reference.entityType],
        case .text(let uuid)? = record.state.fields[column.name], let parent = try parents.find(uuid, in: connection),
        parent.state.syncVersion == 0,
        try QueuedOperation.ofRecord(reference.entityType, parent.key, in: connection).contains(where: {
          $0.kind == .create
        })
      else { continue }
      chain[place] = link("the server does not have the \(reference.entityType) yet that \(column.name) refers to")
      return try follow(parents, parent, into: &chain)
    }
    chain[place] = link(try waiting(operation))
  }

  private func stopped(_ operation: QueuedOperation) throws -> String? {
    let details = try connection.fetchRows(
      "SELECT errorMessage, scheduledAt FROM OfflineSyncQueue WHERE queueNumber = \(operation.number)",
      as: Optional<String>.self, Optional<String>.self
    ).first
    switch operation.status {
    case "failed":
      return "it failed and is not tried again by itself: \(details?.0 ?? "the server did not say why"); "
        + "edit the record, or use fieldvault queue retry or discard"
    case "conflict": return "it is in conflict with the server's version: fieldvault conflicts list"
    case "processing": return "it is being sent"
    default:
      guard operation.isScheduled, let time = details?.1 else { return nil }
      return "the server could not take it (\(details?.0 ?? "no reason given")); it is tried again at \(time)"
    }
  }

  private func waiting(_ operation: QueuedOperation) throws -> String {
    let status = try StoreStatus.settings(from: connection)
    if status.mode == "device" { return "sync is off: the vault is in device-only mode" }
    if status.remoteURL == nil { return "no server is set: fieldvault remote set URL" }
    if let pause = status.pause { return pause }
    let ahead =
      try connection.fetchOne(
        """
        SELECT count(*) FROM (SELECT 1 FROM OfflineSyncQueue
          WHERE status = 'pending' AND scheduledAt IS NULL AND parkedBehind IS NULL AND priority < (
            SELECT priority FROM OfflineSyncQueue WHERE queueNumber = \(operation.number)) LIMIT 1000)
        """, as: Int.self) ?? 0
    return ahead == 0
      ? "it waits for the next round of sync"
      : "it waits for the next round of sync; \(ahead == 1000 ? "1,000 or more" : String(ahead)) more urgent operations go first"
  }
}

extension StoreStatus {
  /// The settings alone, without counting.
  static func settings(from connection: Connection) throws -> StoreStatus {
    var status = StoreStatus()
    status.mode = try SyncSettings.value(.mode, in: connection) ?? "cloud"
    status.remoteURL = try SyncSettings.value(.remoteURL, in: connection)
    status.pause = try SyncSettings.value(.pause, in: connection)
    return status
  }
}
