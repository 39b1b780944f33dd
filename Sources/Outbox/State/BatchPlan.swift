import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// The operations of the next batch, in the order in which the server can store them: a record follows the records that it
/// references.
///
/// A parent is chosen with the first of its dependents, so it inherits their highest priority. An operation that waits
/// for a stopped one is blocked once and not looked at again. The cost of a batch depends on its size and not on the
/// size of the outbox. The plan reads its rows in sets (``PlannedRows``).
struct BatchPlan: SyncComponent {
  let sync: SyncTransaction
  let limit: Int
  /// Whether the batch is sent only after all operations in flight were stored, so that it may reference their records.
  private let isPrefetch: Bool

  private(set) var batch: [QueuedOperation] = []
  /// The number of operations that the plan has looked at.
  private(set) var looked = 0
  /// The operations that wait for a stopped one, each with the number of that.
  private(set) var blocked: [(operation: QueuedOperation, behind: Int64)] = []
  private var taken: Set<Int64> = []
  /// The operations on the current path of the traversal.
  private var visited: Set<Int64> = []
  /// The same path in its order: each operation with the reference that leads to the next one.
  private var path: [(operation: Int64, column: String?)] = []
  let rows: PlannedRows
  /// References that form a cycle, by operation. The payload leaves them out, and an update follows.
  private(set) var circular: [Int64: Set<String>] = [:]
  /// UNIQUE columns whose values move in a cycle, by operation. They are NULL in the payload, and an update follows.
  private(set) var cleared: [Int64: Set<String>] = [:]

  /// - Parameter waiting: operations that are not chosen, and for which no other operation waits.
  init(sync: SyncTransaction, limit: Int, isPrefetch: Bool, leavingOut waiting: Set<Int64>) {
    (self.sync, self.limit, self.isPrefetch, taken) = (sync, limit, isPrefetch, waiting)
    rows = PlannedRows(sync)
  }

  private enum Decision {
    case taken
    /// The operation is not part of this batch, but may be part of the next.
    case later
    /// Blocked by the operation with this number.
    case blocked(Int64)
    /// A cycle of references. The operation with this number leaves one of them out.
    case cycle(Int64)
  }

  var isFull: Bool { batch.count >= limit }

  /// Whether another plan would find other operations: this plan has blocked or chosen some.
  var hasProgress: Bool { !blocked.isEmpty || !batch.isEmpty }

  /// Chooses from operations in their order, and stores which of them are blocked.
  mutating func consider(_ operations: [QueuedOperation]) throws {
    try rows.load(operations)
    let known = blocked.count
    for operation in operations where !isFull {
      looked += 1
      if case .blocked(let number) = try take(operation) { blocked.append((operation, number)) }
    }
    try outbox.block(Array(blocked[known...]))
  }

  private mutating func take(_ operation: QueuedOperation) throws -> Decision {
    if taken.contains(operation.number) { return .taken }
    if operation.operation.blocksOthers { return .blocked(operation.number) }
    if let number = operation.blockedBy, try blocksOthers(number) { return .blocked(number) }
    if operation.state == .inFlight || operation.state == .acknowledged { return .later }
    guard visited.insert(operation.number).inserted else { return .taken }
    path.append((operation.number, nil))
    defer {
      visited.remove(operation.number)
      path.removeLast()
    }
    if operation.payload == nil, operation.related.hasSealed,
      let first = try rows.operations(of: operation.record).first(where: { $0.payload != nil })
    {
      // The response to the sealed operation decides about the base of this one.
      switch try take(first) {
      case .taken, .later: return .later
      case let decision: return decision
      }
    }
    for before in try predecessors(of: operation) {
      // A sealed payload leaves nothing out.
      path[path.count - 1].column = operation.payload != nil || before.isUnique ? nil : before.column
      if visited.contains(before.operation.number) {
        if let column = before.column {
          if before.isUnique {
            cleared[operation.number, default: []].insert(column)
          } else {
            circular[operation.number, default: []].insert(column)
          }
        } else if let number = breakCycle(from: before.operation.number) {
          return .cycle(number)
        }
        continue
      }
      if isPrefetch, before.operation.state == .inFlight { continue }
      switch try take(before.operation) {
      case .taken, .cycle(operation.number): continue
      case let decision: return decision
      }
    }
    if isFull { return .later }
    batch.append(operation)
    taken.insert(operation.number)
    return .taken
  }

  /// Breaks a cycle whose last reference cannot be left out, at the last one on the path that can.
  /// - Parameter first: the operation at which the cycle begins and ends.
  /// - Returns: the operation that leaves a reference out; `nil` if none can be.
  private mutating func breakCycle(from first: Int64) -> Int64? {
    guard let start = path.firstIndex(where: { $0.operation == first }),
      let (number, column) = path[start...].last(where: { $0.column != nil }), let column
    else { return nil }
    circular[number, default: []].insert(column)
    return number
  }

  private func blocksOthers(_ number: Int64) throws -> Bool {
    try rows.operation(number)?.operation.blocksOthers ?? false
  }

  private struct Predecessor {
    let operation: QueuedOperation
    /// The column that is left out or cleared if the operations wait for each other; `nil` if no column can be.
    var column: String?
    /// Whether the column is UNIQUE and the other record has to release its value.
    var isUnique = false
  }

  /// Returns the operations that the server must store before it can store an operation.
  private func predecessors(of operation: QueuedOperation) throws -> [Predecessor] {
    if operation.kind == .delete { return try formerDependents(of: operation) }
    guard let table = catalog.tables[operation.entityType] else { return [] }
    var result: [Predecessor] = []
    for (key, id) in try rows.parents(of: operation) {
      let waiting = try rows.operations(of: LocalIdentity(key.parent.type, id))
      if waiting.isEmpty { continue }
      if let needed = try self.operation(needed: waiting, by: key, id) {
        result.append(Predecessor(operation: needed, column: table.columnToLeaveOut(of: key)))
      }
    }
    return result + (try holders(of: operation, table))
  }

  /// Returns the operation after which the server has the values by which a foreign key references a parent, and the
  /// parent is not deleted; `nil` if the server has them already.
  private func operation(
    needed waiting: [QueuedOperation], by key: Dependency, _ id: Int64
  ) throws -> QueuedOperation? {
    let parent = LocalIdentity(key.parent.type, id)
    let creation = waiting.first { $0.kind == .create }
    if let creation, creation.payload == nil { return creation }
    let (record, base) = (try rows.record(parent), try rows.base(of: parent))
    let isRestored = base?.isDeleted == true && record?.state.isDeleted == false
    if creation == nil, isRestored { return waiting.first }
    guard let record else { return creation }
    // Without a base nobody knows the values at the server, for example after it was restored.
    guard let fields = creation.flatMap(rows.sent)?.patch.fields ?? base?.fields else {
      return creation ?? waiting.last { $0.kind != .delete }
    }
    let isNeeded = key.key.columns.contains { pair in
      let (before, now) = (fields[pair.to] ?? .null, record.state.fields[pair.to] ?? .null)
      // A key of one column travels as the UUID of the parent, which needs any value at the server.
      return key.columns.count > 1 ? before != now : before == .null && now != .null
    }
    return isNeeded ? waiting.last : creation
  }

  /// Returns the operations with which other records release UNIQUE values that this record uses. On the server these
  /// records still have the values.
  private func holders(of operation: QueuedOperation, _ table: RecordTable) throws -> [Predecessor] {
    guard operation.payload == nil, !table.uniqueKeys.isEmpty else { return [] }
    return try rows.holders(of: operation).compactMap { holding in
      guard let other = try rows.operations(of: holding.record).first else { return nil }
      let nullable = holding.columns.first { name in
        table.places[name].map { !table.columns[$0].column.isNotNull } ?? false
      }
      return Predecessor(operation: other, column: nullable, isUnique: true)
    }
  }

  /// Returns the operations of records that referenced this one before it was deleted. Without them the server would delete these
  /// records, change their references, or refuse the deletion.
  private func formerDependents(of operation: QueuedOperation) throws -> [Predecessor] {
    try rows.formerDependents(of: operation).flatMap { record in
      try rows.operations(of: record).filter { $0.number != operation.number }.map { Predecessor(operation: $0) }
    }
  }
}
