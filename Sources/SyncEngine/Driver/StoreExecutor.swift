import CipherSQL
import FileTransfers
import SyncModel
import VaultStore

/// Performs the transactions of a round on a vault.
package struct StoreExecutor: Sendable {
  private let vault: Vault

  package init(vault: Vault) { self.vault = vault }

  /// - Throws: errors of this device; `CancellationError` if the task is cancelled and the command does not survive that.
  package func run(_ command: StoreCommand) async throws -> StoreResult {
    if command.survivesCancellation { return try await uncancelled { try await perform(command) } }
    return try await perform(command)
  }

  private func perform(_ command: StoreCommand) async throws -> StoreResult {
    switch command {
    case .read(let query):
      let catalog = vault.syncCatalog
      return try await vault.database.read { try StoreReader(catalog: catalog, connection: $0).read(query) }
    case .prefetchBatch:
      // A write transaction waits for the user's writer, so the outbox is read before.
      guard try await vault.database.read({ try Outbox.hasReady(in: $0) }) else { return .prefetched(nil) }
      return try await vault.sync { try $0.perform(command) }
    default: return try await vault.sync { try $0.perform(command) }
    }
  }
}

/// Performs the queries of a round.
struct StoreReader {
  let catalog: SyncCatalog
  let connection: Connection

  func read(_ query: StoreQuery) throws -> StoreResult {
    switch query {
    case .activeProjects: return .activeProjects(mark: try SyncSettings.value(.activeProjects, in: connection))
    case .pullPosition:
      return .position(
        cursor: try SyncSettings.value(.cursor, in: connection), scopes: try SyncSettings.scopes(in: connection),
        hasLost: try !SyncSettings.lostProjects(in: connection).isEmpty)
    case .leaving(let cause): return .leaving(try LeavingReader(catalog, in: connection).plan(cause))
    case .isCurrent(let epoch):
      return .epoch(isCurrent: try SyncSettings.value(.epoch, in: connection) == epoch)
    case .missingParents(let records, let withDeleted):
      return .parents(identities(try missingParents.of(records, withDeleted: withDeleted)))
    case .parentsOfInbox(let last, let limit):
      return .parents(identities(try missingParents.ofInbox(after: last, limit: limit)))
    case .recordsOfInbox(let type, let last, let limit):
      return .uuids(try missingParents.recordsOfInbox(type, after: last, limit: limit))
    case .digests(let query):
      guard let table = catalog.tables[query.entityType] else { return .digests(whole: .none, buckets: [:]) }
      let found = try digests(query).digests(of: table)
      return .digests(whole: found.whole, buckets: found.buckets)
    case .recordDigests(let query, let buckets, let withPlain):
      guard let table = catalog.tables[query.entityType] else { return .recordDigests([], plain: []) }
      let digests = try digests(query)
      return .recordDigests(
        try digests.records(of: table, in: buckets),
        plain: withPlain ? try digests.records(of: table, in: buckets, hasExtraFields: false) : [])
    }
  }

  private var missingParents: MissingParents { MissingParents(catalog: catalog, connection: connection) }

  private func identities(_ parents: [MissingParents.Parent]) -> [RecordIdentity] {
    parents.map { RecordIdentity(entityType: $0.entityType, entityUuid: $0.uuid) }
  }

  private func digests(_ query: DigestQuery) throws -> StoreDigests {
    try StoreDigests(
      catalog: catalog, connection: connection, columns: query.columns, projects: query.projects,
      without: query.excluded)
  }
}

extension SyncTransaction {
  /// Performs a command of a round.
  func perform(_ command: StoreCommand) throws -> StoreResult {
    switch command {
    case .read(let query): return try StoreReader(catalog: catalog, connection: connection).read(query)
    case .beginRun(let cause): return .begun(run: try beginRun(cause: cause.rawValue))
    case .endRun(let run, let result, let absentFiles):
      if absentFiles > 0 { try askForAbsent(limit: absentFiles) }
      let end = try endRun(run, result)
      return .ended(nextDue: end.due, isUntidy: end.isUntidy)
    case .tidy: return .more(try tidy())
    case .identify(let account, let facts):
      try note(serverTime: account.serverTime, between: facts.sentAt, and: facts.receivedAt)
      if try forgetServersFiles() {
        var identity = ServerIdentity()
        identity.isForgetting = true
        return .identity(identity)
      }
      let identity = try identify(account)
      if identity.isOtherServer { try beginForgettingServersFiles() }
      return .identity(identity)
    case .requireHistory(let account): try requireHistory(of: account)
    case .follow(let active, let mark): try follow(active: active, mark: mark)
    case .admitAgain(let from, let limit):
      var (counts, place) = (ApplyCounts(), from)
      let hasMore = try changes.admitAgain(from: &place, limit: limit, counts: &counts)
      return .admittedAgain(counts, arrived: changes.arrived, next: place, hasMore: hasMore)
    case .admit(let arrived): return try applied { try changes.admit(arrived: arrived, counts: &$0) }
    case .leave(let records, let cause, let last): return .left(try leave(records, cause, since: last))
    case .forgetVersions(let versions): try forget(versions)
    case .endLeaving(let cause, let isDone): try endLeaving(cause, isDone: isDone)
    case .noteMemberProjects(let members, let isNewEpoch):
      return .lostProjects(try noteMemberProjects(members, isNewEpoch: isNewEpoch))
    case .apply(let records): return try applied { try changes.apply(records, counts: &$0) }
    case .applyPage(let page, let facts): return try applied { try apply(page, facts, &$0) }
    case .endPull: return try applied { try changes.endPull(counts: &$0) }
    case .chooseBatch(let selection): return .choice(try choice(selection))
    case .prefetchBatch(let selection): return .prefetched(try batch(selection, isPrefetch: true))
    case .acknowledge(let acknowledgement): return try perform(acknowledgement)
    case .reject(let operation, let problem, let jitter):
      var counts = PushCounts()
      try acknowledge(.rejected(problem), of: operation, jitter: jitter, counts: &counts)
      return .rejected(counts)
    case .release(let operations, let wasSent): try release(operations, wasSent: wasSent)
    case .drawDevice: try SyncSettings.drawDevice(reason: "copied", in: connection)
    case .beginComparison:
      try SyncSettings.set(.isComparing, "true", in: connection)
      return .comparison(
        scopes: try SyncSettings.scopes(in: connection), epoch: try epoch(),
        cursor: try SyncSettings.value(.cursor, in: connection),
        hasLost: try !SyncSettings.lostProjects(in: connection).isEmpty)
    case .holdDeletions(let count):
      try SyncSettings.set(.heldDeletions, String(count), in: connection)
      try SyncSettings.set(.acceptedDeletions, nil, in: connection)
    case .acceptedDeletions: return .count(try acceptedDeletions())
    case .countDeletable(let type, let uuids): return .count(try deletable(type, uuids))
    case .recordsOfOldEpoch(let type): return .uuids(try changes.recordsOfOldEpoch(type))
    case .emptyInbox(let limit, let isNewEpoch):
      return .more(try changes.emptyInbox(limit: limit, isNewEpoch: isNewEpoch))
    case .forgetExtraFields(let type, let uuids): try changes.forgetExtraFields(type, uuids)
    case .align(let type, let records):
      for record in records { try changes.align(type, record) }
    case .repair(let type, let response, let isNewEpoch): return try repair(type, response, isNewEpoch: isNewEpoch)
    case .reopenSealed(let limit): return .more(try changes.reopenSealed(limit: limit))
    case .endComparison(let epoch, let cursor, let skipsEntities): try endComparison(epoch, cursor, skipsEntities)
    }
    return .done
  }

  private func applied(_ body: (inout ApplyCounts) throws -> Void) throws -> StoreResult {
    var counts = ApplyCounts()
    try body(&counts)
    return .applied(counts, arrived: changes.arrived)
  }

  private func apply(_ page: ChangesPage, _ facts: RequestFacts, _ counts: inout ApplyCounts) throws {
    try note(serverTime: page.serverTime, between: facts.sentAt, and: facts.receivedAt)
    try changes.apply(page.changes, counts: &counts)
    for records in page.gone { try changes.apply(records, counts: &counts) }
    for list in page.fetched { try note(list) }
    try noteRemovedProjects(in: page)
    try SyncSettings.set(.cursor, page.cursor, in: connection)
    if !page.hasMore, changes.arrived.isEmpty { try changes.endPull(counts: &counts) }
  }

  private func repair(_ type: String, _ response: RecordsResponse, isNewEpoch: Bool) throws -> StoreResult {
    var counts = ApplyCounts()
    var repairs = RepairCounts()
    for change in response.changes {
      if isNewEpoch {
        try changes.takeAfterNewEpoch(change, repaired: &repairs, counts: &counts)
      } else {
        try changes.repair(change, repaired: &repairs, counts: &counts)
      }
    }
    for uuid in response.missing {
      if isNewEpoch {
        try changes.resendAfterNewEpoch(type, uuid, repaired: &repairs)
      } else {
        try changes.removeUnknown(type, uuid, repaired: &repairs)
      }
    }
    try changes.resolveClashes(counts: &counts)
    return .repaired(counts, repairs, arrived: changes.arrived)
  }

  /// Stores the end of a comparison. With a cursor of the server, the pull continues where the comparison began, so that
  /// no change is missed.
  /// - Parameter skipsEntities: whether the server has records of entities that this vault does not know.
  private func endComparison(_ epoch: String, _ cursor: String?, _ skipsEntities: Bool) throws {
    if let cursor { try SyncSettings.set(.cursor, cursor, in: connection) }
    if !skipsEntities || cursor != nil {
      try SyncSettings.set(.lacksEntities, skipsEntities ? "true" : nil, in: connection)
    }
    try SyncSettings.set(.epoch, epoch, in: connection)
    let isRequestedAgain = try SyncSettings.value(.isComparing, in: connection) == nil
    if !isRequestedAgain { try SyncSettings.set(.reconcileNext, nil, in: connection) }
    for name in [SyncSettings.Name.isComparing, .heldDeletions, .acceptedDeletions] {
      try SyncSettings.set(name, nil, in: connection)
    }
    try SyncSettings.set(.lastReconciliation, WireTime.text(now), in: connection)
  }

  // MARK: Pushing

  private func batch(_ selection: BatchSelection, isPrefetch: Bool = false) throws -> PreparedBatch {
    try nextBatch(limit: selection.limit, order: selection.order, isPrefetch: isPrefetch)
  }

  private func choice(_ selection: BatchSelection) throws -> BatchChoice { try choice(try batch(selection)) }

  private func choice(_ batch: PreparedBatch) throws -> BatchChoice {
    BatchChoice(
      request: batch.operations.isEmpty ? nil : try request(batch), failed: batch.failed,
      isUnfinished: batch.isUnfinished)
  }

  private func request(_ batch: PreparedBatch) throws -> PushRequest {
    PushRequest(
      deviceId: try deviceId(), deviceCounter: try nextDeviceCounter(),
      cursor: try SyncSettings.value(.cursor, in: connection), operations: batch.operations)
  }

  private func perform(_ acknowledgement: Acknowledgement) throws -> StoreResult {
    let (request, response) = (acknowledgement.request, acknowledgement.response)
    guard try epoch() == response.epoch else { return .otherEpoch }
    try note(
      serverTime: response.serverTime, between: acknowledgement.facts.sentAt, and: acknowledgement.facts.receivedAt)
    var counts = PushCounts()
    let responses = zip(request.operations, zip(response.results, acknowledgement.jitters)).map { sent, response in
      OperationResponse(to: sent, response.0.outcome, jitter: response.1)
    }
    try acknowledge(responses, counts: &counts)
    var applied = ApplyCounts()
    if !acknowledgement.restoresDependents {
      for content in try changes.remakeFollowers(of: request.operations, response.results) {
        try noteServer(has: false, content, .full)
      }
    }
    for records in response.gone { try changes.apply(records, counts: &applied) }
    counts.conflicts += applied.conflicts
    if let cursor = response.cursor, try SyncSettings.value(.cursor, in: connection) == request.cursor {
      try SyncSettings.set(.cursor, cursor, in: connection)
    }
    let sawOthers = try response.cursor == nil || changes.hasAcknowledgedCascades()
    return .acknowledged(counts, sawOthers: sawOthers, next: try choice(after: acknowledgement))
  }

  /// Returns the batch that follows a response, and prefetches the batch after that.
  private func choice(after acknowledgement: Acknowledgement) throws -> BatchChoice {
    var choice = try nextChoice(after: acknowledgement)
    if choice.request != nil, let following = acknowledgement.following {
      choice.prefetched = try batch(following, isPrefetch: true)
    }
    return choice
  }

  /// Returns the batch that follows a response: the prefetched one, unless another choice is better now.
  private func nextChoice(after acknowledgement: Acknowledgement) throws -> BatchChoice {
    guard let ahead = acknowledgement.prefetched else { return try next(acknowledgement.next) }
    if !ahead.operations.isEmpty, acknowledgement.response.changesNothingElse, try isStillNext(ahead) {
      return try choice(ahead)
    }
    try release(ahead.operations.map(\.operationId), wasSent: false)
    var choice = try next(acknowledgement.next)
    choice.failed += ahead.failed
    return choice
  }

  private func next(_ selection: BatchSelection?) throws -> BatchChoice {
    try selection.map { try choice($0) } ?? BatchChoice()
  }
}

extension PushResponse {
  /// Whether each operation was stored as it was sent, and nothing follows from that for other records.
  fileprivate var changesNothingElse: Bool {
    gone.isEmpty
      && results.allSatisfy { result in
        if case .accepted = result.outcome { true } else { false }
      }
  }
}
