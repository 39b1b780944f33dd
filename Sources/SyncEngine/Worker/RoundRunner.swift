import CipherSQL
import OfflineStore
import SyncModel

/// Does the steps of one round.
struct RoundRunner {
  let vault: Vault
  let remote: any Remote
  let tell: @Sendable (SyncEvent) -> Void
  let jitter: @Sendable () -> Double
  var report = SyncReport()
  /// Whether the first page is fetched from the beginning, whatever the cursor says.
  var fetchesAnew = false
  /// What is sent next, which may be nothing, when that was chosen together with the answers to what was sent last.
  private var chosen: Choice?

  private struct Choice {
    let request: PushRequest?
  }

  init(
    vault: Vault, remote: any Remote, jitter: @escaping @Sendable () -> Double,
    tell: @escaping @Sendable (SyncEvent) -> Void
  ) {
    (self.vault, self.remote, self.jitter, self.tell) = (vault, remote, jitter, tell)
  }

  /// Does a step of a plan.
  /// - Throws: what goes wrong on this device: a full disk, a damaged database.
  mutating func perform(_ plan: RoundPlan) async throws -> RoundEvent {
    do {
      switch plan.step {
      case .identify: return try await identify()
      case .reconcile: return try await reconcile()
      case .pull(let limit): return try await pull(limit: limit)
      case .fetchParents: return try await fetchParents()
      case .push: return try await push(plan)
      case .wait(let seconds):
        try await Task.sleep(for: .seconds(seconds))
        return .waited
      case .finish: return .waited
      }
    } catch let failure as RemoteFailure {
      report.failure = failure
      return .failed(failure.answer, operations: 0)
    } catch is CancellationError {
      return .failed(.cancelled, operations: 0)
    }
  }

  // MARK: Who answers

  private mutating func identify() async throws -> RoundEvent {
    let (info, clock) = try await timed { remote async throws(RemoteFailure) in try await remote.account() }
    var found = try await take(info, clock)
    // The choice is made only now that it is known to be the right server.
    if try await followActiveProjects() { found = try await take(info, clock) }
    report.heldBack += found.left.kept.values.reduce(0, +)
    return .identified(mustReconcile: found.mustReconcile)
  }

  private mutating func take(
    _ info: AccountInfo, _ clock: (sent: Int64, received: Int64)
  ) async throws -> Identification {
    let found = try await vault.sync { transaction in
      try transaction.note(serverTime: info.serverTime, between: clock.sent, and: clock.received)
      return try transaction.identify(info)
    }
    if let problem = found.problem {
      throw RemoteFailure(
        problem.isSchema ? .schemaTooOld : .pauseCredentials, message: problem.message, hint: problem.hint)
    }
    report.left += found.left.removed
    report.add(found.admitted)
    return found
  }

  /// A request with the times before and after it, by this device's clock.
  private func timed<Answer: Sendable>(
    _ ask: (any Remote) async throws(RemoteFailure) -> Answer
  ) async throws -> (Answer, (sent: Int64, received: Int64)) {
    let sent = Vault.now
    let answer = try await ask(remote)
    return (answer, (sent, Vault.now))
  }

  // MARK: Pull

  private mutating func pull(limit: Int) async throws -> RoundEvent {
    let anew = fetchesAnew
    fetchesAnew = false
    let (cursor, scopes) = try await vault.database.read { connection in
      (
        anew ? nil : try SyncSettings.value(.cursor, in: connection),
        try connection.fetch("SELECT entityUuid FROM SyncScope ORDER BY entityUuid", as: String.self)
      )
    }
    let (page, clock) = try await timed { remote async throws(RemoteFailure) in
      try await remote.changes(cursor: cursor, limit: limit, projects: scopes)
    }
    let counts = try await vault.sync { transaction in
      try transaction.note(serverTime: page.serverTime, between: clock.sent, and: clock.received)
      var counts = ApplyCounts()
      for change in page.changes { try transaction.apply(change, counts: &counts) }
      for records in page.gone { try transaction.apply(records, counts: &counts) }
      for list in page.fetched { try transaction.note(list) }
      try SyncSettings.set(.cursor, page.cursor, in: transaction.connection)
      if !page.hasMore {
        try transaction.bringBackWhatStayed()
        try transaction.noteFilled()
      }
      return counts
    }
    report.add(counts)
    if !page.changes.isEmpty { tell(.pulled(count: page.changes.count, remaining: page.remaining)) }
    return .pulled(hasMore: page.hasMore)
  }

  /// Records that others refer to and that the pages did not bring, because they are deleted or of another project.
  private mutating func fetchParents() async throws -> RoundEvent {
    var asked: Set<String> = []
    while true {
      let missing = try await vault.sync { try $0.missingParents() }.filter { asked.insert($0.uuid).inserted }
      if missing.isEmpty { return .fetchedParents }
      for (type, parents) in Dictionary(grouping: missing, by: \.entityType) {
        for part in parents.map(\.uuid).chunks(of: RecordsRequest.greatestCount) {
          let uuids = Array(part)
          let answer = try await remote.records(entityType: type, uuids: uuids)
          let counts = try await vault.sync { transaction in
            var counts = ApplyCounts()
            for change in answer.changes { try transaction.apply(change, counts: &counts) }
            return counts
          }
          report.add(counts)
        }
      }
    }
  }

  // MARK: Push

  private mutating func push(_ plan: RoundPlan) async throws -> RoundEvent {
    guard let request = try await takeRequest(plan.step) else { return .pushed(sent: 0, sawOthers: false) }
    let batch = request.operations
    do {
      let (answer, clock) = try await timed { remote async throws(RemoteFailure) in try await remote.push(request) }
      return try await settle(answer, of: request, clock, plan)
    } catch let failure as RemoteFailure {
      report.failure = failure
      try await charge(batch, failure)
      return .failed(failure.answer, operations: batch.count)
    } catch {
      try await release(batch)
      throw error
    }
  }

  private mutating func takeRequest(_ step: RoundStep) async throws -> PushRequest? {
    if let choice = chosen {
      chosen = nil
      return choice.request
    }
    return try await vault.sync { try Self.nextRequest(step, $0) }
  }

  /// Nil when nothing is to be sent.
  private static func nextRequest(_ step: RoundStep, _ transaction: SyncTransaction) throws -> PushRequest? {
    guard case .push(let limit, let byAge) = step else { return nil }
    let batch = try transaction.nextBatch(limit: limit, order: byAge ? .age : .priority)
    if batch.isEmpty { return nil }
    return PushRequest(
      deviceId: try transaction.deviceId(), cursor: try SyncSettings.value(.cursor, in: transaction.connection),
      operations: batch)
  }

  private mutating func settle(
    _ answer: PushAnswer, of request: PushRequest, _ clock: (sent: Int64, received: Int64), _ plan: RoundPlan
  ) async throws -> RoundEvent {
    let jitters = answer.results.map { _ in jitter() }
    var following = plan
    following.advance(.pushed(sent: request.operations.count, sawOthers: false))
    let step = following.step
    let restores = remote.abilities.restores
    // The next batch is chosen in the transaction that takes the answers: one sync of the disk instead of two.
    let (counts, hasTaken, next) = try await vault.sync { transaction in
      try transaction.note(serverTime: answer.serverTime, between: clock.sent, and: clock.received)
      var counts = PushCounts()
      for (result, jitter) in zip(answer.results, jitters) {
        try transaction.settle(result, jitter: jitter, counts: &counts)
      }
      var applied = ApplyCounts()
      if !restores { try transaction.remakeFollowers(of: request.operations, answer.results) }
      for records in answer.gone { try transaction.apply(records, counts: &applied) }
      counts.conflicts += applied.conflicts
      if let cursor = answer.cursor,
        try SyncSettings.value(.cursor, in: transaction.connection) == request.cursor
      {
        try SyncSettings.set(.cursor, cursor, in: transaction.connection)
      }
      let hasTaken = try transaction.hasAnsweredCascades()
      return (counts, hasTaken, try Self.nextRequest(step, transaction))
    }
    chosen = Choice(request: next)
    report.add(counts)
    report.failure = nil
    tell(.pushed(count: counts.pushed))
    if counts.conflicts > 0 { tell(.conflict(count: counts.conflicts)) }
    if counts.failed > 0 { tell(.failed(count: counts.failed)) }
    return .pushed(sent: request.operations.count, sawOthers: answer.cursor == nil || hasTaken)
  }

  /// Only an answer to an operation itself is an attempt: a request of several operations charges none of them.
  private mutating func charge(_ batch: [PushOperation], _ failure: RemoteFailure) async throws {
    let status: Int? =
      switch failure.answer {
      case .attempt: 500
      case .tooLarge: 413
      case .refused: failure.problem?.status ?? 400
      default: nil
      }
    guard batch.count == 1, let operation = batch.first, let status else {
      return try await release(batch, wasSent: failure != .offline)
    }
    let problem = ServerProblem(
      title: failure.problem?.title ?? "", status: status, detail: failure.problem?.detail ?? failure.message,
      field: failure.problem?.field)
    let jitter = jitter()
    let counts = try await vault.sync { transaction in
      var counts = PushCounts()
      try transaction.settle(
        PushResult(operationId: operation.operationId, outcome: .rejected(problem)), jitter: jitter, counts: &counts)
      return counts
    }
    report.add(counts)
    if counts.failed > 0 { tell(.failed(count: counts.failed)) }
  }

  private func release(_ batch: [PushOperation], wasSent: Bool = true) async throws {
    let ids = batch.map(\.operationId)
    let vault = vault
    // Also when the task was cancelled: what is under way goes on being so otherwise until the next round.
    try await Task.detached { try await vault.sync { try $0.release(ids, wasSent: wasSent) } }.value
  }

  // MARK: The end

  mutating func finish(_ outcome: RoundOutcome) async throws {
    report.outcome = outcome
    if let request = chosen?.request { try await release(request.operations, wasSent: false) }
    chosen = nil
    if outcome == .done { report.failure = nil }
  }
}

extension Array {
  func chunks(of size: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }
}
