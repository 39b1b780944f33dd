import HTTPClient
import VaultStore
import SyncModel

extension Round {
  /// The most operations that one transaction reopens.
  private static let reopenedAtOnce = 500
  /// The most versions that one transaction removes from the inbox.
  private static let removedAtOnce = 2_000

  /// The tasks that compare all entities. Without the cursor, the inbox may hold versions of records whose deletion this
  /// device has missed, and all other versions of the inbox are fetched again because they differ. With the cursor, the
  /// device looks up versions of the inbox that the digests lack, because other data may have replaced the account's for a while.
  var comparisonTasks: [RoundTask] {
    let isNewEpoch = comparing?.oldEpoch != nil
    let keepsCursor = comparing?.keepsCursor ?? true
    return (keepsCursor ? [] : [.comparing(.emptyInbox)]) + entities.map { .comparing(.entity($0)) }
      + (isNewEpoch ? [.comparing(.reopenSealed)] : []) + [.comparing(.end)]
  }

  func action(of task: CompareTask) -> RoundTask.Action {
    guard let comparing else { return .decide }
    switch task {
    case .emptyInbox: return .run(.emptyInbox(limit: Self.removedAtOnce, isNewEpoch: comparing.oldEpoch != nil))
    case .entity(let type): return .run(.read(.digests(comparing.query(type))))
    case .buckets(let type, _): return .ask(.bucketDigests(entityType: type, projects: comparing.scopes))
    case .records(let type, let ours, let theirs):
      let buckets = comparing.different(ours, theirs?.buckets ?? [:])
      return .run(.read(.recordDigests(comparing.query(type), buckets: buckets, withPlain: true)))
    case .bucketRecords(let type, let buckets):
      return .ask(.recordDigests(entityType: type, buckets: buckets, projects: comparing.scopes))
    case .differences: return .decide
    case .forgetExtraFields(let type, let uuids): return .run(.forgetExtraFields(type, uuids))
    case .align(let type, let records): return .run(.align(type, records))
    case .findOldEpoch(let type, _): return .run(.recordsOfOldEpoch(type))
    case .fetch(let type, let uuids):
      return .ask(.records(entityType: type, uuids: uuids, epoch: comparing.oldEpoch))
    case .inbox(let type, let last):
      return .run(.read(.recordsOfInbox(type, after: last, limit: RecordsRequest.greatestCount)))
    case .lookUp(let type, let uuids): return .ask(.records(entityType: type, uuids: uuids, epoch: nil))
    case .repair(let type, let response, _):
      return .run(.repair(type, response, isNewEpoch: comparing.oldEpoch != nil))
    case .reopenSealed: return .run(.reopenSealed(limit: Self.reopenedAtOnce))
    case .end:
      let cursor = comparing.keepsCursor ? nil : comparing.theirs.cursor
      let skipsEntities = !Set(entities).isSuperset(of: comparing.theirs.entities.keys)
      return .run(.endComparison(epoch: comparing.theirs.epoch, cursor: cursor, skipsEntities: skipsEntities))
    }
  }

  mutating func finish(_ task: CompareTask, _ result: RoundTask.Result) {
    guard let comparison = comparing else { return failUnexpectedly() }
    switch (task, result) {
    case (.emptyInbox, .stored(.more(let hasMore))): if hasMore { then([.comparing(.emptyInbox)]) }
    case (.forgetExtraFields, .stored(.done)), (.align, .stored(.done)): break
    case (.entity(let type), .stored(.digests(let whole, let buckets))):
      // Equal records may have other versions.
      if comparison.summary(type) == whole, comparison.keepsCursor {
        comparing?.beginEntity([], [])
        return then([.comparing(.inbox(type, after: ""))])
      }
      let isKnown = comparison.theirs.entities[type] != nil
      then([.comparing(isKnown ? .buckets(type, ours: buckets) : .records(type, ours: buckets, theirs: nil))])
    case (.buckets(let type, let ours), .responded(.bucketDigests(let theirs), _)):
      guard isSameEpoch(theirs.epoch) else { return fail(.newEpoch) }
      then([.comparing(.records(type, ours: ours, theirs: theirs))])
    case (.records(let type, let ours, let theirs), .stored(.recordDigests(let records, let plain))):
      comparing?.beginEntity(records, plain)
      let requests = theirs.map { theirs in
        let different = comparison.different(ours, theirs.buckets)
        return theirs.requests(for: different.filter { theirs.buckets[$0] != nil }.sorted())
      }
      then((requests ?? []).map { .comparing(.bucketRecords(type, $0)) } + [.comparing(.differences(type))])
    case (.bucketRecords, .responded(.recordDigests(let theirs), _)):
      guard isSameEpoch(theirs.epoch) else { return fail(.newEpoch) }
      comparing?.compare(theirs.records)
    case (.differences(let type), .decided):
      then(comparison.repairs(of: type) + (comparison.keepsCursor ? [.comparing(.inbox(type, after: ""))] : []))
    case (.inbox(let type, _), .stored(.uuids(let uuids))):
      guard let last = uuids.last else { return }
      let listed = Set(comparison.wanted)
      let unlisted = uuids.filter { !listed.contains($0) }
      then((unlisted.isEmpty ? [] : [.comparing(.lookUp(type, unlisted))]) + [.comparing(.inbox(type, after: last))])
    case (.lookUp(let type, _), .responded(.records(let response), _)):
      guard isSameEpoch(response.epoch) else { return fail(.newEpoch) }
      // The server has the other records, whose projects the digests leave out.
      var missing = response
      missing.changes = []
      if !missing.missing.isEmpty { then([.comparing(.repair(type, missing, count: 0))]) }
    case (.findOldEpoch(let type, let uuids), .stored(.uuids(let old))):
      let known = Set(uuids)
      then(Comparing.fetches(type, uuids + old.filter { !known.contains($0) }))
    case (.fetch(let type, let uuids), .responded(.records(let response), _)):
      guard isSameEpoch(response.epoch) else { return fail(.newEpoch) }
      then([.comparing(.repair(type, response, count: uuids.count))])
    case (.repair(_, _, let count), .stored(.repaired(let counts, let repairs, let arrived))):
      report.add(counts)
      report.conflicts += repairs.conflicts
      comparing?.repaired.fetched += repairs.fetched
      comparing?.repaired.removed += repairs.removed
      comparing?.repaired.conflicts += repairs.conflicts
      if count > 0 { tell(.pulled(count: count, remaining: nil)) }
      then(admitting(arrived))
    case (.reopenSealed, .stored(.more(let hasMore))): if hasMore { then([.comparing(.reopenSealed)]) }
    case (.end, .stored(.done)):
      report.repaired += comparison.repaired.total
      report.hasCompared = true
      pulling.hasLostCursor = false
      comparing = nil
      endStep(.reconciled)
    default: failUnexpectedly()
    }
  }

  /// Responses of one comparison belong to one epoch.
  private func isSameEpoch(_ epoch: String) -> Bool { epoch == comparing?.theirs.epoch }
}

extension Comparing {
  /// Returns the buckets whose records are compared.
  fileprivate func different(_ ours: [String: DigestSummary], _ theirs: [String: DigestSummary]) -> Set<String> {
    Set(theirs.keys).union(ours.keys).filter { !keepsCursor || (theirs[$0] ?? .none) != (ours[$0] ?? .none) }
  }

  fileprivate mutating func beginEntity(_ records: [RecordDigest], _ plain: [RecordDigest]) {
    here = Dictionary(records.map { ($0.entityUuid, $0) }, uniquingKeysWith: { first, _ in first })
    self.plain = Dictionary(plain.map { ($0.entityUuid, $0.digest) }, uniquingKeysWith: { first, _ in first })
    (ignored, wanted, renumbered) = ([], [], [])
  }

  fileprivate mutating func compare(_ theirs: [RecordDigest]) {
    for record in theirs {
      let own = here.removeValue(forKey: record.entityUuid)
      let isEqual = own?.digest == record.digest
      guard isEqual || own != nil && plain[record.entityUuid] == record.digest else {
        wanted.append(record.entityUuid)
        continue
      }
      if !isEqual { ignored.append(record.entityUuid) }
      let isAligned = own?.version == record.version && (record.serverId == nil || own?.serverId == record.serverId)
      if !isAligned, !keepsCursor { renumbered.append(record) }
    }
  }

  /// Returns the tasks that remove the differences of an entity.
  fileprivate func repairs(of type: String) -> [RoundTask] {
    // Fields without a column that the server does not count were no part of its records.
    let forgets: [RoundTask] = ignored.isEmpty ? [] : [.comparing(.forgetExtraFields(type, ignored))]
    let alignments: [RoundTask] = renumbered.chunks(of: RecordsRequest.greatestCount).map {
      .comparing(.align(type, Array($0)))
    }
    // A record that is only here may be deleted there, or never have existed there.
    let uuids = wanted + here.keys.sorted()
    let fetches = oldEpoch == nil ? Self.fetches(type, uuids) : [.comparing(.findOldEpoch(type, uuids))]
    return forgets + alignments + fetches
  }

  fileprivate static func fetches(_ type: String, _ uuids: [String]) -> [RoundTask] {
    uuids.chunks(of: RecordsRequest.greatestCount).map { .comparing(.fetch(type, Array($0))) }
  }
}
