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
  /// What is sent next, which may be nothing, once that is known.
  var chosen: Choice?

  struct Choice {
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
  func timed<Answer: Sendable>(
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
    if page.hasMore, page.cursor == cursor {
      throw RemoteFailure(.notTheServer(detail: "it says that there is more, and where it was asked already"))
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
