import SyncModel

/// The position of an account and the changes that a transaction will make to it. A part of the transaction that fails is
/// undone, at a cost that depends on that part alone.
struct AccountState {
  /// The position, after the changes.
  private(set) var header: AccountHeader
  /// The jobs in the order of their numbers, after the changes.
  private(set) var jobs: [AccountJob]
  /// The changes so far.
  private(set) var changes = AccountChanges()
  /// The differences that the changes make to the sums of digests.
  private(set) var digests: [BucketName: DigestSum] = [:]
  /// The holders of UNIQUE values that changed; `nil` for a value that no record holds any more.
  private var holders: [UniqueValue: RecordName?] = [:]
  /// The dependents by reference that were added (`true`) or removed (`false`).
  private var dependents: [ReferenceValue: [String: Bool]] = [:]
  /// The entries before the changes of the parts that may fail, in the order of the changes.
  private var replaced: [Replaced] = []
  private var partCount = 0

  /// The entry of a dictionary before a change; `nil` if there was none.
  private enum Replaced {
    case row(RecordName, (old: RecordRow?, new: RecordRow?)?)
    case digest(BucketName, DigestSum?)
    case holder(UniqueValue, RecordName??)
    case dependent(ReferenceValue, String, Bool?)
    case response(String, (response: StoredResponse, storedAt: Int64)?)
    case mark(String, (mark: DeviceCounter, seenAt: Int64)?)
    case tombstone(RecordName, Int64??)
    case job(Int64, AccountJob??)
    case serverId(String, Int64?)
    case membership(Membership.Key, Membership?)
    case forgottenProject(String)
  }

  /// The beginning of a part that may fail.
  struct Part {
    fileprivate let header: AccountHeader
    fileprivate let jobs: [AccountJob]
    fileprivate let changedHeader: AccountHeader?
    fileprivate let epochStartedAt: Int64?
    fileprivate let replacedCount: Int
  }

  init(header: AccountHeader, jobs: [AccountJob]) { (self.header, self.jobs) = (header, jobs) }

  /// Whether a part that may fail is being executed.
  var isInPart: Bool { partCount > 0 }

  /// Begins a part that may fail. Parts nest.
  mutating func beginPart() -> Part {
    partCount += 1
    return Part(
      header: header, jobs: jobs, changedHeader: changes.header, epochStartedAt: changes.epochStartedAt,
      replacedCount: replaced.count)
  }

  /// Ends a part, and keeps its changes.
  mutating func keep(_ part: Part) {
    partCount -= 1
    if partCount == 0 { replaced = [] }
  }

  /// Ends a part, and undoes its changes.
  mutating func undo(_ part: Part) {
    (header, jobs) = (part.header, part.jobs)
    (changes.header, changes.epochStartedAt) = (part.changedHeader, part.epochStartedAt)
    while replaced.count > part.replacedCount {
      switch replaced.removeLast() {
      case .row(let name, let rows): changes.records[name] = rows
      case .digest(let bucket, let sum): digests[bucket] = sum
      case .holder(let value, let holder): holders[value] = holder
      case .dependent(let reference, let uuid, let isAdded): dependents[reference]?[uuid] = isAdded
      case .response(let key, let response): changes.responses[key] = response
      case .mark(let device, let mark): changes.marks[device] = mark
      case .tombstone(let name, let time): changes.tombstones[name] = time
      case .job(let number, let job): changes.jobs[number] = job
      case .serverId(let type, let last): changes.lastServerIds[type] = last
      case .membership(let key, let membership): changes.memberships[key] = membership
      case .forgottenProject(let project): changes.forgottenProjects.remove(project)
      }
    }
    partCount -= 1
  }

  /// Notes an entry that is about to change.
  private mutating func note(_ entry: Replaced) { if isInPart { replaced.append(entry) } }

  // MARK: Reading

  /// Returns the changed row of a record: `.some(nil)` for a removed one, `nil` for an unchanged one.
  func row(_ name: RecordName) -> RecordRow?? { changes.records[name].map(\.new) }

  /// Returns the holder of a value that changed, like ``row(_:)``.
  func holder(_ value: UniqueValue) -> RecordName?? { holders[value] }

  /// Returns the changed dependents by a reference.
  func dependents(_ reference: ReferenceValue) -> [String: Bool] { dependents[reference] ?? [:] }

  // MARK: Changing

  /// Replaces a row.
  /// - Parameter stored: the row before this change; `nil` for a new record.
  mutating func set(_ row: RecordRow?, of name: RecordName, over stored: RecordRow?) {
    note(.row(name, changes.records[name]))
    let original = changes.records[name].map(\.old) ?? stored
    changes.records[name] = (original, row)
    let growth = (row?.counted == nil ? 0 : 1) - (stored?.counted == nil ? 0 : 1)
    if growth != 0, let count = header.recordCount { changeHeader { $0.recordCount = count + Int64(growth) } }
    if let stored, let bucket = stored.counted { change(bucket) { $0.remove(stored.digest) } }
    if let row, let bucket = row.counted { change(bucket) { $0.add(row.digest) } }
    if stored?.keys.unique != row?.keys.unique || stored?.keys.released != row?.keys.released {
      let (before, after) = (Set(stored?.uniqueValues ?? []), Set(row?.uniqueValues ?? []))
      for value in before.subtracting(after) where holders[value] == nil || holders[value] == .some(name) {
        setHolder(nil, of: value)
      }
      for value in after.subtracting(before) { setHolder(name, of: value) }
    }
    if stored?.keys.references != row?.keys.references {
      let (left, found) = (Set(stored?.references ?? []), Set(row?.references ?? []))
      for reference in left.subtracting(found) { setDependent(name.entityUuid, of: reference, isAdded: false) }
      for reference in found.subtracting(left) { setDependent(name.entityUuid, of: reference, isAdded: true) }
    }
  }

  private mutating func change(_ bucket: BucketName, _ body: (inout DigestSum) -> Void) {
    note(.digest(bucket, digests[bucket]))
    body(&digests[bucket, default: DigestSum()])
  }

  private mutating func setHolder(_ name: RecordName?, of value: UniqueValue) {
    note(.holder(value, holders[value]))
    holders[value] = .some(name)
  }

  private mutating func setDependent(_ uuid: String, of reference: ReferenceValue, isAdded: Bool) {
    note(.dependent(reference, uuid, dependents[reference]?[uuid]))
    dependents[reference, default: [:]][uuid] = isAdded
  }

  /// Changes the position.
  mutating func changeHeader(_ body: (inout AccountHeader) -> Void) {
    body(&header)
    changes.header = header
  }

  /// Appends an epoch, which begins after the last change.
  mutating func startEpoch(_ epoch: String, at time: Int64) {
    changeHeader { header in
      header.epochStart = header.lastSequence
      header.epochs.append(epoch)
    }
    changes.epochStartedAt = time
  }

  mutating func setServerId(_ last: Int64, of entityType: String) {
    note(.serverId(entityType, changes.lastServerIds[entityType]))
    changes.lastServerIds[entityType] = last
  }

  mutating func keep(_ response: StoredResponse, to key: String, at time: Int64) {
    note(.response(key, changes.responses[key]))
    changes.responses[key] = (response, time)
  }

  mutating func keep(_ mark: DeviceCounter, of device: String, at time: Int64) {
    note(.mark(device, changes.marks[device]))
    changes.marks[device] = (mark, time)
  }

  /// Stores a tombstone with its time; `nil` removes it.
  mutating func setTombstone(_ time: Int64?, of name: RecordName) {
    note(.tombstone(name, changes.tombstones[name]))
    changes.tombstones[name] = .some(time)
  }

  mutating func set(_ membership: Membership) {
    note(.membership(membership.key, changes.memberships[membership.key]))
    changes.memberships[membership.key] = membership
  }

  /// Removes all memberships of a project, which is forgotten.
  mutating func forgetProject(_ uuid: String) {
    guard changes.forgottenProjects.insert(uuid).inserted else { return }
    note(.forgottenProject(uuid))
  }

  /// Adds a job in place of one for the same record.
  mutating func addJob(_ kind: AccountJob.Kind, _ name: RecordName, at time: Int64) {
    if let place = jobs.firstIndex(where: { $0.kind == kind && $0.name == name }) {
      change(job: jobs[place].number, to: nil)
      jobs.remove(at: place)
    }
    let known = max(jobs.last?.number ?? 0, changes.jobs.keys.max() ?? 0)
    let job = AccountJob(number: known + 1, kind: kind, name: name, time: time)
    jobs.append(job)
    change(job: job.number, to: job)
  }

  /// Stores how far a job is; `nil` ends it.
  mutating func setJob(_ number: Int64, _ job: AccountJob?) {
    change(job: number, to: job)
    guard let place = jobs.firstIndex(where: { $0.number == number }) else { return }
    if let job { jobs[place] = job } else { jobs.remove(at: place) }
  }

  private mutating func change(job number: Int64, to job: AccountJob?) {
    note(.job(number, changes.jobs[number]))
    changes.jobs[number] = .some(job)
  }

  /// Returns the changes so far with new sums of buckets, and continues without changes.
  mutating func takeChanges(_ buckets: [BucketName: DigestSum]) -> AccountChanges {
    var changes = changes
    changes.buckets = buckets
    self = AccountState(header: header, jobs: jobs)
    return changes
  }
}
