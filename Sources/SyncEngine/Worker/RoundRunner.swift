import HTTPClient
import CipherSQL
import VaultStore
import SyncModel

/// Does the steps of one round.
struct RoundRunner {
  let vault: Vault
  let remote: any Remote
  let tell: @Sendable (SyncEvent) -> Void
  let jitter: @Sendable () -> Double
  var report = SyncReport()
  /// Whether the first page is fetched from the beginning, independent of the cursor.
  var fetchesAnew = false
  /// The number of empty pages in a row, although the server announced more.
  private var emptyPages = 0
  /// How often a response of this round queued a record again without a user's edit, by UUID.
  var repeats: [String: Int] = [:]
  /// The entity of a record that was queued again too often.
  var isRepeating: String?
  /// More repetitions than this prove a disagreement that no further request ends.
  static let longestRepetition = 20

  /// Records that pages reference and that were requested.
  private var asked: Set<String> = []
  /// Whether the server does not know the vault's cursor, so that the comparison gives it another one.
  var hasLostCursor = false
  /// The next request, which may be empty, when it is known.
  var chosen: Choice?

  struct Choice {
    var request: PushRequest?
    /// Operations that failed because one of their values cannot be sent.
    var failed = 0
    /// Whether another choice may find operations.
    var isUnfinished = false
  }

  init(
    vault: Vault, remote: any Remote, jitter: @escaping @Sendable () -> Double,
    tell: @escaping @Sendable (SyncEvent) -> Void
  ) {
    (self.vault, self.remote, self.jitter, self.tell) = (vault, remote, jitter, tell)
  }

  /// Performs a step of a plan.
  /// - Throws: errors of this device, such as a full disk or a damaged database.
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
      if failure.answer == .cursorUnknown { hasLostCursor = true }
      return .failed(failure.answer, operations: 0)
    } catch is CancellationError {
      return .failed(.cancelled, operations: 0)
    }
  }

  // MARK: Who answers

  private mutating func identify() async throws -> RoundEvent {
    let (info, clock) = try await timed { remote async throws(RemoteFailure) in try await remote.account() }
    var found = try await take(info, clock)
    // The projects are chosen only after the server was identified.
    if try await followActiveProjects() { found = try await take(info, clock) }
    report.heldBack += found.left.kept.values.reduce(0, +)
    if found.isNewEpoch { throw RemoteFailure.newEpoch }
    return .identified(mustReconcile: found.mustReconcile)
  }

  private mutating func take(
    _ info: AccountInfo, _ clock: (sent: Int64, received: Int64)
  ) async throws -> ServerIdentity {
    try Self.checkProtocol(of: info)
    let found = try await vault.sync { transaction in
      try transaction.note(serverTime: info.serverTime, between: clock.sent, and: clock.received)
      let identity = try transaction.identify(info)
      if identity.isOtherServer { try transaction.forgetServersFiles() }
      return identity
    }
    if let problem = found.problem {
      throw RemoteFailure(
        problem.isSchema ? .schemaTooOld : .pauseCredentials, message: problem.message, hint: problem.hint)
    }
    report.left += found.left.removed
    if found.hasKept { try await admitKept() }
    return found
  }

  static func checkProtocol(of info: AccountInfo) throws(RemoteFailure) {
    guard info.protocolVersion == WireProtocol.version else {
      throw RemoteFailure(
        .otherProtocol,
        message:
          "the server speaks version \(info.protocolVersion) of the sync protocol, and this program version \(WireProtocol.version)",
        hint: "update the older of the two; nothing is lost meanwhile")
    }
  }

  /// A request with the times before and after it, by this device's clock.
  func timed<Answer: Sendable>(
    _ ask: (any Remote) async throws(RemoteFailure) -> Answer
  ) async throws -> (Answer, (sent: Int64, received: Int64)) {
    let sent = Vault.now
    let answer = try await ask(remote)
    return (answer, (sent, Vault.now))
  }

  /// Only responses of the epoch of this device's versions are applied.
  func check(_ epoch: String) async throws {
    guard try await vault.database.read({ try SyncSettings.value(.epoch, in: $0) }) == epoch else {
      throw RemoteFailure.newEpoch
    }
  }

  // MARK: Pull

  private mutating func pull(limit: Int) async throws -> RoundEvent {
    let anew = fetchesAnew
    fetchesAnew = false
    let (cursor, scopes) = try await vault.database.read { connection in
      (
        anew ? nil : try SyncSettings.value(.cursor, in: connection),
        try SyncSettings.scopes(in: connection)
      )
    }
    let (page, clock) = try await timed { remote async throws(RemoteFailure) in
      try await remote.changes(cursor: cursor, limit: limit, projects: scopes)
    }
    try await check(page.epoch)
    if page.hasMore, page.cursor == cursor {
      throw RemoteFailure(.notTheServer(detail: "it says that there is more, and where it was asked already"))
    }
    emptyPages = page.hasMore && page.changes.isEmpty && page.gone.isEmpty && page.fetched.isEmpty ? emptyPages + 1 : 0
    if emptyPages > Self.longestRepetition {
      throw RemoteFailure(.notTheServer(detail: "it says that there is more, and sends one empty page after the other"))
    }
    try await fetchParents(of: page.changes)
    let (counts, arrived) = try await vault.sync { transaction in
      try transaction.note(serverTime: page.serverTime, between: clock.sent, and: clock.received)
      var counts = ApplyCounts()
      try transaction.changes.apply(page.changes, counts: &counts)
      for records in page.gone { try transaction.changes.apply(records, counts: &counts) }
      for list in page.fetched { try transaction.note(list) }
      try SyncSettings.set(.cursor, page.cursor, in: transaction.connection)
      if !page.hasMore, transaction.changes.arrived.isEmpty { try transaction.changes.endPull(counts: &counts) }
      return (counts, transaction.changes.arrived)
    }
    report.add(counts)
    for list in page.fetched { report.note(list) }
    try await admit(arrived)
    if !page.hasMore, !arrived.isEmpty {
      let counts = try await vault.sync { transaction in
        var counts = ApplyCounts()
        try transaction.changes.endPull(counts: &counts)
        return counts
      }
      report.add(counts)
    }
    if !page.changes.isEmpty { tell(.pulled(count: page.changes.count, remaining: page.remaining)) }
    return .pulled(hasMore: page.hasMore)
  }

  /// Fetches and applies the missing parents of a page before the page. A dependent that is applied first would be
  /// written twice: to the inbox, and from the inbox.
  private mutating func fetchParents(of changes: [RemoteRecord]) async throws {
    guard remote.capabilities.knowsOperations else { return }
    for wave in try await parents(of: changes).reversed() { try await apply(wave) }
    // Bounded, so that a long pull does not grow it without end.
    if asked.count > 10_000 { asked.removeAll(keepingCapacity: true) }
  }

  /// Fetches the records that changes reference and that the vault lacks, then the records that these reference, and
  /// so on.
  /// - Parameter withDeleted: whether to include the references of deleted records.
  mutating func parents(of changes: [RemoteRecord], withDeleted: Bool = false) async throws -> [[RemoteRecord]] {
    let catalog = vault.syncCatalog
    var waves: [[RemoteRecord]] = []
    var wave = changes
    while true {
      let children = wave
      let missing = try await vault.database.read { connection in
        try MissingParents(catalog: catalog, connection: connection).of(children, withDeleted: withDeleted)
      }.filter { asked.insert($0.uuid).inserted }
      if missing.isEmpty { return waves }
      wave = []
      for (type, parents) in Dictionary(grouping: missing, by: \.entityType) {
        wave += try await records(type, parents.map(\.uuid))
      }
      waves.append(wave)
    }
  }

  /// Fetches records of the vault's epoch by their UUIDs, as far as the server has them, deleted ones too.
  func records(_ type: String, _ uuids: [String]) async throws -> [RemoteRecord] {
    var records: [RemoteRecord] = []
    for part in uuids.chunks(of: RecordsRequest.greatestCount) {
      let answer = try await remote.records(entityType: type, uuids: Array(part), epoch: nil)
      try await check(answer.epoch)
      records += answer.changes
    }
    return records
  }

  /// Applies records that were asked for, in transactions of a page's length.
  private mutating func apply(_ records: [RemoteRecord]) async throws {
    for part in records.chunks(of: RecordsRequest.greatestCount) {
      let changes = Array(part)
      let (counts, arrived) = try await vault.sync { transaction in
        var counts = ApplyCounts()
        try transaction.changes.apply(changes, counts: &counts)
        return (counts, transaction.changes.arrived)
      }
      report.add(counts)
      try await admit(arrived)
    }
  }

  /// Applies inbox versions that wait for records that arrived, in short transactions.
  mutating func admit(_ arrived: [String]) async throws {
    var arrived = arrived
    while !arrived.isEmpty {
      let uuids = arrived
      let (counts, rest) = try await vault.sync { transaction in
        var counts = ApplyCounts()
        try transaction.changes.admit(arrived: uuids, counts: &counts)
        return (counts, transaction.changes.arrived)
      }
      report.add(counts)
      // Versions that cannot be stored now are tried again in the next round.
      if rest == uuids, counts.applied + counts.merged + counts.conflicts == 0 { return }
      arrived = rest
    }
  }

  /// Tries the inbox versions again, in short transactions.
  private mutating func admitKept() async throws {
    var place = InboxCursor()
    var hasMore = true
    while hasMore {
      let from = place
      let (counts, arrived, next) = try await vault.sync { transaction in
        var (counts, place) = (ApplyCounts(), from)
        let hasMore = try transaction.changes.admitAgain(from: &place, limit: Self.admittedAtOnce, counts: &counts)
        return (counts, transaction.changes.arrived, (place: place, hasMore: hasMore))
      }
      (place, hasMore) = next
      report.add(counts)
      try await admit(arrived)
    }
  }

  /// The most inbox versions that one transaction tries again.
  private static let admittedAtOnce = 250

  /// Fetches referenced records that the pages did not include, because they are deleted or belong to another
  /// project.
  private mutating func fetchParents() async throws -> RoundEvent {
    let catalog = vault.syncCatalog
    var asked: Set<String> = []
    var last = ""
    var isNew = false
    while true {
      let after = last
      let parents = try await vault.database.read { connection in
        try MissingParents(catalog: catalog, connection: connection)
          .ofInbox(after: after, limit: RecordsRequest.greatestCount)
      }
      guard let end = parents.last?.uuid else {
        // The fetched records may reference further ones.
        guard isNew else { return .fetchedParents }
        (last, isNew) = ("", false)
        continue
      }
      last = end
      let missing = parents.filter { asked.insert($0.uuid).inserted }
      isNew = isNew || !missing.isEmpty
      for (type, parents) in Dictionary(grouping: missing, by: \.entityType) {
        try await apply(try await records(type, parents.map(\.uuid)))
      }
    }
  }

  // MARK: The end

  mutating func finish(_ outcome: RoundOutcome) async throws {
    report.outcome = outcome
    if let chosen {
      if let request = chosen.request { try await release(request.operations, wasSent: false) }
      noteFailed(chosen.failed)
    }
    chosen = nil
    if outcome == .done { report.failure = nil }
  }
}

extension Array {
  func chunks(of size: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }
}
