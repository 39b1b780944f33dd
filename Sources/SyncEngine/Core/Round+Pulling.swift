import HTTPClient
import SyncModel
import VaultStore

/// The state of pulls. It is kept for the complete round.
struct Pulling: Sendable {
  /// Whether the first page is fetched from the beginning, independent of the cursor.
  var isFromBeginning = false
  /// Whether the server does not know the cursor of the vault. The comparison then sets a new cursor.
  var hasLostCursor = false
  /// Whether projects leave the device at the end of the pull, because the user has lost them. Not before: a later page can show that the
  /// user is a member again, and the records of earlier pages would be lost.
  var isLeaving = false
  /// The number of empty pages in a row, although the server announced more.
  var emptyPages = 0
  /// Records that were requested because changes reference them.
  var asked: Set<String> = []
  /// The records that the last ones reference.
  var wave: [RemoteRecord] = []
  /// Missing parents. Each wave is referenced by the wave before.
  var waves: [[RemoteRecord]] = []
  /// Records that were requested because versions of the inbox wait for them.
  var askedForInbox: Set<String> = []
  var hasNewParents = false

  /// More requests than this remembers are not worth their memory.
  static let mostAsked = 10_000

  mutating func beginInbox() { (askedForInbox, hasNewParents) = ([], false) }
}

extension Round {
  /// More repetitions than this prove a disagreement that no further request ends.
  static let longestRepetition = 20

  func action(of task: PullTask) -> RoundTask.Action {
    switch task {
    case .position: .run(.read(.pullPosition))
    case .page(let cursor, let scopes, let limit): .ask(.changes(cursor: cursor, limit: limit, projects: scopes))
    case .applyPage(let page, let facts): .run(.applyPage(page, facts))
    case .endPull: .run(.endPull)
    case .inboxParents(let last): .run(.read(.parentsOfInbox(after: last, limit: RecordsRequest.greatestCount)))
    case .inboxRecords(let type, let uuids): .ask(.records(entityType: type, uuids: uuids, epoch: nil))
    case .takePage, .applyParents, .endPage: .decide
    }
  }

  mutating func finish(_ task: PullTask, _ result: RoundTask.Result) {
    switch (task, result) {
    case (.position(let limit), .stored(.position(let cursor, let scopes, let hasLost))):
      pulling.isLeaving = pulling.isLeaving || hasLost
      let cursor = pulling.isFromBeginning ? nil : cursor
      pulling.isFromBeginning = false
      then([.pulling(.page(cursor: cursor, scopes: scopes, limit: limit))])
    case (.page(let cursor, _, _), .responded(.changes(let page), let facts)):
      then([.applying(.checkEpoch(page.epoch)), .pulling(.takePage(page, cursor: cursor, facts))])
    case (.takePage(let page, let cursor, let facts), .decided): take(page, cursor, facts)
    case (.applyParents, .decided):
      let waves = pulling.waves
      pulling.waves = []
      if pulling.asked.count > Pulling.mostAsked { pulling.asked.removeAll(keepingCapacity: true) }
      then(waves.reversed().flatMap { applying($0) })
    case (.applyPage(let page, _), .stored(.applied(let counts, let arrived))):
      report.add(counts)
      for list in page.fetched { report.note(list) }
      pulling.isLeaving = pulling.isLeaving || !page.removedProjects.isEmpty
      then(
        admitting(arrived) + (!page.hasMore && !arrived.isEmpty ? [.pulling(.endPull)] : [])
          + (!page.hasMore && pulling.isLeaving ? [.leaving(.begin(.lost))] : [])
          + [.pulling(.endPage(count: page.changes.count, remaining: page.remaining, hasMore: page.hasMore))])
    case (.endPull, .stored(.applied(let counts, _))): report.add(counts)
    case (.endPage(let count, let remaining, let hasMore), .decided):
      if count > 0 { tell(.pulled(count: count, remaining: remaining)) }
      endStep(.pulled(hasMore: hasMore))
    case (.inboxParents, .stored(.parents(let parents))): takeInbox(parents)
    case (.inboxRecords, .responded(.records(let response), _)):
      then([.applying(.checkEpoch(response.epoch))] + applying(response.changes))
    default: failUnexpectedly()
    }
  }

  private mutating func take(_ page: ChangesPage, _ cursor: String?, _ facts: RequestFacts) {
    if page.hasMore, page.cursor == cursor {
      return fail(RemoteFailure(.notTheServer(detail: "it announces more changes at the same cursor")))
    }
    let isEmpty = page.changes.isEmpty && page.gone.isEmpty && page.fetched.isEmpty
    pulling.emptyPages = page.hasMore && isEmpty ? pulling.emptyPages + 1 : 0
    if pulling.emptyPages > Self.longestRepetition {
      return fail(
        RemoteFailure(.notTheServer(detail: "it announces more changes but sends only empty pages")))
    }
    // A dependent that is applied before its parent would be written twice: to the inbox, and from the inbox.
    let parents: [RoundTask] =
      capabilities.knowsOperations
      ? [.applying(.findParents(page.changes, withDeleted: false)), .pulling(.applyParents)] : []
    then(parents + [.pulling(.applyPage(page, facts))])
  }

  /// Fetches the records that the pages did not include, because they are deleted or belong to another project.
  private mutating func takeInbox(_ parents: [RecordIdentity]) {
    guard let last = parents.last?.entityUuid else {
      guard pulling.hasNewParents else { return endStep(.fetchedParents) }
      // The fetched records may reference further ones.
      pulling.hasNewParents = false
      return then([.pulling(.inboxParents(after: ""))])
    }
    let missing = parents.filter { pulling.askedForInbox.insert($0.entityUuid).inserted }
    pulling.hasNewParents = pulling.hasNewParents || !missing.isEmpty
    then(
      missing.byEntity.map { .pulling(.inboxRecords(entityType: $0.type, $0.uuids)) }
        + [.pulling(.inboxParents(after: last))])
  }
}

extension [RecordIdentity] {
  /// The UUIDs of each entity, in the order of their first occurrence.
  var byEntity: [(type: String, uuids: [String])] {
    var order: [String] = []
    var groups: [String: [String]] = [:]
    for record in self {
      if groups[record.entityType] == nil { order.append(record.entityType) }
      groups[record.entityType, default: []].append(record.entityUuid)
    }
    return order.map { ($0, groups[$0] ?? []) }
  }
}

extension ApplyTask {
  var action: RoundTask.Action {
    switch self {
    case .checkEpoch(let epoch): .run(.read(.isCurrent(epoch: epoch)))
    case .findParents(let records, let withDeleted): .run(.read(.missingParents(records, withDeleted: withDeleted)))
    case .parentRecords(let type, let uuids): .ask(.records(entityType: type, uuids: uuids, epoch: nil))
    case .apply(let records): .run(.apply(records))
    case .admit(let arrived): .run(.admit(arrived))
    case .endWave: .decide
    }
  }
}

extension Round {
  mutating func finish(_ task: ApplyTask, _ result: RoundTask.Result) {
    switch (task, result) {
    case (.checkEpoch, .stored(.epoch(let isCurrent))): if !isCurrent { fail(.newEpoch) }
    case (.findParents(_, let withDeleted), .stored(.parents(let parents))):
      let missing = parents.filter { pulling.asked.insert($0.entityUuid).inserted }
      guard !missing.isEmpty else { return }
      then(
        missing.byEntity.flatMap { type, uuids in
          uuids.chunks(of: RecordsRequest.greatestCount).map { .applying(.parentRecords(entityType: type, Array($0))) }
        } + [.applying(.endWave(withDeleted: withDeleted))])
    case (.parentRecords, .responded(.records(let response), _)):
      pulling.wave += response.changes
      then([.applying(.checkEpoch(response.epoch))])
    case (.endWave(let withDeleted), .decided):
      let wave = pulling.wave
      pulling.wave = []
      pulling.waves.append(wave)
      then([.applying(.findParents(wave, withDeleted: withDeleted))])
    case (.apply, .stored(.applied(let counts, let arrived))):
      report.add(counts)
      then(admitting(arrived))
    case (.admit(let uuids), .stored(.applied(let counts, let arrived))):
      report.add(counts)
      // Versions that cannot be stored now are tried again in the next round.
      if arrived == uuids, counts.applied + counts.merged + counts.conflicts == 0 { return }
      then(admitting(arrived))
    default: failUnexpectedly()
    }
  }

  /// Returns the tasks that apply records in transactions of a page's length.
  func applying(_ records: [RemoteRecord]) -> [RoundTask] {
    records.chunks(of: RecordsRequest.greatestCount).map { .applying(.apply(Array($0))) }
  }

  /// Returns the task that applies inbox versions that wait for records that arrived.
  func admitting(_ arrived: [String]) -> [RoundTask] { arrived.isEmpty ? [] : [.applying(.admit(arrived))] }
}

extension Array {
  func chunks(of size: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }
}

extension FetchTask {
  var action: RoundTask.Action {
    switch self {
    case .account: .ask(.account)
    case .requireHistory(let info): .run(.requireHistory(info))
    case .records(let type, let uuids): .ask(.records(entityType: type, uuids: uuids, epoch: nil))
    case .findParents, .end: .decide
    }
  }
}

extension Round {
  mutating func finish(_ task: FetchTask, _ result: RoundTask.Result) {
    switch (task, result) {
    case (.account(let type, let uuids), .responded(.account(let info), _)):
      if let failure = RemoteFailure(protocolOf: info) { return fail(failure) }
      fetching = (info, [])
      let requests: [RoundTask] = uuids.chunks(of: RecordsRequest.greatestCount).map {
        .fetching(.records(entityType: type, Array($0)))
      }
      then([.fetching(.requireHistory(info))] + requests + [.fetching(.findParents), .fetching(.end)])
    case (.requireHistory, .stored(.done)): break
    case (.records, .responded(.records(let response), _)):
      fetching?.records += response.changes
      then([.applying(.checkEpoch(response.epoch))])
    case (.findParents, .decided): then([.applying(.findParents(fetching?.records ?? [], withDeleted: true))])
    case (.end, .decided):
      fetched = fetching.map { FetchedRecords(account: $0.account, records: $0.records, parents: pulling.waves) }
      end()
    default: failUnexpectedly()
    }
  }
}
