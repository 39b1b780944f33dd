import CipherSQL
import RecordStore
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The state of a record on its way to the server, and the operations that it waits for.
public struct Explanation: Sendable, Hashable {
  /// `pending`, `syncing`, `synced`, `conflict` or `failed`.
  public let syncStatus: String
  /// The reason, as a sentence.
  public let reason: String
  /// The action that ends the wait; `nil` if the user need not act.
  public let remedy: Remedy?
  /// The operations that it waits for, the nearest first.
  public let chain: [Link]

  /// An operation or a record that another one waits for.
  public struct Link: Sendable, Hashable {
    /// The entity of the record.
    public let entityType: String
    /// The UUID of the record.
    public let entityUuid: String
    /// The id of the operation; `nil` for a record without one.
    public let operationId: String?
    /// The status of the operation, or of a record without one.
    public let status: String
    /// The reason why the server does not have it yet.
    public let reason: String
    /// The action that ends the wait; `nil` if the user need not act.
    public let remedy: Remedy?
  }
}

/// Finds the operations that a record waits for.
package struct Explainer {
  private let catalog: SyncCatalog
  private let connection: Connection

  package init(catalog: SyncCatalog, connection: Connection) { (self.catalog, self.connection) = (catalog, connection) }

  package func explain(_ table: RecordTable, _ uuid: String) throws -> Explanation {
    guard let record = try table.find(uuid, in: connection) else { throw RecordReader.missing(table.entity) }
    let chain = try chain(table, record)
    if let first = chain.first {
      return Explanation(syncStatus: record.syncStatus, reason: first.reason, remedy: first.remedy, chain: chain)
    }
    return Explanation(
      syncStatus: record.syncStatus, reason: try reasonWithoutOperation(record, table), remedy: nil, chain: [])
  }

  private func reasonWithoutOperation(_ record: StoredRecord, _ table: RecordTable) throws -> String {
    let root = try connection.fetchRows(
      "SELECT rootType, rootId FROM SyncCascade WHERE entityId = \(record.key) AND entityType = \(table.entity.type)",
      as: String.self, Int64.self
    ).first
    if let root {
      return "it was deleted with \(root.0) \(root.1); only the deletion of that record is sent to the server"
    }
    if record.state.syncVersion == 0 { return "it was never sent and has no pending operation" }
    return "it is in sync with version \(record.state.syncVersion) of the server"
  }

  /// The reason for a wait, and the action that ends it.
  private struct Reason {
    let text: String
    var remedy: Remedy?
  }

  /// A record with its operation and the parents that it waits for.
  private struct Step {
    let table: RecordTable
    let record: StoredRecord
    let operation: QueuedOperation
    let reason: Reason?
    var parents: [(field: String, uuid: String)] = []
  }

  /// Returns the operations that the record waits for, each before the operations that it waits for itself.
  private func chain(_ table: RecordTable, _ record: StoredRecord) throws -> [Explanation.Link] {
    var order: [Step] = []
    var seen: Set<String> = []
    try visit(table, record, &order, &seen)
    order.reverse()
    let places = Dictionary(order.enumerated().map { ($1.record.uuid, $0) }, uniquingKeysWith: { first, _ in first })
    return try order.map { step in
      let nearest = step.parents.min { places[$0.uuid] ?? .max < places[$1.uuid] ?? .max }
      let parent = nearest.flatMap { parent in places[parent.uuid].map { (parent.field, order[$0].table.entity.type) } }
      let reason =
        try step.reason
        ?? parent.map { Reason(text: "the \($0.1) referenced by \($0.0) is not on the server yet") }
        ?? waiting(step.operation)
      return Explanation.Link(
        entityType: step.table.entity.type, entityUuid: step.record.uuid, operationId: step.operation.operationId,
        status: step.operation.operation.status, reason: reason.text, remedy: reason.remedy)
    }
  }

  /// Visits parents first, each once.
  private func visit(
    _ table: RecordTable, _ record: StoredRecord, _ order: inout [Step], _ seen: inout Set<String>
  ) throws {
    guard seen.count < 20, seen.insert(record.uuid).inserted,
      let operation = try QueuedOperation.ofRecord(table.entity.type, record.key, in: connection).first
    else { return }
    let unsendable = record.unsendable.map {
      Reason(text: "\($0.message); change the value, or discard the operation")
    }
    var step = Step(table: table, record: record, operation: operation, reason: try stopped(operation) ?? unsendable)
    let parents =
      step.reason == nil && operation.kind != .delete ? try table.parents(of: record.key, in: connection) : []
    for (key, id) in parents {
      guard let above = catalog.tables[key.parent.type], let parent = try above.find(key: id, in: connection),
        parent.state.syncVersion == 0,
        try QueuedOperation.ofRecord(key.parent.type, id, in: connection).contains(where: { $0.kind == .create })
      else { continue }
      step.parents.append((key.columns.joined(separator: ", "), parent.uuid))
      try visit(above, parent, &order, &seen)
    }
    order.append(step)
  }

  private func stopped(_ operation: QueuedOperation) throws -> Reason? {
    let details = try connection.fetchRows(
      "SELECT errorMessage, scheduledAt FROM OfflineSyncQueue WHERE queueNumber = \(operation.number)",
      as: Optional<String>.self, Optional<String>.self
    ).first
    switch operation.state {
    case .failed:
      return Reason(
        text: "it failed and is not retried automatically: \(details?.0 ?? "the server gave no reason")",
        remedy: .editRetryOrDiscard)
    case .conflicted: return Reason(text: "it is in conflict with the server's version", remedy: .showConflicts)
    case .inFlight: return Reason(text: "it is being sent")
    case .pending, .sealed, .acknowledged:
      guard operation.operation.isScheduled, let time = details?.1 else { return nil }
      return Reason(
        text: "the server could not accept it (\(details?.0 ?? "no reason given")); the next attempt is at \(time)")
    }
  }

  private func waiting(_ operation: QueuedOperation) throws -> Reason {
    let status = try StoreStatus.settings(from: connection)
    if status.mode == "device" { return Reason(text: "sync is off: the vault is in device-only mode") }
    if status.remoteURL == nil { return Reason(text: "no server is set", remedy: .setRemote) }
    if let pause = status.pause { return Reason(text: pause) }
    let ahead =
      try connection.fetchOne(
        """
        SELECT count(*) FROM (SELECT 1 FROM OfflineSyncQueue
          WHERE status = 'pending' AND scheduledAt IS NULL AND parkedBehind IS NULL AND priority < (
            SELECT priority FROM OfflineSyncQueue WHERE queueNumber = \(operation.number)) LIMIT 1000)
        """, as: Int.self) ?? 0
    let round = "it waits for the next sync round"
    if ahead == 0 { return Reason(text: round) }
    let count = ahead == 1000 ? "1,000 or more" : String(ahead)
    return Reason(text: "\(round); \(count) more urgent operations go first")
  }
}

extension StoreStatus {
  /// Reads the settings without counting operations.
  package static func settings(from connection: Connection) throws -> StoreStatus {
    var status = StoreStatus()
    status.mode = try SyncSettings.value(.mode, in: connection) ?? "cloud"
    status.remoteURL = try SyncSettings.value(.remoteURL, in: connection)
    status.pause = try SyncSettings.value(.pause, in: connection)
    return status
  }
}
