import HTTPClient
import CipherSQL
import VaultStore
import SyncModel

/// Pushes the outbox, batch by batch.
///
/// While the server processes one batch, the next one is prefetched. The response decides whether it is sent: if the
/// response made more urgent operations ready or changed prefetched ones, the batch is chosen again.
extension RoundRunner {
  mutating func push(_ plan: RoundPlan) async throws -> RoundEvent {
    if let type = isRepeating {
      report.failure = RemoteFailure(
        .unreachable,
        message: "a record of \(type) was sent \(Self.longestRepetition) times and changed by the server each time",
        hint: "nothing is lost; the next round tries it again. The server's rules and those of this vault may differ")
      return .failed(.unreachable, operations: 0)
    }
    var choice = try await takeChoice(plan.step)
    noteFailed(choice.failed)
    while choice.request == nil, choice.isUnfinished {
      try Task.checkCancellation()
      choice = try await takeChoice(plan.step)
      noteFailed(choice.failed)
    }
    guard let request = choice.request else { return .pushed(sent: 0, sawOthers: false) }
    let batch = request.operations
    var following = plan
    following.advance(.pushed(sent: batch.count, sawOthers: false))
    let step = following.step
    // A prefetched batch counts as sent after a crash. This is harmless if the server recognises repeated operations.
    let (vault, prefetches) = (vault, remote.capabilities.knowsOperations)
    async let ahead = prefetches ? Self.prefetchBatch(step, vault) : nil
    do {
      let (answer, clock) = try await timed { remote async throws(RemoteFailure) in try await remote.push(request) }
      guard answer.results.map(\.operationId) == batch.map(\.operationId) else {
        throw RemoteFailure(.notTheServer(detail: "its results are not those of the operations that were sent"))
      }
      try await check(answer.epoch)
      return try await acknowledge(answer, of: request, clock, step, await ahead)
    } catch let failure as RemoteFailure {
      report.failure = failure
      if let ahead = await ahead {
        try await release(ahead.operations, wasSent: false)
        noteFailed(ahead.failed)
      }
      try await charge(batch, failure)
      if failure.answer == .deviceCopied {
        try await vault.sync { try SyncSettings.drawDevice(reason: "copied", in: $0.connection) }
      }
      return .failed(failure.answer, operations: batch.count)
    } catch {
      try await release(batch)
      if let ahead = await ahead { try await release(ahead.operations, wasSent: false) }
      throw error
    }
  }

  // MARK: What is sent

  private mutating func takeChoice(_ step: RoundStep) async throws -> Choice {
    if let choice = chosen {
      chosen = nil
      return choice
    }
    return try await vault.sync { try Self.choice(step, $0) }
  }

  /// Operations that failed before they left the device.
  mutating func noteFailed(_ count: Int) {
    if count == 0 { return }
    report.failed += count
    tell(.failed(count: count))
  }

  private static func choice(_ step: RoundStep, _ transaction: SyncTransaction) throws -> Choice {
    guard let batch = try nextBatch(step, transaction) else { return Choice() }
    return try choice(batch, transaction)
  }

  private static func choice(_ batch: PreparedBatch, _ transaction: SyncTransaction) throws -> Choice {
    Choice(
      request: batch.operations.isEmpty ? nil : try request(batch, transaction), failed: batch.failed,
      isUnfinished: batch.isUnfinished)
  }

  private static func nextBatch(
    _ step: RoundStep, isPrefetch: Bool = false, _ transaction: SyncTransaction
  ) throws -> PreparedBatch? {
    guard case .push(let limit, let byAge) = step else { return nil }
    return try transaction.nextBatch(limit: limit, order: byAge ? .age : .priority, isPrefetch: isPrefetch)
  }

  private static func request(_ batch: PreparedBatch, _ transaction: SyncTransaction) throws -> PushRequest {
    PushRequest(
      deviceId: try transaction.deviceId(), deviceCounter: try transaction.nextDeviceCounter(),
      cursor: try SyncSettings.value(.cursor, in: transaction.connection),
      operations: batch.operations)
  }

  private static func prefetchBatch(_ step: RoundStep, _ vault: Vault) async -> PreparedBatch? {
    do {
      guard try await vault.database.read({ try Outbox.hasReady(in: $0) }) else { return nil }
      return try await vault.sync { try nextBatch(step, isPrefetch: true, $0) }
    } catch {
      // The batch is chosen again with the response. An error of this device is thrown then.
      return nil
    }
  }

  /// Returns the batch that follows a response: the prefetched one, unless another choice is better now.
  private static func choice(
    _ step: RoundStep, _ ahead: PreparedBatch?, after answer: PushResponse, _ transaction: SyncTransaction
  ) throws -> Choice {
    guard let ahead else { return try choice(step, transaction) }
    if !ahead.operations.isEmpty, answer.changesNothingElse, try transaction.isStillNext(ahead) {
      return try choice(ahead, transaction)
    }
    try transaction.release(ahead.operations.map(\.operationId), wasSent: false)
    var choice = try choice(step, transaction)
    choice.failed += ahead.failed
    return choice
  }

  // MARK: What the server answers

  private mutating func acknowledge(
    _ answer: PushResponse, of request: PushRequest, _ clock: (sent: Int64, received: Int64), _ step: RoundStep,
    _ ahead: PreparedBatch?
  ) async throws -> RoundEvent {
    let jitters = answer.results.map { _ in jitter() }
    let restores = remote.capabilities.restores
    let (counts, hasTaken, next) = try await vault.sync { transaction in
      try transaction.note(serverTime: answer.serverTime, between: clock.sent, and: clock.received)
      var counts = PushCounts()
      for (sent, (result, jitter)) in zip(request.operations, zip(answer.results, jitters)) {
        try transaction.acknowledge(result.outcome, of: sent, jitter: jitter, counts: &counts)
      }
      var applied = ApplyCounts()
      if !restores {
        for content in try transaction.changes.remakeFollowers(of: request.operations, answer.results) {
          try transaction.noteServer(has: false, content, .full)
        }
      }
      for records in answer.gone { try transaction.changes.apply(records, counts: &applied) }
      counts.conflicts += applied.conflicts
      if let cursor = answer.cursor,
        try SyncSettings.value(.cursor, in: transaction.connection) == request.cursor
      {
        try SyncSettings.set(.cursor, cursor, in: transaction.connection)
      }
      let hasTaken = try transaction.changes.hasAnsweredCascades()
      return (counts, hasTaken, try Self.choice(step, ahead, after: answer, transaction))
    }
    chosen = next
    for record in counts.requeued {
      repeats[record.entityUuid, default: 0] += 1
      if repeats[record.entityUuid, default: 0] > Self.longestRepetition { isRepeating = record.entityType }
    }
    report.add(counts)
    report.failure = nil
    tell(.pushed(count: counts.pushed))
    if counts.conflicts > 0 { tell(.conflict(count: counts.conflicts)) }
    if counts.failed > 0 { tell(.failed(count: counts.failed)) }
    return .pushed(sent: request.operations.count, sawOthers: answer.cursor == nil || hasTaken)
  }

  /// Only a response to a single operation counts as an attempt. A request with several operations counts none.
  private mutating func charge(_ batch: [PushOperation], _ failure: RemoteFailure) async throws {
    let status: Int? =
      switch failure.answer {
      case .attempt: 500
      case .tooLarge: 413
      // The status is about the request. A missing record is reported for an operation.
      case .refused: failure.problem.map { $0.status == 404 ? 400 : $0.status } ?? 400
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
      try transaction.acknowledge(.rejected(problem), of: operation, jitter: jitter, counts: &counts)
      return counts
    }
    report.add(counts)
    if counts.failed > 0 { tell(.failed(count: counts.failed)) }
  }

  func release(_ batch: [PushOperation], wasSent: Bool = true) async throws {
    let ids = batch.map(\.operationId)
    let vault = vault
    // Also after a cancellation. Otherwise the operations would stay in flight until the next round.
    try await Task.detached { try await vault.sync { try $0.release(ids, wasSent: wasSent) } }.value
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
