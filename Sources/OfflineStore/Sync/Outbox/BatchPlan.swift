import CipherSQL
import SyncModel

/// Chooses what is sent next: by priority, then by age, and what a record refers to before the record.
///
/// A parent is taken when the first of those that wait for it is, so it inherits the highest priority among them. What
/// waits for an operation that has stopped is set aside once (`parkedBehind`) and looked at again when that one goes on.
/// So the cost of a batch depends on its size, not on how much waits.
struct BatchPlan {
  let catalog: SyncCatalog
  let connection: WriteConnection
  let limit: Int
  /// Whether the batch is sent only after all that is under way was stored, so that others may refer to that.
  let isPrefetch: Bool

  private(set) var batch: [QueuedOperation] = []
  /// Operations that were looked at, so that a plan ends.
  private(set) var looked = 0
  private var isSettingAside = false
  private var taken: Set<Int64> = []
  /// Those whose predecessors are looked at now.
  private var visited: Set<Int64> = []
  private var ofParents: [String: [Int64: [QueuedOperation]]] = [:]
  private var ofEntities: [String: [Dependency]] = [:]
  /// References that go round in a circle, by operation: they are left out at first and follow in an update.
  private(set) var circular: [Int64: Set<String>] = [:]
  /// UNIQUE columns whose values go round in a circle, by operation: they are NULL at first and follow in an update.
  private(set) var cleared: [Int64: Set<String>] = [:]

  init(catalog: SyncCatalog, connection: WriteConnection, limit: Int, isPrefetch: Bool) {
    (self.catalog, self.connection, self.limit, self.isPrefetch) = (catalog, connection, limit, isPrefetch)
  }

  private enum Verdict {
    case taken
    /// Not in this batch, and nothing has to happen before the next.
    case later
    /// Waits for a stopped operation.
    case behind(Int64)
  }

  var isFull: Bool { batch.count >= limit }

  /// Whether another plan would find other operations: some were set aside, or are taken by this one.
  var hasProgress: Bool { isSettingAside || !batch.isEmpty }

  mutating func consider(_ operation: QueuedOperation) throws {
    looked += 1
    if case .behind(let number) = try take(operation) {
      isSettingAside = true
      try connection.execute(
        "UPDATE OfflineSyncQueue SET parkedBehind = \(number) WHERE queueNumber = \(operation.number)")
    }
  }

  private mutating func take(_ operation: QueuedOperation) throws -> Verdict {
    if taken.contains(operation.number) { return .taken }
    if operation.isStopped { return .behind(operation.number) }
    if let parked = operation.parkedBehind, try isStopped(parked) { return .behind(parked) }
    if operation.status != "pending" { return .later }
    guard visited.insert(operation.number).inserted else { return .taken }
    defer { visited.remove(operation.number) }
    if operation.payload == nil, operation.beside.hasSealed,
      let first = try QueuedOperation.sealed(operation.entityType, operation.entityId, in: connection).first
    {
      // The answer to the first decides what the second is based on.
      if case .behind(let number) = try take(first) { return .behind(number) }
      return .later
    }
    for before in try predecessors(of: operation) {
      if visited.contains(before.operation.number) {
        if let column = before.column {
          if before.isUnique {
            cleared[operation.number, default: []].insert(column)
          } else {
            circular[operation.number, default: []].insert(column)
          }
        }
        continue
      }
      if isPrefetch, before.operation.status == "processing" { continue }
      switch try take(before.operation) {
      case .taken: continue
      case let verdict: return verdict
      }
    }
    if isFull { return .later }
    batch.append(operation)
    taken.insert(operation.number)
    return .taken
  }

  private func isStopped(_ number: Int64) throws -> Bool {
    try QueuedOperation.all(where: "queueNumber = ?", [.integer(number)], in: connection).first?.isStopped ?? false
  }

  private struct Predecessor {
    let operation: QueuedOperation
    /// What is left out, or cleared, where the operations wait for each other; nil where nothing can be.
    var column: String?
    /// Whether the column is UNIQUE, and the other record has to give up its value.
    var isUnique = false
  }

  /// What the server must have before it can take an operation.
  private mutating func predecessors(of operation: QueuedOperation) throws -> [Predecessor] {
    if operation.kind == .delete { return try formerDependents(of: operation) }
    guard let table = catalog.tables[operation.entityType] else { return [] }
    var result: [Predecessor] = []
    for (column, key) in try parents(of: operation, table) {
      guard let reference = column.reference else { continue }
      let waiting = try operations(of: reference.entityType, key)
      if waiting.isEmpty { continue }
      let maker =
        try waiting.first { $0.kind == .create }
        ?? (try isToComeBack(reference.entityType, key) ? waiting.first : nil)
      if let maker {
        result.append(Predecessor(operation: maker, column: column.column.isNotNull ? nil : column.name))
      }
    }
    return result + (try holders(of: operation, table))
  }

  /// The operations by which other records give up UNIQUE values that this one takes: the server has those values in them yet.
  private mutating func holders(of operation: QueuedOperation, _ table: RecordTable) throws -> [Predecessor] {
    guard operation.payload == nil, !table.uniqueKeys.isEmpty,
      let record = try table.find(key: operation.entityId, in: connection)
    else { return [] }
    let base = operation.beside.hasBase ? try BaseTable.find(operation.entityType, record.key, in: connection) : nil
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

  /// What an operation refers to: the record as it is, or as it was when the operation was frozen.
  private func parents(
    of operation: QueuedOperation, _ table: RecordTable
  ) throws -> [(column: SharedColumn, key: Int64)] {
    guard let payload = operation.payload else { return try table.parents(of: operation.entityId, in: connection) }
    let patch: RecordPatch
    do throws(SyncModelError) {
      patch = try PushOperation(json: Array(payload.utf8)).patch
    } catch {
      // It fails alone when it is to be sent.
      return []
    }
    var sent = patch.fields
    if patch.isDeleted == false, let base = try BaseTable.find(operation.entityType, operation.entityId, in: connection)
    {
      // What comes back hangs on all that it hung on.
      sent = base.fields.overlaid(with: sent)
    }
    return try table.references.compactMap { column in
      guard let reference = column.reference, case .text(let uuid)? = sent[column.name],
        let parent = try catalog.tables[reference.entityType]?.find(uuid, in: connection)
      else { return nil }
      return (column, parent.key)
    }
  }

  /// The operations of a record that others refer to, which is looked at once for all of them.
  private mutating func operations(of type: String, _ key: Int64) throws -> [QueuedOperation] {
    if let known = ofParents[type]?[key] { return known }
    let found = try QueuedOperation.ofRecord(type, key, in: connection)
    ofParents[type, default: [:]][key] = found
    return found
  }

  /// Whether the server has a record as deleted that was brought back here.
  private func isToComeBack(_ type: String, _ key: Int64) throws -> Bool {
    try connection.fetchOne(
      "SELECT isDeleted FROM SyncBase WHERE entityId = \(key) AND entityType = \(type)", as: Bool.self) ?? false
  }

  /// The operations of records that referenced this one before it was deleted. Without them the server would delete these records, change
  /// their references, or refuse the deletion.
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
