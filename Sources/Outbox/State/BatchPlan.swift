import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// The operations of the next batch, in the order in which the server can store them: a record follows the records that it
/// references.
///
/// A parent is chosen with the first of its dependents, so it inherits their highest priority. An operation that waits
/// for a stopped one is blocked once and not looked at again. The cost of a batch depends on its size and not on the
/// size of the outbox.
struct BatchPlan: SyncComponent {
  let sync: SyncTransaction
  let limit: Int
  /// Whether the batch is sent only after all operations in flight were stored, so that it may reference their records.
  private let isPrefetch: Bool

  private(set) var batch: [QueuedOperation] = []
  /// The number of operations that the plan has looked at.
  private(set) var looked = 0
  private var hasBlocked = false
  private var taken: Set<Int64> = []
  /// The operations on the current path of the traversal.
  private var visited: Set<Int64> = []
  /// The same path in its order: each operation with the reference that leads to the next one.
  private var path: [(operation: Int64, column: String?)] = []
  private var ofParents: [String: [Int64: [QueuedOperation]]] = [:]
  private var ofEntities: [String: [Dependency]] = [:]
  /// References that form a cycle, by operation. The payload leaves them out, and an update follows.
  private(set) var circular: [Int64: Set<String>] = [:]
  /// UNIQUE columns whose values move in a cycle, by operation. They are NULL in the payload, and an update follows.
  private(set) var cleared: [Int64: Set<String>] = [:]

  /// - Parameter waiting: operations that are not chosen, and for which no other operation waits.
  init(sync: SyncTransaction, limit: Int, isPrefetch: Bool, leavingOut waiting: Set<Int64>) {
    (self.sync, self.limit, self.isPrefetch, taken) = (sync, limit, isPrefetch, waiting)
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
  var hasProgress: Bool { hasBlocked || !batch.isEmpty }

  mutating func consider(_ operation: QueuedOperation) throws {
    looked += 1
    if case .blocked(let number) = try take(operation) {
      hasBlocked = true
      try outbox.block(operation, behind: number)
    }
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
      let first = try QueuedOperation.sealed(operation.entityType, operation.entityId, in: connection).first
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
    try QueuedOperation.all(where: "queueNumber = ?", [.integer(number)], in: connection).first?.operation.blocksOthers
      ?? false
  }

  private struct Predecessor {
    let operation: QueuedOperation
    /// The column that is left out or cleared if the operations wait for each other; `nil` if no column can be.
    var column: String?
    /// Whether the column is UNIQUE and the other record has to release its value.
    var isUnique = false
  }

  /// Returns the operations that the server must store before it can store an operation.
  private mutating func predecessors(of operation: QueuedOperation) throws -> [Predecessor] {
    if operation.kind == .delete { return try formerDependents(of: operation) }
    guard let table = catalog.tables[operation.entityType] else { return [] }
    var result: [Predecessor] = []
    for (key, id) in try parents(of: operation, table) {
      let waiting = try operations(of: key.parent.type, id)
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
    let creation = waiting.first { $0.kind == .create }
    if let creation, creation.payload == nil { return creation }
    if creation == nil, try isRestored(key.parent.type, id) { return waiting.first }
    let base = try creation.flatMap(sentPatch)?.fields ?? BaseTable.find(key.parent.type, id, in: connection)?.fields
    guard let parent = try catalog.tables[key.parent.type]?.find(key: id, in: connection) else { return creation }
    // Without a base nobody knows the values at the server, for example after it was restored.
    guard let base else { return creation ?? waiting.last { $0.kind != .delete } }
    let isNeeded = key.key.columns.contains { pair in
      let (before, now) = (base[pair.to] ?? .null, parent.state.fields[pair.to] ?? .null)
      // A key of one column travels as the UUID of the parent, which needs any value at the server.
      return key.columns.count > 1 ? before != now : before == .null && now != .null
    }
    return isNeeded ? waiting.last : creation
  }

  /// Returns the operations with which other records release UNIQUE values that this record uses. On the server these
  /// records still have the values.
  private mutating func holders(of operation: QueuedOperation, _ table: RecordTable) throws -> [Predecessor] {
    guard operation.payload == nil, !table.uniqueKeys.isEmpty,
      let record = try table.find(key: operation.entityId, in: connection)
    else { return [] }
    let base = operation.related.hasBase ? try BaseTable.find(operation.entityType, record.key, in: connection) : nil
    var result: [Predecessor] = []
    for columns in table.uniqueKeys {
      guard base == nil || columns.contains(where: { base?.fields[$0] != record.state.fields[$0] }),
        let condition = SyncBaseIndex.condition(columns, record.state.fields)
      else { continue }
      let holders = try connection.fetch(
        """
        SELECT entityId FROM SyncBase WHERE entityType = \(raw: SyncBaseIndex.literal(operation.entityType)) AND \(condition)
          AND entityId <> \(record.key)
        """, as: Int64.self)
      let nullable = columns.first { name in table.places[name].map { !table.columns[$0].column.isNotNull } ?? false }
      for holder in holders {
        guard let other = try operations(of: operation.entityType, holder).first else { continue }
        result.append(Predecessor(operation: other, column: nullable, isUnique: true))
      }
    }
    return result
  }

  /// Returns the parents of an operation's record: those of its row, or those of the sealed payload.
  private func parents(
    of operation: QueuedOperation, _ table: RecordTable
  ) throws -> [(key: Dependency, id: Int64)] {
    guard operation.payload != nil else { return try table.parents(of: operation.entityId, in: connection) }
    // An operation that cannot be read fails alone when it is sent.
    guard let patch = sentPatch(of: operation) else { return [] }
    var sent = patch.fields
    if patch.isDeleted == false, let base = try BaseTable.find(operation.entityType, operation.entityId, in: connection)
    {
      // A restored record references all of its parents again.
      sent = base.fields.overlaid(with: sent)
    }
    return try table.keys.compactMap { key in
      try table.parent(by: key, in: sent, connection).map { (key, $0) }
    }
  }

  /// Returns the patch of a sealed operation; `nil` if the operation is not sealed or cannot be read.
  private func sentPatch(of operation: QueuedOperation) -> RecordPatch? {
    operation.payload.flatMap { try? PushOperation(json: Array($0.utf8)).patch }
  }

  /// Returns the operations of a parent, read once for all of its dependents.
  private mutating func operations(of type: String, _ key: Int64) throws -> [QueuedOperation] {
    if let known = ofParents[type]?[key] { return known }
    let found = try QueuedOperation.ofRecord(type, key, in: connection)
    ofParents[type, default: [:]][key] = found
    return found
  }

  /// Returns whether a record was restored on this device and is deleted at the server.
  private func isRestored(_ type: String, _ key: Int64) throws -> Bool {
    guard let table = catalog.tables[type]?.entity else { return false }
    return try connection.fetchOne(
      """
      SELECT 1 FROM SyncBase JOIN \(identifier: table.table.name) AS record ON record.\(identifier: table.key) = SyncBase.entityId
      WHERE SyncBase.entityId = \(key) AND SyncBase.entityType = \(type) AND SyncBase.isDeleted = 1 AND record.isDeleted = 0
      """, as: Int.self) != nil
  }

  /// Returns the operations of records that referenced this one before it was deleted. Without them the server would delete these
  /// records, change their references, or refuse the deletion.
  private mutating func formerDependents(of operation: QueuedOperation) throws -> [Predecessor] {
    var result: [Predecessor] = []
    let moved = try connection.fetchRows(
      """
      SELECT entityType, entityId FROM SyncMoved
      WHERE parentId = \(operation.entityId) AND parentType = \(operation.entityType)
      """, as: String.self, Int64.self)
    for (type, key) in moved {
      result += try operations(of: type, key).filter { $0.number != operation.number }.map {
        Predecessor(operation: $0)
      }
    }
    for reference in references(to: operation.entityType) where !reference.cascades {
      // The pluses keep SQLite from reading all deleted records.
      let deleted = try connection.fetch(
        """
        SELECT child.\(identifier: reference.child.key) FROM \(identifier: reference.parent.table.name) AS parent
        CROSS JOIN \(identifier: reference.child.table.name) AS child
          ON \(raw: reference.isReferring(child: "child", parent: "parent"))
        WHERE parent.\(identifier: reference.parent.key) = \(operation.entityId) AND +child.isDeleted = 1 AND +child.isDirty = 1
        """, as: Int64.self)
      for key in deleted {
        result += try operations(of: reference.child.type, key).filter { $0.number != operation.number }
          .map { Predecessor(operation: $0) }
      }
    }
    return result
  }

  /// The foreign keys by which synced records reference those of an entity.
  private mutating func references(to type: String) -> [Dependency] {
    if let known = ofEntities[type] { return known }
    let entity = catalog.tables[type]?.entity
    let found =
      entity.map { catalog.entities.dependencies(on: $0).filter { catalog.tables[$0.child.type] != nil } } ?? []
    ofEntities[type] = found
    return found
  }
}
