import HTTPClient
import VaultStore
import SyncModel

/// The state of a comparison.
struct Comparing: Sendable {
  let scopes: [String]
  let theirs: EntityDigests
  /// The epoch of this device's versions, if it differs from the server's. A vault without an epoch has no versions of
  /// another epoch.
  let oldEpoch: String?
  /// Whether the device pulls on from its own cursor, which belongs to this epoch. Otherwise equal records get the
  /// server's version: a record that was changed and changed back has equal content and another version, which only a
  /// pull brings.
  let keepsCursor: Bool

  /// The projects that the server does not show to the user. Records of them that stay on the device are in no digest of the server.
  var lost: [String] = []
  /// The records that the server had.
  var records = 0
  /// Records of an entity that the server does not have now.
  var candidates: [(type: String, uuids: [String])] = []
  var onlyHere: Set<String> = []
  var deletions = 0

  /// The records of the entity that is compared and that no bucket of the server has named.
  var here: [String: RecordDigest] = [:]
  /// The digests without fields that have no column.
  var plain: [String: String] = [:]
  var ignored: [String] = []
  var wanted: [String] = []
  var renumbered: [RecordDigest] = []
  var repaired = RepairCounts()

  /// Returns the query for the digests of this device. In a new epoch they are those of all records: the server may have
  /// lost records of projects that the device no longer follows and has not left yet.
  func query(_ type: String) -> DigestQuery {
    DigestQuery(
      entityType: type, columns: theirs.columns, projects: oldEpoch == nil ? scopes : [], excluded: lost)
  }

  func summary(_ type: String) -> DigestSummary { theirs.entities[type] ?? .none }
}

/// Deletions that a comparison would carry out and that a user has to accept first.
extension Round {
  func action(of task: HoldTask) -> RoundTask.Action {
    switch task {
    case .begin: return .run(.beginComparison)
    case .entityDigests(let scopes, _, _, _): return .ask(.entityDigests(projects: scopes))
    case .decide: return .run(.acceptedDeletions)
    case .candidates(let type, let uuids): return .ask(.records(entityType: type, uuids: uuids, epoch: nil))
    case .countDeletable(let type, let uuids): return .run(.countDeletable(type, uuids))
    case .noteMemberProjects:
      guard let comparing else { return .decide }
      return .run(.noteMemberProjects(comparing.theirs.memberProjects, isNewEpoch: comparing.oldEpoch != nil))
    case .hold(let held): return .run(.holdDeletions(held.deletions))
    case .endEntity, .holdOrCompare: return .decide
    case .entity, .buckets, .records, .bucketRecords: break
    }
    guard let comparing else { return .decide }
    switch task {
    case .entity(let type): return .run(.read(.digests(comparing.query(type))))
    case .buckets(let type, _): return .ask(.bucketDigests(entityType: type, projects: comparing.scopes))
    case .records(let type, let ours, let theirs):
      let different = ours.filter { theirs?.buckets[$0.key] != $0.value }.map(\.key)
      return .run(.read(.recordDigests(comparing.query(type), buckets: Set(different), withPlain: false)))
    case .bucketRecords(let type, let buckets):
      return .ask(.recordDigests(entityType: type, buckets: buckets, projects: comparing.scopes))
    default: return .decide
    }
  }

  mutating func finish(_ task: HoldTask, _ result: RoundTask.Result) {
    switch (task, result) {
    case (.begin, .stored(.comparison(let scopes, let epoch, let cursor, let hasLost))):
      then([.holding(.entityDigests(scopes: scopes, epoch: epoch, cursor: cursor, hasLost: hasLost))])
    case (.entityDigests(let scopes, let epoch, let cursor, let hasLost), .responded(.entityDigests(let theirs), _)):
      let old = epoch == theirs.epoch ? nil : epoch
      let keepsCursor = old == nil && cursor != nil && !pulling.hasLostCursor
      comparing = Comparing(scopes: scopes, theirs: theirs, oldEpoch: old, keepsCursor: keepsCursor)
      let leaves = hasLost || theirs.memberProjects != nil
      then(
        (leaves ? [.holding(.noteMemberProjects)] : []) + entities.map { .holding(.entity($0)) } + [.holding(.decide)])
    case (.noteMemberProjects, .stored(.lostProjects(let lost))):
      comparing?.lost = lost
      if !lost.isEmpty { then([.leaving(.begin(.lost))]) }
    case (.entity(let type), .stored(.digests(let whole, let buckets))):
      comparing?.records += Int(whole.count)
      if comparing?.summary(type) == whole { return }
      let isKnown = comparing?.theirs.entities[type] != nil
      then([.holding(isKnown ? .buckets(type, ours: buckets) : .records(type, ours: buckets, theirs: nil))])
    case (.buckets(let type, let ours), .responded(.bucketDigests(let theirs), _)):
      then([.holding(.records(type, ours: ours, theirs: theirs))])
    case (.records(let type, let ours, let theirs), .stored(.recordDigests(let records, _))):
      comparing?.onlyHere = Set(records.map(\.entityUuid))
      let requests = theirs.map { theirs in
        let shared = ours.filter { theirs.buckets[$0.key] != nil && theirs.buckets[$0.key] != $0.value }.keys
        return theirs.requests(for: shared.sorted())
      }
      then((requests ?? []).map { .holding(.bucketRecords(type, $0)) } + [.holding(.endEntity(type))])
    case (.bucketRecords, .responded(.recordDigests(let theirs), _)):
      for record in theirs.records { comparing?.onlyHere.remove(record.entityUuid) }
    case (.endEntity(let type), .decided):
      let uuids = comparing?.onlyHere.sorted() ?? []
      if !uuids.isEmpty { comparing?.candidates.append((type, uuids)) }
    case (.decide, .stored(.count(let accepted))): decide(accepted)
    case (.candidates(let type, _), .responded(.records(let response), _)):
      let deleted = response.changes.filter(\.state.isDeleted).map(\.entityUuid)
      // In a new epoch, records that the server does not have are sent again.
      let isNewEpoch = comparing?.oldEpoch != nil
      then([.holding(.countDeletable(type, isNewEpoch ? deleted : deleted + response.missing))])
    case (.countDeletable, .stored(.count(let count))): comparing?.deletions += count
    case (.holdOrCompare(let accepted), .decided):
      let (deletions, records) = (comparing?.deletions ?? 0, comparing?.records ?? 0)
      if let held = HeldDeletions(deletions: deletions, of: records, accepted: accepted) {
        then([.holding(.hold(held))])
      } else {
        then(comparisonTasks)
      }
    case (.hold(let held), .stored(.done)):
      report.heldDeletions = held
      report.failure = .held(held)
      endStep(.heldDeletions)
    default: failUnexpectedly()
    }
  }

  /// Requests the candidates if they are many. Only the server knows which of them are deleted.
  private mutating func decide(_ accepted: Int) {
    guard let comparing else { return failUnexpectedly() }
    let most = comparing.candidates.reduce(0) { $0 + $1.uuids.count }
    guard HeldDeletions(deletions: most, of: comparing.records, accepted: accepted) != nil else {
      return then(comparisonTasks)
    }
    let requests: [RoundTask] = comparing.candidates.flatMap { type, uuids in
      uuids.chunks(of: RecordsRequest.greatestCount).map { .holding(.candidates(type, Array($0))) }
    }
    then(requests + [.holding(.holdOrCompare(accepted: accepted))])
  }
}

extension RemoteFailure {
  fileprivate static func held(_ held: HeldDeletions) -> RemoteFailure {
    RemoteFailure(
      .refused,
      message:
        "a comparison with the server would delete \(held.deletions) of the \(held.records) records on this device; "
        + "no record was deleted",
      hint: "check whether the server has lost data before you accept the deletions")
  }
}
