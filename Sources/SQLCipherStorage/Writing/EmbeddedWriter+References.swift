import CipherSQL
import RecordStore
import SchemaModel
import ServerStorage
import SyncModel

/// The effects of a deletion on records that reference a deleted record and stay.
extension EmbeddedWriter {
  /// The number of dependents in which a deletion searches for a reference that refuses it. The limit keeps the
  /// transaction short; a larger deletion can miss such a reference.
  private static let mostObstacles = 1_000

  /// Checks that no remaining record references a deleted or cascaded record by a key that refuses this.
  /// - Throws: ``StorageRefusal``, which names the remaining record.
  func requireNoObstacle(to root: RecordName) throws {
    guard map.obstructed.contains(root.entityType) else { return }
    let budget = ThreadTime(connection.environment.clock)
    var left = Self.mostObstacles
    var seen: Set<RecordName> = [root]
    var open = [root]
    while !open.isEmpty {
      var next: [RecordName] = []
      for name in open {
        for reference in map.dependents[name.entityType] ?? [] {
          let isOnTheWay = reference.action == .cascade && map.obstructed.contains(reference.entityType)
          guard isOnTheWay || reference.action == .restrict || reference.action == .setDefault else { continue }
          if left <= 0 || budget.isOver { return }
          let page = try reader.dependents(of: name, by: reference, after: nil, limit: left)
          left -= page.count
          for (_, dependent) in page where try reader.isDeleted(dependent) == false {
            if reference.action == .cascade {
              if seen.insert(dependent).inserted { next.append(dependent) }
            } else if try effect(reference, on: dependent) == .refuses {
              throw StorageRefusal.referenced(by: dependent)
            }
          }
        }
      }
      open = next
    }
  }

  /// Checks that no remaining record needs a dependent that stays deleted. Otherwise the restoration is refused.
  /// - Throws: ``StorageRefusal``, which names the columns of the reference.
  func requireNoReference(to name: RecordName) throws {
    for reference in map.dependents[name.entityType] ?? [] where reference.action != .cascade {
      for (_, dependent) in try reader.dependents(of: name, by: reference, after: nil, limit: Self.mostObstacles)
      where try reader.isDeleted(dependent) == false && effect(reference, on: dependent) == .refuses {
        throw StorageRefusal.parentDeleted(columns: reference.columns)
      }
    }
  }

  private func effect(
    _ reference: EntityMap.Dependent, on dependent: RecordName
  ) throws -> ReferenceAction.Effect {
    if try willBeDeleted(dependent) { return reference.action.effect(goes: true) }
    guard reference.action == .setDefault else { return reference.action.effect(goes: false) }
    return reference.action.effect(goes: false, default: try defaults(of: reference).kind)
  }

  /// Returns whether a record is deleted after all jobs.
  private func willBeDeleted(_ name: RecordName) throws -> Bool {
    var graph = CascadeGraph<RecordName>()
    try reader.load(name, into: &graph)
    return graph.willBeDeleted(name)
  }

  /// Returns the values of a reference's columns under SET DEFAULT.
  private func defaults(
    of reference: EntityMap.Dependent
  ) throws -> (kind: ReferenceAction.Default, fields: SyncObject) {
    guard let table = map.tables[reference.entityType] else { return (.null, [:]) }
    let (isNull, target, fields) = try connection.withStatement(reference.defaults) {
      statement -> (Bool, String?, SyncObject) in
      guard try statement.step() else { return (true, nil, [:]) }
      var fields = SyncObject()
      for (index, name) in reference.columns.enumerated() {
        guard let column = table.columns.first(where: { $0.name == name }) else { continue }
        fields[name] = try column.value(in: statement.row, at: Int32(index + 2))
      }
      return (try statement.row.decode(at: 0), try statement.row.decode(at: 1), fields)
    }
    if isNull { return (.null, fields) }
    guard let target, try !willBeDeleted(RecordName(reference.targetType, target)) else {
      return (.missingRecord, fields)
    }
    return (.liveRecord, fields)
  }

  /// Sets the reference of a remaining record to NULL or to its default.
  func detach(_ name: RecordName, from parent: RecordName, _ reference: EntityMap.Dependent) throws {
    guard let dependent = try reader.record(name), !dependent.state.isDeleted else { return }
    var fields = SyncObject()
    switch try effect(reference, on: name) {
    case .none, .deletes, .refuses: return
    case .empties where reference.action == .setNull:
      for column in reference.columns { fields[column] = .null }
    case .empties, .setsDefault: fields = try defaults(of: reference).fields
    }
    let time = try jobTime(of: [parent])
    let patch = RecordPatch(fields: fields, updatedAt: try changeTime([parent], isDeleted: true))
    let state = dependent.state.applying(patch)
    do {
      try attempt {
        _ = try store(
          name, over: dependent, state, createdAt: dependent.createdAt, at: time)
      }
    } catch let refusal as StorageRefusal {
      // A request that deletes the record is refused. After its transaction the reference stays unchanged.
      if reader.notes.isRefusing { throw refusal }
    }
  }
}

/// The records that a version references.
extension EmbeddedWriter {
  /// Checks that the records that a row references by some keys are not deleted, once the row's own record is restored.
  /// - Throws: ``StorageRefusal``, which names the columns.
  func requireParents(of name: RecordName, by keys: [Dependency]) throws {
    if keys.isEmpty { return }
    let columns = Set(keys.map(\.columns))
    let parents = try reader.parents(of: name).filter { columns.contains($0.key.columns) && $0.name != name }
    if parents.isEmpty { return }
    let isRestored = try reader.isDeleted(name) == true
    var graph = CascadeGraph<RecordName>()
    // Without jobs, only a restoration changes other records, so that no ancestors have to be read.
    let needsGraph = try isRestored || reader.hasJobs()
    if needsGraph { try reader.load(name, into: &graph) }
    if isRestored { graph.apply(.restore, to: name) }
    var deleted: [String] = []
    for (key, parent) in parents {
      if needsGraph { try reader.load(parent, into: &graph) }
      let isDeleted = try needsGraph ? graph.willBeDeleted(parent) : reader.isDeleted(parent) != false
      if isDeleted { deleted += key.columns.filter { !deleted.contains($0) } }
    }
    if !deleted.isEmpty { throw StorageRefusal.parentDeleted(columns: deleted) }
  }

  /// Returns the dependents that no longer reference a record after a change, so that no job can find them.
  func dependentsLeft(
    by name: RecordName, _ state: RecordState, after previous: RecordState
  ) throws -> [(name: RecordName, reference: EntityMap.Dependent)] {
    var left: [(name: RecordName, reference: EntityMap.Dependent)] = []
    for reference in map.references(.values, to: name.entityType) where reference.isLeft(state, after: previous) {
      left += try reader.dependents(of: name, by: reference, after: nil, limit: .max).map { ($0.name, reference) }
    }
    return left
  }

  /// Returns the columns of foreign keys whose values no record has.
  func missingParents(_ fields: SyncObject, _ table: RecordTable) throws -> [String] {
    var missing: [String] = []
    for key in table.keys where try table.lacksParent(by: key, in: fields, connection) {
      missing += key.columns.filter { !missing.contains($0) }
    }
    return missing
  }
}

extension RecordTable {
  /// Returns the foreign keys that a version references by for the first time.
  func keys(toCheckIn state: RecordState, after previous: RecordState?) -> [Dependency] {
    guard let previous, !previous.isDeleted else { return keys }
    return keys.filter { key in key.columns.contains { state.fields[$0] != previous.fields[$0] } }
  }
}

extension EntityMap.Dependent {
  /// Whether values that travel with dependents follow a change of a record. A reference of one column travels as a UUID,
  /// so it changes only if it becomes NULL.
  func follows(_ state: RecordState, after previous: RecordState) -> Bool {
    targets.contains { name in
      state.fields[name] != previous.fields[name] && (targets.count > 1 || state.fields[name] ?? .null == .null)
    }
  }

  /// Whether the dependents no longer reference a record after a change.
  fileprivate func isLeft(_ state: RecordState, after previous: RecordState) -> Bool {
    follows(state, after: previous) && (endsOnUpdate || targets.contains { state.fields[$0] ?? .null == .null })
  }
}
