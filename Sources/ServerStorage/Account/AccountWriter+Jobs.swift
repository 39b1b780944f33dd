import SyncModel

/// Jobs whose dependents have to follow a record.
///
/// A visit reads one page of the dependents of one record and gives them the state that the record's state requires. It
/// can be repeated and interrupted at any point. If the record changes again in the meantime, it is visited again from
/// the start.
extension AccountWriter {
  /// The number of dependents that a transaction of a request visits. Separate transactions visit the rest.
  static let dependentsPerWrite = 25
  /// The number of dependents that one query returns.
  private static let pageSize = 50

  package func cascade(from record: ServerRecord, at time: Int64) throws -> Int {
    addJob(.cascade, record.name, at: time)
    if record.state.isDeleted { try requireNoObstacle(to: record.name) }
    refusable = record.name
    defer { refusable = nil }
    // The others of its cycles follow at once, so that a restored record is not below a deleted one.
    try applyPendingCascades(to: record.name)
    return try workWithinRequest()
  }

  /// Adds a job to visit all dependents of a record.
  func addJob(_ kind: AccountJob.Kind, _ name: RecordName, at time: Int64) {
    guard !map.references(kind, to: name.entityType).isEmpty else { return }
    state.addJob(kind, name, at: time)
  }

  /// Visits dependents up to the limit of a request's transaction.
  @discardableResult
  func workWithinRequest() throws -> Int {
    guard !isWorking else { return 0 }
    isWorking = true
    defer { isWorking = false }
    var visited = 0
    while left > 0, let count = try visit(atMost: left) {
      left -= count
      visited += count
    }
    return visited
  }

  /// Visits dependents until the time of a transaction is used up.
  package func work() throws {
    let budget = ThreadTime(clock)
    isWorking = true
    defer { isWorking = false }
    while try visit(atMost: Self.pageSize, within: budget) != nil { if budget.isOver { return } }
  }

  /// Adds a record and its ancestors to a graph, unless it has them.
  func load(_ name: RecordName, into graph: inout CascadeGraph<RecordName>) throws {
    var open = [name]
    while let next = open.popLast() {
      guard graph.records[next] == nil, let row = try row(next) else { continue }
      let record = try map.cascadeRecord(of: row, state.jobs) { try holder($0) }
      graph.records[next] = record
      open += record.parents
    }
  }

  /// Applies the pending changes of jobs to a record and its ancestors, so that the record can be changed as if the
  /// jobs were done.
  func applyPendingCascades(to name: RecordName) throws {
    guard !state.jobs.isEmpty else { return }
    var graph = CascadeGraph<RecordName>()
    try load(name, into: &graph)
    // A restoration that is refused keeps those below it from returning.
    for (name, change) in graph.pendingChanges() where graph.change(of: name) == change {
      try make(change, of: name, in: &graph)
    }
  }

  /// Visits some dependents of the record that was changed last.
  /// - Returns: the number of visited dependents; `nil` if no job is left.
  private func visit(atMost limit: Int, within budget: ThreadTime? = nil) throws -> Int? {
    guard let job = state.jobs.last else { return nil }
    let references = map.references(job.kind, to: job.name.entityType)
    let size = min(limit, Self.pageSize)
    var (reference, after, visited) = (job.reference, job.after, 0)
    let isDeleted = try isDeleted(job.name) == true
    while reference < references.count, visited < size, budget?.isOver != true {
      // The restoration of a record does not affect records that stayed when it was deleted.
      if job.kind == .cascade, references[reference].action != .cascade, !isDeleted {
        (reference, after) = (reference + 1, nil)
        continue
      }
      let page = try dependents(of: job.name, by: references[reference], after: after, limit: size - visited)
      if page.isEmpty {
        (reference, after) = (reference + 1, nil)
        continue
      }
      try load(page)
      for name in page {
        switch job.kind {
        case .cascade:
          try applyPendingCascades(to: name)
          if references[reference].action != .cascade { try detach(name, from: job.name, references[reference]) }
        case .project: try moveIfNeeded(name, at: job.time)
        }
        visited += 1
        after = name.entityUuid
        if budget?.isOver == true { break }
      }
    }
    if reference >= references.count {
      state.setJob(job.number, nil)
    } else {
      var job = job
      (job.reference, job.after) = (reference, after)
      state.setJob(job.number, job)
    }
    return visited
  }

  private func make(
    _ change: CascadeGraph<RecordName>.Change, of name: RecordName, in graph: inout CascadeGraph<RecordName>
  ) throws {
    let all = graph.records[name]?.parents ?? []
    let pending = all.filter { graph.records[$0]?.isPending == true }
    let parents = pending.isEmpty ? all : pending
    let time = jobTime(of: parents)
    switch change {
    case .delete(let root): try delete(name, with: root, under: parents, at: time)
    case .restore:
      guard try restore(name, under: parents, at: time) else {
        // Another record has its place by now: it stays deleted, and so do its dependents.
        graph.records[name]?.isCascaded = false
        try note(deletionOf: name, with: nil, isCascaded: false)
        if let refusable { try requireNoReference(to: name, restoring: refusable) }
        // Records that were restored before it and stay lose their references to it.
        return addJob(.cascade, name, at: time)
      }
    }
    graph.apply(change, to: name)
    addJob(.cascade, name, at: time)
  }

  /// Returns the server's time of the change that a record follows.
  func jobTime(of parents: [RecordName]) -> Int64 {
    for parent in parents {
      if let job = state.jobs.first(where: { $0.kind == .cascade && $0.name == parent }) { return job.time }
    }
    return state.jobs.map(\.time).max() ?? 0
  }

  private func delete(_ name: RecordName, with root: RecordName, under parents: [RecordName], at time: Int64) throws {
    guard let dependent = try row(name)?.record else { return }
    let deletedAt = try changeTime(parents, isDeleted: true)
    let state = dependent.state.applying(RecordPatch(isDeleted: true, updatedAt: deletedAt))
    _ = try store(name, over: dependent, state, createdAt: dependent.createdAt, at: time)
    try note(deletionOf: name, with: root, isCascaded: true)
  }

  /// - Returns: `false` if a rule of the data prevents the restoration.
  private func restore(_ name: RecordName, under parents: [RecordName], at time: Int64) throws -> Bool {
    guard let record = try row(name)?.record else { return false }
    let restoredAt = try changeTime(parents, isDeleted: false)
    let state = record.state.applying(RecordPatch(isDeleted: false, updatedAt: restoredAt))
    do {
      try attempt { _ = try store(name, over: record, state, createdAt: record.createdAt, at: time) }
      return true
    } catch is StorageRefusal {
      return false
    }
  }

  /// Returns the time of the deletion or restoration that a record follows.
  func changeTime(_ parents: [RecordName], isDeleted: Bool) throws -> Int64 {
    var latest: Int64 = 0
    for parent in parents {
      guard let state = try row(parent)?.record.state, state.isDeleted == isDeleted else { continue }
      latest = max(latest, state.editTime(of: RecordState.deletionField))
    }
    return latest
  }

  private func note(deletionOf name: RecordName, with root: RecordName?, isCascaded: Bool) throws {
    guard let stored = try row(name) else { return }
    var row = stored
    row.isCascaded = isCascaded
    row.record.deletedWith = root
    try put(row, of: name, over: stored)
  }

  package func keepDeleted(_ record: ServerRecord) throws {
    try note(deletionOf: record.name, with: nil, isCascaded: false)
  }

  /// Moves a dependent of a record that now belongs to another project. The dependent gets a new number, so that
  /// devices with only that project pull it.
  private func moveIfNeeded(_ name: RecordName, at time: Int64) throws {
    guard let stored = try row(name), try project(of: stored.record) != stored.project else { return }
    var row = stored
    row.record = stored.record.moved(to: nextSequence(), startVersions: startVersions(after: stored.record))
    try set(row, over: stored, at: time)
  }
}

extension ServerRecord {
  fileprivate func moved(to sequence: Int64, startVersions: [Int: Int64]) -> ServerRecord {
    ServerRecord(
      name: name, serverId: serverId, sequence: sequence, createdAt: createdAt, state: state,
      fieldVersions: fieldVersions, firstVersion: firstVersion, startVersions: startVersions,
      deletedWith: deletedWith, serviceFields: serviceFields)
  }
}
