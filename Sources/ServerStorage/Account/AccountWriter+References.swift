import CipherSQL
import SchemaModel
import SyncModel

/// The effects of a deletion on records that reference a deleted record and stay.
extension AccountWriter {
  /// The number of dependents in which a deletion searches for a reference that refuses it. The limit keeps the
  /// transaction short; a larger deletion can miss such a reference.
  private static let mostObstacles = 1_000

  /// Checks that no remaining record references a deleted or cascaded record by a key that refuses this.
  /// - Throws: ``StorageRefusal``, which names the remaining record.
  func requireNoObstacle(to root: RecordName) throws {
    guard map.obstructed.contains(root.entityType) else { return }
    let budget = ThreadTime(clock)
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
          let page = try dependents(of: name, by: reference, after: nil, limit: left)
          left -= page.count
          try load(page)
          for dependent in page where try row(dependent)?.record.state.isDeleted == false {
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
  /// - Throws: ``StorageRefusal``, which names the remaining record, or the columns of the restored record itself.
  func requireNoReference(to name: RecordName, restoring root: RecordName) throws {
    for reference in map.dependents[name.entityType] ?? [] where reference.action != .cascade {
      let page = try dependents(of: name, by: reference, after: nil, limit: Self.mostObstacles)
      try load(page)
      for dependent in page
      where try row(dependent)?.record.state.isDeleted == false && effect(reference, on: dependent) == .refuses {
        if dependent == root { throw StorageRefusal.parentDeleted(columns: reference.columns) }
        throw StorageRefusal.referenced(by: dependent)
      }
    }
  }

  private func effect(_ reference: Dependent, on dependent: RecordName) throws -> ReferenceAction.Effect {
    if try willBeDeleted(dependent) { return reference.action.effect(goes: true) }
    guard reference.action == .setDefault else { return reference.action.effect(goes: false) }
    return reference.action.effect(goes: false, default: try defaults(of: reference).kind)
  }

  /// Returns whether a record is deleted after all jobs.
  private func willBeDeleted(_ name: RecordName) throws -> Bool {
    var graph = CascadeGraph<RecordName>()
    try load(name, into: &graph)
    return graph.willBeDeleted(name)
  }

  /// Returns the values of a reference's columns under SET DEFAULT.
  func defaults(of reference: Dependent) throws -> (kind: ReferenceAction.Default, fields: SyncObject) {
    guard let table = map.tables[reference.entityType] else { return (.null, [:]) }
    let values = try schema.withChecker { try $0.values(of: reference.replacements) }
    var fields = SyncObject()
    var target: RecordName?
    for (name, value) in zip(reference.columns, values) {
      guard let place = table.places[name] else { continue }
      let column = table.columns[place]
      guard let further = column.reference else {
        fields[name] = try column.value(of: value)
        continue
      }
      let found = value == .null ? nil : try record(with: value, under: further)
      fields[name] = found.map { .text($0.entityUuid) } ?? .null
      if reference.isByUUID { target = found }
    }
    if values.contains(.null) { return (.null, fields) }
    if !reference.isByUUID, let key = reference.link.targetKey, let text = reference.link.text(ofColumns: values) {
      target = try holder(UniqueValue(entityType: reference.targetType, key: key, value: text))
    }
    guard let target, try !willBeDeleted(target) else { return (.missingRecord, fields) }
    return (.liveRecord, fields)
  }

  /// Sets the reference of a remaining record to NULL or to its default.
  func detach(_ name: RecordName, from parent: RecordName, _ reference: Dependent) throws {
    guard let dependent = try row(name)?.record, !dependent.state.isDeleted else { return }
    var fields = SyncObject()
    switch try effect(reference, on: name) {
    case .none, .deletes, .refuses: return
    case .empties where reference.action == .setNull:
      for column in reference.columns { fields[column] = .null }
    case .empties, .setsDefault: fields = try defaults(of: reference).fields
    }
    let time = jobTime(of: [parent])
    let patch = RecordPatch(fields: fields, updatedAt: try changeTime([parent], isDeleted: true))
    let state = dependent.state.applying(patch)
    do {
      try attempt {
        _ = try store(name, over: dependent, state, createdAt: dependent.createdAt, at: time)
      }
    } catch let refusal as StorageRefusal {
      // The request is refused. After its transaction the reference stays unchanged.
      guard let refusable else { return }
      // The columns of another record would say nothing about the record of the request.
      throw name == refusable ? refusal : StorageRefusal.referenced(by: name)
    }
  }

  /// Checks that the records that a version references by some keys are not deleted, once its own record is restored.
  /// - Parameters:
  ///   - row: the version, which is not stored yet.
  ///   - stored: the row before; `nil` for a new record.
  /// - Throws: ``StorageRefusal``, which names the columns.
  func requireParents(of row: RecordRow, _ stored: RecordRow?, _ references: [CheckPlan.Reference]) throws {
    if references.isEmpty { return }
    let names = Set(references.map(\.name))
    let all = try parents(of: row)
    let parents = all.filter { names.contains($0.reference.name) && $0.name != row.name }
    if parents.isEmpty { return }
    let isRestored = stored?.record.state.isDeleted == true
    var graph = CascadeGraph<RecordName>()
    // Without jobs, only a restoration changes other records, so that no ancestors have to be read.
    let needsGraph = isRestored || !state.jobs.isEmpty
    if needsGraph, let stored {
      // The stored deletion, and the parents of the version.
      var record = try map.cascadeRecord(of: stored, state.jobs) { try holder($0) }
      record.parents = all.filter(\.reference.dependency.cascades).map(\.name)
      graph.records[row.name] = record
      for name in record.parents { try load(name, into: &graph) }
    }
    if isRestored { graph.apply(.restore, to: row.name) }
    var deleted: [String] = []
    for (reference, parent) in parents {
      if needsGraph { try load(parent, into: &graph) }
      let isDeleted =
        try needsGraph ? graph.willBeDeleted(parent) : self.row(parent)?.record.state.isDeleted != false
      if isDeleted { deleted += reference.columns.filter { !deleted.contains($0) } }
    }
    if !deleted.isEmpty { throw StorageRefusal.parentDeleted(columns: deleted) }
  }
}
