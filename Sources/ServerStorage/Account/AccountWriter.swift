import CipherSQL
import Platform
import RecordStore
import SyncModel

/// Changes an account within one transaction of an engine: loads the rows that it needs, decides in memory, and writes
/// once, in ``finish()``.
package final class AccountWriter: RecordWriting {
  let rows: any AccountRowsWriting
  let schema: AccountSchema
  let map: EntityMap
  let clock: Clock
  private let random: RandomSource
  private let firstSequence: Int64
  var state: AccountState
  /// The rows that were read, as the engine has them; `nil` for a record that the account lacks.
  private var loaded: [RecordName: RecordRow?] = [:]
  private var loadedHolders: [UniqueValue: RecordName?] = [:]
  private var loadedResponses: [String: StoredResponse?] = [:]
  private var loadedTombstones: [RecordName: Bool] = [:]
  /// The UUIDs of all dependents by a reference, ordered.
  private var loadedDependents: [ReferenceValue: [String]] = [:]
  var lastServerIds: [String: Int64]?
  /// Whether a record has a server id.
  var loadedServerIds: [AssignedId: Bool] = [:]
  /// The projects of the written changes; `nil` if they concern all devices.
  private var changedProjects: Set<String>? = []
  private var startsEpoch = false
  /// The devices that made changes; `nil` if others made some as well.
  private var authors: Set<String>? = []
  /// The device that makes the following changes; `nil` if no device makes them.
  var author: String?
  package var sender: Viewer?
  /// Whether the memberships are found in the records again.
  var isRebuilding = false
  /// The memberships that were read, and the holders whose memberships in a project were read.
  private(set) var loadedMemberships: [Membership.Key: Membership] = [:]
  private var loadedMembers: [String: Set<String>] = [:]
  /// The number of dependents that may still change in this transaction.
  var left = AccountWriter.dependentsPerWrite
  var isWorking = false
  /// The record whose deletion or restoration dependents can refuse, in the transaction of the request; `nil` in later ones.
  var refusable: RecordName?

  /// Creates a writer over the rows of a transaction.
  package init(_ rows: any AccountRowsWriting, _ schema: AccountSchema, _ environment: Environment) throws {
    (self.rows, self.schema) = (rows, schema)
    (map, clock, random) = (schema.map, environment.clock, environment.random)
    state = AccountState(header: try rows.header(), jobs: try rows.jobs())
    firstSequence = state.header.lastSequence
  }

  /// Writes the changes.
  /// - Returns: the changes, `nil` if the sequence has not grown, and whether any jobs are left.
  package func finish() throws -> (changes: CommittedChanges?, hasJobs: Bool) {
    try flush()
    let last = state.header.lastSequence
    guard last != firstSequence else { return (nil, !state.jobs.isEmpty) }
    if startsEpoch { return (CommittedChanges(epochAt: last), !state.jobs.isEmpty) }
    let author = authors.flatMap { $0.count == 1 ? $0.first : nil }
    return (CommittedChanges(firstSequence + 1...last, projects: changedProjects, author: author), !state.jobs.isEmpty)
  }

  /// Writes the changes so far, so that queries of the engine find them.
  func flush() throws {
    guard !state.changes.isEmpty else { return }
    guard !state.isInPart else {
      throw ServerError(.system, "changes cannot be listed in a part of a transaction that may fail")
    }
    let digests = state.digests.filter { $0.value != DigestSum() }
    let buckets =
      digests.isEmpty
      ? [:]
      : try rows.buckets(Array(digests.keys)).merging(digests) { sum, change in
        var sum = sum
        sum.add(change)
        return sum
      }
    let changes = state.takeChanges(buckets)
    try rows.apply(changes)
    if changes.epochStartedAt != nil { startsEpoch = true }
    for row in changes.records.values.flatMap({ [$0.old, $0.new] }).compactMap({ $0 }) {
      if let project = row.project { changedProjects?.insert(project) } else { changedProjects = nil }
    }
    (loaded, loadedHolders, loadedResponses, lastServerIds) = ([:], [:], [:], nil)
    for key in changes.memberships.keys { changedProjects?.insert(key.holder) }
    (loadedTombstones, loadedDependents, loadedServerIds) = ([:], [:], [:])
    (loadedMemberships, loadedMembers) = ([:], [:])
  }

  /// A reader of the state after the changes so far.
  var reader: AccountReader {
    get throws {
      try flush()
      return AccountReader(rows, schema)
    }
  }

  package var epochs: EpochHistory { EpochHistory(epochs: state.header.epochs) }
  package var lastSequence: Int64 { state.header.lastSequence }
  package var horizon: Int64 { state.header.horizon }

  package var recordCount: Int64 {
    get throws {
      if let known = state.header.recordCount { return known }
      // Changes that are not written yet belong to the sum, too.
      let count = try rows.countRecords() + state.digests.values.reduce(0) { $0 + $1.count }
      state.changeHeader { $0.recordCount = count }
      return count
    }
  }
  package var hasJobs: Bool { !state.jobs.isEmpty }
  package var largestStoredTime: Int64? { get throws { try reader.largestStoredTime } }

  package var deviceIds: [String] { get throws { try reader.deviceIds } }

  package func sharedVersion(of record: ServerRecord, with epoch: String) throws -> Int64? {
    epochs.sharedVersion(of: record.version, startVersions: record.startVersions, with: epoch)
  }

  package func changes(
    after sequence: Int64?, limit: Int, projects: Set<String>?, counted: Int?
  ) throws -> ChangePage {
    try reader.changes(after: sequence, limit: limit, projects: projects, counted: counted)
  }

  package func hasChange(after sequence: Int64, projects: Set<String>?) throws -> Bool {
    try reader.hasChange(after: sequence, projects: projects)
  }

  package func entityDigests(projects: Set<String>?) throws -> [String: DigestSummary] {
    try reader.entityDigests(projects: projects)
  }

  package func bucketDigests(of entityType: String, projects: Set<String>?) throws -> [String: DigestSummary] {
    try reader.bucketDigests(of: entityType, projects: projects)
  }

  package func recordDigests(
    of entityType: String, buckets: [String], projects: Set<String>?
  ) throws -> [RecordDigest] {
    try reader.recordDigests(of: entityType, buckets: buckets, projects: projects)
  }

  package func contentsInUse(among contents: [String]) throws -> Set<String> {
    try reader.contentsInUse(among: contents)
  }

  package func claims(on content: String) throws -> [ContentClaim] { try reader.claims(on: content) }

  package func earlierChanges(of projects: Set<String>, in numbers: ClosedRange<Int64>, limit: Int) throws -> ChangePage
  {
    try reader.earlierChanges(of: projects, in: numbers, limit: limit)
  }

  package func located(_ name: RecordName) throws -> LocatedRecord? {
    try applyPendingCascades(to: name)
    return try row(name).map { LocatedRecord(record: $0.record, project: $0.project) }
  }

  package func attempt<Result>(_ body: () throws -> Result) throws -> Result {
    let part = state.beginPart()
    do {
      let result = try body()
      state.keep(part)
      return result
    } catch {
      state.undo(part)
      throw error
    }
  }

  // MARK: Loading

  /// Reads what the operations of a push will need, in a constant number of statements.
  package func prepare(_ operations: [OperationOutline]) throws {
    try loadResponses(to: operations.map(\.key))
    try load(operations.flatMap { ($0.record.map { [$0] } ?? []) + $0.referenced })
    let created = operations.filter(\.isCreation).compactMap(\.record)
    try loadTombstones(among: created.filter { loaded[$0] == .some(nil) })
    try loadServerIds(
      operations.compactMap { operation in
        guard operation.isCreation, let id = operation.serverId, let name = operation.record else { return nil }
        return loaded[name] == .some(nil) ? AssignedId(entityType: name.entityType, serverId: id) : nil
      })
    let dependents = try loadDependents(of: operations.filter(\.changesDeletion).compactMap(\.record))
    var values = Set(try operations.flatMap { try likelyValues(of: $0) })
    for name in dependents { if let row = try row(name) { values.formUnion(map.parentValues(of: row)) } }
    try loadHolders(of: values.filter { loadedHolders[$0] == nil })
    try load(values.compactMap { loadedHolders[$0] ?? nil })
    if let sender, sender.isLimited {
      let names = operations.flatMap { ($0.record.map { [$0] } ?? []) + $0.referenced }
      try loadMemberships(of: names.compactMap { try row($0)?.project }, holders: sender.holders)
    }
  }

  private func loadResponses(to keys: [String]) throws {
    let unknown = keys.filter { loadedResponses[$0] == nil }
    if unknown.isEmpty { return }
    let found = try rows.responses(unknown)
    for key in unknown { loadedResponses[key] = .some(found[key]) }
  }

  private func loadTombstones(among names: [RecordName]) throws {
    let unknown = names.filter { loadedTombstones[$0] == nil }
    if unknown.isEmpty { return }
    let found = try rows.tombstones(among: unknown)
    for name in unknown { loadedTombstones[name] = found.contains(name) }
  }

  /// Returns whether the deletion of a record that the account did not have is stored.
  package func hasTombstone(of name: RecordName) throws -> Bool {
    if let changed = state.changes.tombstones[name] { return changed != nil }
    try loadTombstones(among: [name])
    return loadedTombstones[name] == true
  }

  /// Reads the dependents of deleted or restored records, unless a record has many.
  /// - Returns: the dependents.
  private func loadDependents(of names: [RecordName]) throws -> [RecordName] {
    var values: Set<ReferenceValue> = []
    for name in names where try row(name) != nil {
      for reference in map.dependents[name.entityType] ?? [] {
        if let value = try target(of: name, by: reference) { values.insert(value) }
      }
    }
    let unknown = values.filter { loadedDependents[$0] == nil }
    if unknown.isEmpty { return [] }
    // More dependents than one transaction visits are read in pages.
    let found = try rows.dependents(of: Array(unknown), limit: Self.dependentsPerWrite + 1)
    for value in unknown {
      let uuids = found[value] ?? []
      if uuids.count <= Self.dependentsPerWrite { loadedDependents[value] = uuids }
    }
    let dependents = unknown.flatMap { value in
      (loadedDependents[value] ?? []).map { RecordName(value.entityType, $0) }
    }
    try load(dependents)
    return dependents
  }

  /// Reads rows that are not known yet.
  func load(_ names: [RecordName]) throws {
    let unknown = Set(names).filter { loaded[$0] == nil }
    if unknown.isEmpty { return }
    for name in unknown { loaded[name] = .some(nil) }
    for row in try rows.records(Array(unknown)) { loaded[row.name] = .some(map.completed(row)) }
  }

  /// Reads the memberships of some holders and of the creators in some projects, which are not known yet.
  func loadMemberships(of projects: some Sequence<String>, holders: [String]) throws {
    let unknown = Set(projects).filter { loadedMembers[$0]?.isSuperset(of: holders) != true }
    if unknown.isEmpty { return }
    for membership in try rows.memberships(of: unknown.sorted(), holders: holders) {
      loadedMemberships[membership.key] = membership
    }
    for project in unknown { loadedMembers[project, default: []].formUnion(holders) }
  }

  /// Returns the row of a record as it is now, without the changes that jobs will make.
  func row(_ name: RecordName) throws -> RecordRow? {
    if let changed = state.row(name) { return changed }
    if loaded[name] == nil { try load([name]) }
    return loaded[name] ?? nil
  }

  /// Returns the record that holds a UNIQUE value.
  func holder(_ value: UniqueValue) throws -> RecordName? {
    if let changed = state.holder(value) { return changed }
    if let known = loadedHolders[value] { return known }
    try loadHolders(of: [value])
    return loadedHolders[value] ?? nil
  }

  /// Reads the holders of UNIQUE values.
  func loadHolders(of values: some Collection<UniqueValue>) throws {
    if values.isEmpty { return }
    let found = try rows.holders(of: Array(values))
    for value in values { loadedHolders[value] = .some(found[value]) }
  }

  /// Returns the dependents of a record by one reference after a UUID, including deleted ones, in the order of their
  /// UUIDs.
  func dependents(
    of name: RecordName, by reference: Dependent, after uuid: String?, limit: Int
  ) throws -> [RecordName] {
    guard let target = try target(of: name, by: reference) else { return [] }
    return try dependents(target, after: uuid, limit: limit)
  }

  func dependents(_ value: ReferenceValue, after uuid: String?, limit: Int) throws -> [RecordName] {
    let changed = state.dependents(value)
    let removed = changed.filter { !$0.value }
    let start = uuid ?? ""
    let stored =
      try loadedDependents[value]?.filter { $0 > start }
      ?? rows.dependents(value, after: uuid, limit: limit == .max ? .max : limit + removed.count)
    let added = changed.filter { $0.value && $0.key > start }.keys
    let all = Set(stored).subtracting(removed.keys).union(added).sorted()
    return all.prefix(limit).map { RecordName(value.entityType, $0) }
  }

  /// Returns the reference to a record; `nil` if the record has a NULL in a referenced value.
  private func target(of name: RecordName, by reference: Dependent) throws -> ReferenceValue? {
    guard !reference.isByUUID else {
      return ReferenceValue(
        entityType: reference.entityType, reference: reference.link.name, target: name.entityUuid)
    }
    guard let key = reference.link.targetKey, let value = try row(name)?.keys.unique[key] else { return nil }
    return ReferenceValue(entityType: reference.entityType, reference: reference.link.name, target: value)
  }

  /// Returns the records that a record references, with the reference.
  func parents(of row: RecordRow) throws -> [(reference: CheckPlan.Reference, name: RecordName)] {
    try map.parents(of: row) { try holder($0) }
  }

  /// Returns a record as if all jobs were done.
  package func record(_ name: RecordName) throws -> ServerRecord? {
    try applyPendingCascades(to: name)
    return try row(name)?.record
  }

  package func isDeleted(_ name: RecordName) throws -> Bool? {
    try applyPendingCascades(to: name)
    return try row(name)?.record.state.isDeleted
  }

  // MARK: Responses, devices and epochs

  package func storedResponse(for idempotencyKey: String) throws -> StoredResponse? {
    if let new = state.changes.responses[idempotencyKey] { return new.response }
    try loadResponses(to: [idempotencyKey])
    return loadedResponses[idempotencyKey] ?? nil
  }

  package func keep(response: String, to operation: OperationContent, at time: Int64) throws {
    state.keep(StoredResponse(result: response, digest: operation.digest), to: operation.key, at: time)
  }

  package func mark(of deviceId: String) throws -> DeviceCounter? {
    try state.changes.marks[deviceId]?.mark ?? rows.mark(of: deviceId)
  }

  package func keep(_ mark: DeviceCounter, of deviceId: String, at time: Int64) throws {
    state.keep(mark, of: deviceId, at: time)
    author = deviceId
  }

  package func startEpoch(at time: Int64) throws -> String {
    if state.changes.epochStartedAt != nil { try flush() }
    if !state.header.epochs.isEmpty { try reserveServerIds() }
    // The number of its own wakes devices that wait for a change.
    _ = nextSequence()
    let epoch = HexText.text(random.bytes(16))
    state.startEpoch(epoch, at: time)
    return epoch
  }

  func nextSequence() -> Int64 {
    state.changeHeader { $0.lastSequence += 1 }
    if let author { authors?.insert(author) } else { authors = nil }
    return state.header.lastSequence
  }
}
