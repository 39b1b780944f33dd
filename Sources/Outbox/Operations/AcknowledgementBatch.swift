import CipherSQL
import RecordStore
import SyncModel

/// A response to an operation.
package struct OperationResponse: Sendable {
  /// The operation as it was sent.
  package let sent: PushOperation
  package let outcome: PushResult.Outcome
  /// 0 to 1. Spreads the retries of devices that failed together.
  package let jitter: Double

  package init(to sent: PushOperation, _ outcome: PushResult.Outcome, jitter: Double) {
    (self.sent, self.outcome, self.jitter) = (sent, outcome, jitter)
  }

  /// Whether the response may change other records: a merge restores dependents, for example.
  fileprivate var mayChangeOthers: Bool {
    switch outcome {
    case .merged, .conflict: true
    case .accepted, .rejected, .waiting: false
    }
  }
}

/// Handles the responses to the operations of a request, in their order.
///
/// A request has at most one operation of each record. Responses that change only the operation and its record are handled
/// together: their rows are read and written in sets. A merge, a conflict or a version of the inbox may change other records,
/// so it ends such a group and costs statements of its own. In a vault with triggers of a schema or a program, each response is
/// handled alone.
struct AcknowledgementBatch: SyncComponent {
  let sync: SyncTransaction

  func handle(_ responses: [OperationResponse], counts: inout PushCounts) throws {
    var rest = responses[...]
    // Such a trigger may change other records of the request when the common fields of one change.
    let isSeparate = try DerivedTriggers.hasOthers(in: connection)
    while !rest.isEmpty {
      let waiting = try changes.recordsInFlight(rest.map(\.sent))
      let end =
        rest.firstIndex { isSeparate || $0.mayChangeOthers || waiting.contains($0.sent.entityUuid) } ?? rest.endIndex
      let group = rest[..<min(end + 1, rest.endIndex)]
      rest = rest[group.endIndex...]
      try handle(group, endingAt: end, counts: &counts)
    }
  }

  /// - Parameter end: the index of the response that may change other records; the end of the group without such a response.
  private func handle(_ group: ArraySlice<OperationResponse>, endingAt end: Int, counts: inout PushCounts) throws {
    let rows = try AcknowledgedRows(group.map(\.sent.operationId), sync)
    let writes = AcknowledgementWrites()
    for (index, response) in zip(group.indices, group) {
      // Otherwise the operation was acknowledged, removed or reopened before.
      guard let queued = rows.operations[response.sent.operationId], let table = catalog.tables[queued.entityType]
      else {
        continue
      }
      if index == end { try writes.flush(sync) }
      var handler = AcknowledgementHandler(
        sync: sync, queued: queued, sent: response.sent, table: table, record: rows.records[queued.record],
        base: rows.bases[queued.record], pending: rows.pending[queued.record]?.first, jitter: response.jitter,
        writes: writes, counts: counts)
      try handler.handle(response.outcome)
      counts = handler.counts
      guard index == end else { continue }
      try writes.flush(sync)
      try changes.admit(queued.entityType, queued.entityUuid, counts: &counts)
    }
    try writes.flush(sync)
  }
}

/// The rows of sent operations.
private struct AcknowledgedRows {
  /// By their ids, the operations that wait for a response.
  var operations: [String: QueuedOperation] = [:]
  var records: [LocalIdentity: StoredRecord] = [:]
  let bases: [LocalIdentity: RecordState]
  /// The operations that follow.
  let pending: [LocalIdentity: [QueuedOperation]]

  init(_ ids: [String], _ sync: SyncTransaction) throws {
    let found = try QueuedOperation.sealed(ids: ids, in: sync.connection)
    for operation in found { operations[operation.operationId] = operation }
    bases = try BaseTable.find(found.filter(\.related.hasBase).map(\.record), in: sync.connection)
    pending = try QueuedOperation.pending(
      ofRecords: found.filter(\.related.hasPending).map(\.record), in: sync.connection)
    for (type, operations) in Dictionary(grouping: found, by: \.entityType) {
      let rows = try sync.catalog.tables[type]?.find(keys: operations.map(\.entityId), in: sync.connection) ?? [:]
      for (key, record) in rows { records[LocalIdentity(type, key)] = record }
    }
  }
}

extension SyncTransaction {
  /// Handles the server's responses to the operations of a request. The same response may arrive twice: a response to an
  /// acknowledged operation changes nothing.
  package func acknowledge(_ responses: [OperationResponse], counts: inout PushCounts) throws {
    try AcknowledgementBatch(sync: self).handle(responses, counts: &counts)
  }

  /// Handles the server's response to an operation, as ``acknowledge(_:counts:)`` does.
  package func acknowledge(
    _ outcome: PushResult.Outcome, of sent: PushOperation, jitter: Double, counts: inout PushCounts
  ) throws {
    try acknowledge([OperationResponse(to: sent, outcome, jitter: jitter)], counts: &counts)
  }
}

/// The writes that follow from responses and concern only the operations and their records, stored together: the number of
/// statements depends on the entities and not on the operations.
final class AcknowledgementWrites {
  private var transitions: [Outbox.Change] = []
  private var stored: [PushOperation] = []
  private var removed: [QueuedOperation] = []
  private var bases: [BaseTable.Change] = []
  private var formerBases: [LocalIdentity] = []
  private var families: [LocalIdentity] = []
  private var queued: [Outbox.Queueing] = []
  private var updates: [String: [RecordTable.CommonChange]] = [:]
  private var clean: [String: [Int64]] = [:]

  /// An event of an operation.
  func add(_ event: OutboxEvent, _ operation: QueuedOperation, _ problem: Outbox.Problem? = nil, jitter: Double = 0) {
    transitions.append(Outbox.Change(event: event, operation: operation, problem: problem, jitter: jitter))
  }

  /// The server has stored the fields of an operation.
  func noteStored(_ sent: PushOperation) { stored.append(sent) }

  /// No local change of the record remains: its base and the operation that follows are removed.
  func forget(_ operation: QueuedOperation, _ pending: QueuedOperation?) {
    if let pending { removed.append(pending) }
    if operation.related.hasBase { formerBases.append(operation.record) }
    if operation.related.hasFamily { families.append(operation.record) }
  }

  /// The record has a new base.
  func set(_ base: RecordState, of operation: QueuedOperation, keepsUserEdits: Bool) {
    bases.append(BaseTable.Change(operation.record, base, keepsUserEdits: keepsUserEdits))
  }

  /// Edits of the record follow in an operation.
  func queue(_ kind: OperationKind, _ record: StoredRecord, _ table: RecordTable, _ pending: QueuedOperation?) {
    queued.append(Outbox.Queueing(kind: kind, record: record, table: table, pending: pending))
  }

  /// The common fields of the record change.
  func update(
    _ record: StoredRecord, to state: RecordState, _ bookkeeping: RecordTable.Bookkeeping, in table: RecordTable
  ) {
    updates[table.entity.type, default: []].append(RecordTable.CommonChange(record, state, bookkeeping))
  }

  /// The record equals the server's version.
  func clean(_ record: StoredRecord, _ table: RecordTable) {
    clean[table.entity.type, default: []].append(record.key)
  }

  /// Stores all writes.
  func flush(_ sync: SyncTransaction) throws {
    try sync.outbox.apply(transitions)
    try sync.changes.forgetKeptFields(of: stored)
    try sync.outbox.remove(removed)
    try BaseTable.forget(bases: formerBases, families: families, in: sync.connection)
    try BaseTable.set(bases, in: sync.connection)
    try sync.outbox.queue(queued)
    for (type, changes) in updates.sorted(by: { $0.key < $1.key }) {
      try sync.catalog.tables[type]?.update(common: changes, in: sync.connection)
    }
    for (type, keys) in clean.sorted(by: { $0.key < $1.key }) {
      if let table = sync.catalog.tables[type] { try sync.markClean(keys, table) }
    }
    (transitions, stored, removed, bases, formerBases, families, queued) = ([], [], [], [], [], [], [])
    (updates, clean) = ([:], [:])
  }
}
