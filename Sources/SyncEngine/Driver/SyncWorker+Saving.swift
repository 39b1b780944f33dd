import CipherSQL
import VaultStore
import SyncModel

/// The outcome of a save. The record is in the vault in any case.
public enum SaveOutcome: Equatable, Sendable {
  /// The server has it.
  case sent
  /// The record is in the vault and is sent later. The text is the reason: 'Saved offline' on a screen.
  case savedOffline(String)
  /// The server refused the record, with this message and HTTP status. The operation stays in the outbox until the
  /// user edits the record or discards the change.
  case refused(message: String, status: Int)
  /// The record conflicts with another change, and the user has to decide.
  case conflict
}

extension SyncWorker {
  /// Saves like a form of an app: writes to the vault, then sends at once if the server can be reached, within a time
  /// limit. The input of the user is never lost.
  ///
  /// ```swift
  /// let (entry, outcome) = try await worker.save { db in try db.insert(DopeEntry(...)) }
  /// if case .savedOffline = outcome { show("Saved offline, will be sent when connected") }
  /// ```
  /// - Parameters:
  ///   - limit: how long to wait for the server. A running request continues afterwards, and its response is
  ///     processed.
  ///   - body: the write, in one transaction.
  /// - Returns: the result of the write, and the outcome.
  /// - Throws: only the errors of the write. Nothing is saved or sent in this case.
  public func save<Value: Sendable>(
    within limit: Duration = .seconds(5), _ body: @escaping @Sendable (WriteConnection) throws -> Value
  ) async throws -> (Value, SaveOutcome) {
    let (value, written) = try await vault.database.write { connection in
      let before = try SaveTracking.lastOperation(in: connection)
      let value = try body(connection)
      return (value, try SaveTracking(after: before, connection))
    }
    do {
      if let why = try await reasonNotToSend() { return (value, .savedOffline(why)) }
      return (value, try await send(written, within: limit))
    } catch {
      // The record is saved. Later errors are part of the outcome, because a thrown error would make the user type
      // the input again.
      return (value, .savedOffline("it could not be sent: \(error)"))
    }
  }

  /// Ends requests that a ``save(within:_:)`` has left running, and waits for their end. Call it before the program
  /// ends. A running app does not need it.
  public func endSaving() async {
    let rounds = saving
    saving = []
    for round in rounds { round.cancel() }
    // Errors are part of the outcome of the save.
    for round in rounds { _ = await round.result }
  }

  private func reasonNotToSend() async throws -> String? {
    do {
      try await checkSettings()
    } catch let refused as SyncRefused {
      return refused.message
    }
    switch monitor.state {
    case .offline: return "no network"
    case .limited: return "the server cannot be reached"
    case .online: return nil
    }
  }

  private func forget(_ round: Task<SyncReport, any Error>) { saving.remove(round) }

  private func send(_ written: SaveTracking, within limit: Duration) async throws -> SaveOutcome {
    let end = clock.instant() + limit
    // Not a child task, because a response after the limit must be processed.
    let round = startTask { try await self.push(until: end) }
    saving.insert(round)
    let isOver = Locked<Result<SyncReport, any Error>?>(nil)
    startTask {
      let result = await round.result
      isOver.withLock { $0 = result }
      await self.forget(round)
    }
    var pause = 5
    while true {
      let result = isOver.withLock { $0 }
      if let outcome = try await outcome(of: written) { return outcome }
      switch result {
      case .success(let report)?:
        let why = report.outcome == .done ? "another operation blocks it" : "the server cannot be reached"
        return .savedOffline(report.failure?.message ?? why)
      case .failure(let refused as SyncRefused)?: return .savedOffline(refused.message)
      case .failure(let error)?: throw error
      default: break
      }
      guard clock.instant() < end else { return .savedOffline("the server has not responded yet") }
      try await clock.sleep(.milliseconds(pause))
      pause = min(pause * 2, 50)
    }
  }

  /// Performs a round that only sends. A running round may have read the outbox before this write, so this waits for
  /// its end.
  private func push(until end: ContinuousClock.Instant) async throws -> SyncReport {
    while true {
      do {
        return try await sync(RoundRequest(pulls: false))
      } catch let refused as SyncRefused {
        guard refused == .busy, clock.instant() < end else { throw refused }
        try await clock.sleep(.milliseconds(20))
      }
    }
  }

  /// Returns the outcome of a write; `nil` while it is open.
  private func outcome(of written: SaveTracking) async throws -> SaveOutcome? {
    let rows = try await vault.database.read { try written.waiting($0) }
    if rows.isEmpty { return .sent }
    // Refusals of earlier operations are not part of the outcome.
    guard written.isNew else { return nil }
    if rows.contains(where: { $0.status == "conflict" }) { return .conflict }
    if let failed = rows.first(where: { $0.status == "failed" }) {
      return .refused(message: failed.message ?? "the server refused it", status: failed.code ?? 400)
    }
    if let delayed = rows.first(where: \.isScheduled) {
      return .savedOffline(delayed.message ?? "the server could not accept it")
    }
    return nil
  }
}
