import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// The rows that decide about the next batch, read in sets.
///
/// ``load(_:)`` reads them with a number of statements that depends on the entities and on the depth of their references, and
/// not on the number of operations. A row that was not loaded is read when it is needed.
///
/// The rows are those at the time of the first read. A new plan reads them again.
final class PlannedRows {
  private let catalog: SyncCatalog
  private let connection: Connection
  private var loaded: Set<Int64> = []
  /// The parents by the number of the operation.
  private var parents: [Int64: [(key: Dependency, id: Int64)]] = [:]
  private var operations: [LocalIdentity: [QueuedOperation]] = [:]
  private var records: [LocalIdentity: StoredRecord?] = [:]
  private var bases: [LocalIdentity: RecordState?] = [:]
  private var holders: [LocalIdentity: [UniqueHolding]] = [:]
  private var formerDependents: [LocalIdentity: [LocalIdentity]] = [:]
  private var numbered: [Int64: QueuedOperation?] = [:]
  private var payloads: [Int64: PushOperation?] = [:]
  private var references: [String: [Dependency]] = [:]
  private var knownEpoch: String??

  /// The most operations whose rows are loaded ahead. A chain of references may be longer.
  private static let mostOperations = 500

  init(_ sync: SyncTransaction) { (catalog, connection) = (sync.catalog, sync.connection) }

  /// A record whose base has UNIQUE values of another record.
  struct UniqueHolding {
    let record: LocalIdentity
    let columns: [String]
  }

  /// The epoch that the versions of this vault belong to.
  func epoch(_ sync: SyncTransaction) throws -> String? {
    if let knownEpoch { return knownEpoch }
    let epoch = try sync.epoch()
    knownEpoch = .some(epoch)
    return epoch
  }

  // MARK: Single rows

  func record(_ record: LocalIdentity) throws -> StoredRecord? {
    if records[record] == nil { try loadRecords([record]) }
    return records[record] ?? nil
  }

  func base(of record: LocalIdentity) throws -> RecordState? {
    if bases[record] == nil { try loadBases([record]) }
    return bases[record] ?? nil
  }

  /// Returns the operations of a record that are not acknowledged, the sealed one first.
  func operations(of record: LocalIdentity) throws -> [QueuedOperation] {
    if operations[record] == nil { try loadOperations([record]) }
    return operations[record] ?? []
  }

  /// Returns the operation with a number; `nil` if it was removed.
  func operation(_ number: Int64) throws -> QueuedOperation? {
    if numbered[number] == nil { try loadNumbered([number]) }
    return numbered[number] ?? nil
  }

  /// Returns the parents of an operation's record: those of its row, or those of the sealed payload.
  func parents(of operation: QueuedOperation) throws -> [(key: Dependency, id: Int64)] {
    if parents[operation.number] == nil { try load([operation]) }
    return parents[operation.number] ?? []
  }

  /// Returns the records whose bases have UNIQUE values that a pending operation sends.
  func holders(of operation: QueuedOperation) throws -> [UniqueHolding] {
    if holders[operation.record] == nil { try loadHolders([operation]) }
    return holders[operation.record] ?? []
  }

  /// Returns the records that referenced the record of an operation before the record was deleted.
  func formerDependents(of operation: QueuedOperation) throws -> [LocalIdentity] {
    if formerDependents[operation.record] == nil { try loadFormerDependents([operation]) }
    return formerDependents[operation.record] ?? []
  }

  /// Returns a sealed operation as it was sent; `nil` if the operation is not sealed or cannot be read.
  func sent(_ operation: QueuedOperation) -> PushOperation? {
    if let known = payloads[operation.number] { return known }
    let sent = operation.payload.flatMap { try? PushOperation(json: Array($0.utf8)) }
    payloads[operation.number] = .some(sent)
    return sent
  }

  // MARK: Sets

  /// Loads the rows of operations, and of the operations that must come before them.
  func load(_ operations: [QueuedOperation]) throws {
    var next = operations
    repeat {
      let fresh = next.filter { loaded.insert($0.number).inserted }
      if fresh.isEmpty { return }
      let pending = fresh.filter { $0.payload == nil }
      try loadRecords(pending.map(\.record))
      for operation in fresh where !operation.related.hasBase { bases[operation.record] = .some(nil) }
      try loadBases(fresh.filter { bases[$0.record] == nil }.map(\.record))
      try loadParents(fresh.filter { $0.kind != .delete })
      try loadHolders(pending.filter { $0.kind != .delete })
      try loadFormerDependents(fresh.filter { $0.kind == .delete })
      try loadNumbered(fresh.compactMap(\.blockedBy))
      let parents = Set(fresh.flatMap { operation in self.parents[operation.number, default: []].map(Self.identity) })
      let before =
        fresh.flatMap { operation in
          holders[operation.record, default: []].map(\.record) + formerDependents[operation.record, default: []]
        } + pending.filter(\.related.hasSealed).map(\.record)
      try loadOperations(parents.union(before))
      // The values that a dependent references are compared with those at the server.
      let waiting = parents.filter { self.operations[$0]?.isEmpty == false }
      try loadRecords(waiting)
      try loadBases(waiting)
      next = parents.union(before).flatMap { self.operations[$0] ?? [] }.filter(Self.mayBeTaken)
    } while loaded.count < Self.mostOperations
  }

  private static func identity(_ parent: (key: Dependency, id: Int64)) -> LocalIdentity {
    LocalIdentity(parent.key.parent.type, parent.id)
  }

  private static func mayBeTaken(_ operation: QueuedOperation) -> Bool {
    (operation.state == .pending || operation.state == .sealed) && !operation.operation.blocksOthers
  }

  private func loadRecords(_ identities: some Sequence<LocalIdentity>) throws {
    for (type, keys) in Self.byType(identities.filter { records[$0] == nil }) {
      let found = try catalog.tables[type]?.find(keys: keys, in: connection) ?? [:]
      for key in keys { records[LocalIdentity(type, key)] = .some(found[key]) }
    }
  }

  private func loadBases(_ identities: some Sequence<LocalIdentity>) throws {
    let missing = Set(identities.filter { bases[$0] == nil })
    let found = try BaseTable.find(missing, in: connection)
    for record in missing { bases[record] = .some(found[record]) }
  }

  private func loadOperations(_ identities: some Sequence<LocalIdentity>) throws {
    let missing = Set(identities.filter { operations[$0] == nil })
    let found = try QueuedOperation.ofRecords(missing, in: connection)
    for record in missing { operations[record] = found[record] ?? [] }
  }

  private func loadNumbered(_ numbers: [Int64]) throws {
    let missing = Set(numbers.filter { numbered[$0] == nil })
    for number in missing { numbered[number] = .some(nil) }
    for operation in try QueuedOperation.numbered(missing, in: connection) { numbered[operation.number] = operation }
  }

  private func loadParents(_ operations: [QueuedOperation]) throws {
    for (type, operations) in Dictionary(grouping: operations, by: \.entityType).sorted(by: { $0.key < $1.key }) {
      guard let table = catalog.tables[type] else { continue }
      let pending = operations.filter { $0.payload == nil }
      let found = try table.parents(of: pending.map(\.entityId), in: connection)
      for operation in pending { parents[operation.number] = found[operation.entityId] ?? [] }
      try loadSentParents(operations.filter { $0.payload != nil }, table)
    }
  }

  /// Loads the parents of sealed operations. An operation that cannot be read fails alone when it is sent.
  private func loadSentParents(_ operations: [QueuedOperation], _ table: RecordTable) throws {
    var versions: [(number: Int64, fields: SyncObject)] = []
    for operation in operations {
      guard let patch = sent(operation)?.patch else { continue }
      // A restored record references all of its parents again.
      let base = patch.isDeleted == false ? try base(of: operation.record)?.fields : nil
      versions.append((operation.number, base?.overlaid(with: patch.fields) ?? patch.fields))
    }
    if versions.isEmpty { return }
    for key in table.keys {
      let found = try table.parents(by: key, in: versions, connection)
      for operation in operations {
        if let id = found[operation.number] { parents[operation.number, default: []].append((key, id)) }
      }
    }
  }

  private func loadHolders(_ operations: [QueuedOperation]) throws {
    for (type, operations) in Dictionary(grouping: operations, by: \.entityType).sorted(by: { $0.key < $1.key }) {
      guard let table = catalog.tables[type], !table.uniqueKeys.isEmpty else { continue }
      for columns in table.uniqueKeys {
        let records = try operations.compactMap { try record($0.record) }.filter { record in
          let base = try base(of: LocalIdentity(type, record.key))
          return base == nil || columns.contains { base?.fields[$0] != record.state.fields[$0] }
        }
        let found = try SyncBaseIndex.holders(
          ofEntity: type, columns, records.map { ($0.key, $0.state.fields) }, in: connection)
        for (key, others) in found {
          holders[LocalIdentity(type, key), default: []] += others.map {
            UniqueHolding(record: LocalIdentity(type, $0), columns: columns)
          }
        }
      }
    }
    for operation in operations where holders[operation.record] == nil { holders[operation.record] = [] }
  }

  private func loadFormerDependents(_ operations: [QueuedOperation]) throws {
    if operations.isEmpty { return }
    for operation in operations { formerDependents[operation.record] = [] }
    let moved: SQL = """
      SELECT parentType, parentId, entityType, entityId FROM \(ParameterRows(operations.map(\.record)).table) AS row
      CROSS JOIN SyncMoved AS moved ON \(ParameterRows.isRecord("moved", id: "parentId", type: "parentType"))
      """
    try connection.forEach(moved) { row in
      let parent = LocalIdentity(try row.decode(at: 0), try row.decode(at: 1))
      formerDependents[parent, default: []].append(LocalIdentity(try row.decode(at: 2), try row.decode(at: 3)))
    }
    for (type, keys) in Self.byType(operations.map(\.record)) {
      for reference in references(to: type) where !reference.cascades {
        // The pluses keep SQLite from reading all deleted records.
        let deleted = try connection.fetchRows(
          """
          SELECT parent.\(identifier: reference.parent.key), child.\(identifier: reference.child.key)
          FROM \(ParameterRows(keys).table) AS row
          CROSS JOIN \(identifier: reference.parent.table.name) AS parent
            ON parent.\(identifier: reference.parent.key) = row.column1
          CROSS JOIN \(identifier: reference.child.table.name) AS child
            ON \(raw: reference.isReferring(child: "child", parent: "parent"))
          WHERE +child.isDeleted = 1 AND +child.isDirty = 1
          """, as: Int64.self, Int64.self)
        for (parent, child) in deleted {
          formerDependents[LocalIdentity(type, parent), default: []].append(LocalIdentity(reference.child.type, child))
        }
      }
    }
  }

  /// The foreign keys by which synced records reference those of an entity.
  private func references(to type: String) -> [Dependency] {
    if let known = references[type] { return known }
    let entity = catalog.tables[type]?.entity
    let found =
      entity.map { catalog.entities.dependencies(on: $0).filter { catalog.tables[$0.child.type] != nil } } ?? []
    references[type] = found
    return found
  }

  private static func byType(_ identities: some Sequence<LocalIdentity>) -> [(type: String, keys: [Int64])] {
    Dictionary(grouping: Set(identities), by: \.type).sorted { $0.key < $1.key }.map { type, records in
      (type, records.map(\.key).sorted())
    }
  }
}
