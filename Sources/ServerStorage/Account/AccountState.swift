import SyncModel

/// The position of an account and the changes that a transaction will make to it. A value, so that a part of the
/// transaction that fails leaves nothing behind.
struct AccountState {
  /// The position, after the changes.
  var header: AccountHeader
  /// The jobs in the order of their numbers, after the changes.
  var jobs: [AccountJob]
  /// The changes so far.
  var changes = AccountChanges()
  /// The differences that the changes make to the sums of digests.
  private(set) var digests: [BucketName: DigestSum] = [:]
  /// The holders of UNIQUE values that changed; `nil` for a value that no record holds any more.
  private var holders: [UniqueValue: RecordName?] = [:]
  /// The dependents by reference that were added (`true`) or removed (`false`).
  private var dependents: [ReferenceValue: [String: Bool]] = [:]

  init(header: AccountHeader, jobs: [AccountJob]) { (self.header, self.jobs) = (header, jobs) }

  /// Returns the changed row of a record: `.some(nil)` for a removed one, `nil` for an unchanged one.
  func row(_ name: RecordName) -> RecordRow?? { changes.records[name].map(\.new) }

  /// Returns the holder of a value that changed, like ``row(_:)``.
  func holder(_ value: UniqueValue) -> RecordName?? { holders[value] }

  /// Returns the changed dependents by a reference.
  func dependents(_ reference: ReferenceValue) -> [String: Bool] { dependents[reference] ?? [:] }

  /// Replaces a row.
  /// - Parameter stored: the row before this change; `nil` for a new record.
  mutating func set(_ row: RecordRow?, of name: RecordName, over stored: RecordRow?) {
    let original = changes.records[name].map(\.old) ?? stored
    changes.records[name] = (original, row)
    if let stored, let bucket = stored.counted { digests[bucket, default: DigestSum()].remove(stored.digest) }
    if let row, let bucket = row.counted { digests[bucket, default: DigestSum()].add(row.digest) }
    let (before, after) = (Set(stored?.uniqueValues ?? []), Set(row?.uniqueValues ?? []))
    for value in before.subtracting(after) where holders[value] == nil || holders[value] == .some(name) {
      holders[value] = .some(nil)
    }
    for value in after.subtracting(before) { holders[value] = .some(name) }
    let (left, found) = (Set(stored?.references ?? []), Set(row?.references ?? []))
    for reference in left.subtracting(found) { dependents[reference, default: [:]][name.entityUuid] = false }
    for reference in found.subtracting(left) { dependents[reference, default: [:]][name.entityUuid] = true }
  }

  /// Adds a job in place of one for the same record.
  mutating func addJob(_ kind: AccountJob.Kind, _ name: RecordName, at time: Int64) {
    if let place = jobs.firstIndex(where: { $0.kind == kind && $0.name == name }) {
      changes.jobs[jobs[place].number] = .some(nil)
      jobs.remove(at: place)
    }
    let known = max(jobs.last?.number ?? 0, changes.jobs.keys.max() ?? 0)
    let job = AccountJob(number: known + 1, kind: kind, name: name, time: time)
    jobs.append(job)
    changes.jobs[job.number] = job
  }

  /// Stores how far a job is; `nil` ends it.
  mutating func setJob(_ number: Int64, _ job: AccountJob?) {
    changes.jobs[number] = .some(job)
    guard let place = jobs.firstIndex(where: { $0.number == number }) else { return }
    if let job { jobs[place] = job } else { jobs.remove(at: place) }
  }
}
