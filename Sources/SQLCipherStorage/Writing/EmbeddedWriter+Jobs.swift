import CipherSQL
import ServerStorage
import SyncModel

/// Jobs whose dependents have to follow a record: the table `ServerJob`.
///
/// A visit reads one page of the dependents of one record and gives them the state that the record's state requires. It
/// can be repeated and interrupted at any point. If the record changes again in the meantime, it is visited again from
/// the start.
extension EmbeddedWriter {
  /// The number of dependents that a transaction of a request visits. Separate transactions visit the rest.
  static let dependentsPerWrite = 25
  /// The number of dependents that one query returns.
  private static let pageSize = 50

  enum JobKind: String {
    /// Dependents are deleted and restored with the record.
    case cascade
    /// Dependents belong to the project of the record.
    case project
    /// Values that travel with dependents follow values of the record, by ON UPDATE CASCADE, SET NULL or SET DEFAULT.
    case values
  }

  private struct Job {
    let number: Int64
    let kind: JobKind
    let name: RecordName
    let reference: Int
    let after: Int64?
    let time: Int64
  }

  func cascade(from record: ServerRecord, at time: Int64) throws -> Int {
    try addJob(.cascade, record.name, at: time)
    if record.state.isDeleted { try requireNoObstacle(to: record.name) }
    reader.notes.isRefusing = true
    defer { reader.notes.isRefusing = false }
    // The others of its cycles follow at once, so that a restored record is not below a deleted one.
    try applyPendingCascades(to: record.name)
    return try workWithinRequest()
  }

  /// Adds a job to visit all dependents of a record.
  func addJob(_ kind: JobKind, _ name: RecordName, at time: Int64) throws {
    let references = map.references(kind, to: name.entityType)
    guard !references.isEmpty else { return }
    reader.notes.isAny = true
    try connection.execute(
      """
      INSERT OR REPLACE INTO ServerJob (kind, entityType, entityUuid, time)
      VALUES (\(kind.rawValue), \(name.entityType), \(name.entityUuid), \(time))
      """)
  }

  /// Visits dependents up to the limit of a request's transaction.
  @discardableResult
  func workWithinRequest() throws -> Int {
    guard !reader.notes.isWorking else { return 0 }
    reader.notes.isWorking = true
    defer { reader.notes.isWorking = false }
    var visited = 0
    while reader.notes.left > 0, let count = try visit(atMost: reader.notes.left) {
      reader.notes.left -= count
      visited += count
    }
    return visited
  }

  /// Visits dependents until the time is used up.
  /// - Returns: whether any are left.
  func work(for budget: ThreadTime) throws -> Bool {
    reader.notes.isWorking = true
    defer { reader.notes.isWorking = false }
    while try visit(atMost: Self.pageSize, within: budget) != nil { if budget.isOver { return try reader.hasJobs() } }
    return false
  }

  /// Applies the pending changes of jobs to a record and its ancestors, so that the record can be changed as if the
  /// jobs were done.
  func applyPendingCascades(to name: RecordName) throws {
    guard try reader.hasJobs() else { return }
    var graph = CascadeGraph<RecordName>()
    try reader.load(name, into: &graph)
    // A restoration that is refused keeps those below it from returning.
    for (name, change) in graph.pendingChanges() where graph.change(of: name) == change {
      try make(change, of: name, in: &graph)
    }
  }

  /// Visits some dependents of the record that was changed last.
  /// - Returns: the number of visited dependents; `nil` if no job is left.
  private func visit(atMost limit: Int, within budget: ThreadTime? = nil) throws -> Int? {
    guard let job = try newestJob() else {
      reader.notes.isAny = false
      return nil
    }
    let references = map.references(job.kind, to: job.name.entityType)
    let size = min(limit, Self.pageSize)
    var (reference, after, visited) = (job.reference, job.after, 0)
    let isDeleted = try reader.isDeleted(job.name) == true
    while reference < references.count, visited < size, budget?.isOver != true {
      // The restoration of a record does not affect records that stayed when it was deleted.
      if job.kind == .cascade, references[reference].action != .cascade, !isDeleted {
        (reference, after) = (reference + 1, nil)
        continue
      }
      let page = try reader.dependents(of: job.name, by: references[reference], after: after, limit: size - visited)
      if page.isEmpty {
        (reference, after) = (reference + 1, nil)
        continue
      }
      for (row, name) in page {
        switch job.kind {
        case .cascade:
          try applyPendingCascades(to: name)
          if references[reference].action != .cascade { try detach(name, from: job.name, references[reference]) }
        case .project: try moveIfNeeded(name, at: job.time)
        case .values: try noteValues(of: name, references[reference], under: job.name, at: job.time)
        }
        visited += 1
        after = row
        if budget?.isOver == true { break }
      }
    }
    if reference == references.count {
      try connection.execute("DELETE FROM ServerJob WHERE number = \(job.number)")
    } else {
      try connection.execute(
        """
        UPDATE ServerJob SET reference = \(reference), after = \(after.sqlArgument) WHERE number = \(job.number)
        """)
    }
    return visited
  }

  private func newestJob() throws -> Job? {
    try connection.withStatement(
      "SELECT number, kind, entityType, entityUuid, reference, after, time FROM ServerJob ORDER BY number DESC LIMIT 1"
    ) { statement in
      guard try statement.step() else { return nil }
      let row = statement.row
      return Job(
        number: try row.decode(at: 0), kind: JobKind(rawValue: try row.decode(at: 1)) ?? .cascade,
        name: RecordName(try row.decode(at: 2), try row.decode(at: 3)), reference: try row.decode(at: 4),
        after: try row.decode(at: 5), time: try row.decode(at: 6))
    }
  }

  private func make(
    _ change: CascadeGraph<RecordName>.Change, of name: RecordName, in graph: inout CascadeGraph<RecordName>
  ) throws {
    let all = graph.records[name]?.parents ?? []
    let pending = all.filter { graph.records[$0]?.isPending == true }
    let parents = pending.isEmpty ? all : pending
    let time = try jobTime(of: parents)
    switch change {
    case .delete(let root): try delete(name, with: root, under: parents, at: time)
    case .restore:
      guard try restore(name, under: parents, at: time) else {
        // Another record has its place by now: it stays deleted, and so do its dependents.
        graph.records[name]?.isCascaded = false
        try note(deletionOf: name, with: nil, isCascaded: false)
        if reader.notes.isRefusing { try requireNoReference(to: name) }
        // Records that were restored before it and stay lose their references to it.
        return try addJob(.cascade, name, at: time)
      }
    }
    graph.apply(change, to: name)
    try addJob(.cascade, name, at: time)
  }

  /// Returns the server's time of the change that a record follows.
  func jobTime(of parents: [RecordName]) throws -> Int64 {
    for parent in parents {
      let time = try connection.fetchOne(
        """
        SELECT time FROM ServerJob
        WHERE kind = 'cascade' AND entityType = \(parent.entityType) AND entityUuid = \(parent.entityUuid)
        """, as: Int64.self)
      if let time { return time }
    }
    return try connection.fetchOne("SELECT max(time) FROM ServerJob", as: Int64.self) ?? 0
  }

  private func delete(_ name: RecordName, with root: RecordName, under parents: [RecordName], at time: Int64) throws {
    guard let dependent = try reader.record(name) else { return }
    // A trigger of the schema may have marked the row already.
    var previous = dependent
    previous.state.isDeleted = false
    let deletedAt = try changeTime(parents, isDeleted: true)
    let state = previous.state.applying(RecordPatch(isDeleted: true, updatedAt: deletedAt))
    _ = try store(name, over: previous, state, createdAt: dependent.createdAt, at: time)
    try note(deletionOf: name, with: root, isCascaded: true)
  }

  /// - Returns: `false` if a rule of the data prevents the restoration.
  private func restore(_ name: RecordName, under parents: [RecordName], at time: Int64) throws -> Bool {
    guard let record = try reader.record(name) else { return false }
    let restoredAt = try changeTime(parents, isDeleted: false)
    let state = record.state.applying(RecordPatch(isDeleted: false, updatedAt: restoredAt))
    do {
      try attempt {
        _ = try store(name, over: record, state, createdAt: record.createdAt, at: time)
      }
      return true
    } catch is StorageRefusal {
      return false
    }
  }

  /// Returns the time of the deletion or restoration that a record follows.
  func changeTime(_ parents: [RecordName], isDeleted: Bool) throws -> Int64 {
    var latest: Int64 = 0
    for parent in parents {
      guard let state = try reader.record(parent)?.state, state.isDeleted == isDeleted else { continue }
      latest = max(latest, state.editTime(of: RecordState.deletionField))
    }
    return latest
  }

  func note(deletionOf name: RecordName, with root: RecordName?, isCascaded: Bool) throws {
    try connection.execute(
      """
      UPDATE ServerRecord SET wentAlong = \(isCascaded), rootType = \((root?.entityType).sqlArgument),
        rootUuid = \((root?.entityUuid).sqlArgument)
      WHERE entityType = \(name.entityType) AND entityUuid = \(name.entityUuid)
      """)
  }

  func keepDeleted(_ record: ServerRecord) throws {
    try note(deletionOf: record.name, with: nil, isCascaded: false)
  }

  /// Gives a record a version if SQLite has changed its values with those of a record that it references.
  func noteValues(
    of name: RecordName, _ reference: EntityMap.Dependent, under parent: RecordName, at time: Int64
  ) throws {
    guard let record = try reader.record(name), try digest(of: record) != stored(name)?.digest,
      let changed = try reader.record(parent)?.state
    else { return }
    var previous = record
    // The values before the change are no longer known.
    for column in reference.columns { previous.state.fields[column] = nil }
    let patch = RecordPatch(
      fields: record.state.fields.filter { reference.columns.contains($0.name) },
      updatedAt: reference.targets.map { changed.editTime(of: $0) }.max() ?? changed.updatedAt)
    _ = try store(
      name, over: previous, record.state.applying(patch), createdAt: record.createdAt, computing: [],
      serviceFields: nil,
      at: time, checksReferences: false)
  }

  /// Moves a dependent of a record that now belongs to another project. The dependent gets a new number, so that
  /// devices with only that project pull it.
  private func moveIfNeeded(_ name: RecordName, at time: Int64) throws {
    guard let record = try reader.record(name), try project(of: record) != stored(name)?.project else { return }
    try note(record.moved(to: try nextSequence(), startVersions: startVersions(after: record)), at: time)
  }
}
