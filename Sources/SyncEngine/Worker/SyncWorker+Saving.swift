import CipherSQL
import OfflineStore
import SyncModel

/// What became of a record that was saved: the record is in the vault in any case.
public enum SaveOutcome: Equatable, Sendable {
  /// The server has it.
  case sent
  /// It is in the vault and is sent when that works; the text says why it is not sent yet. 'Saved offline' on a screen.
  case savedOffline(String)
  /// The server does not take it as it is: what it says, and the HTTP status. The operation waits for a person, who edits the
  /// record or discards the change.
  case refused(message: String, status: Int)
  /// A person has to decide: somebody else changed or deleted something that it has to do with.
  case conflict
}

extension SyncWorker {
  /// Saves as an app's form does: writes to the vault, then sends at once where there is a way to the server, and never
  /// waits longer than a limit. Nothing that a person typed is lost whatever comes of it.
  ///
  /// ```swift
  /// let (entry, outcome) = try await worker.save { db in try db.insert(DopeEntry(...)) }
  /// if case .savedOffline = outcome { show("Saved offline, will be sent when connected") }
  /// ```
  /// - Parameters:
  ///   - limit: how long the server may take. What is under way then goes on and is kept when its answer comes.
  ///   - body: the write, in one transaction.
  /// - Returns: what the write returned, and what became of it.
  /// - Throws: what the write throws; then nothing is saved, and nothing was sent. Nothing else.
  public func save<Value: Sendable>(
    within limit: Duration = .seconds(5), _ body: @escaping @Sendable (WriteConnection) throws -> Value
  ) async throws -> (Value, SaveOutcome) {
    let (value, written) = try await vault.database.write { connection in
      let before = try Self.lastOperation(connection)
      let value = try body(connection)
      return (value, try SaveTracking(after: before, connection))
    }
    do {
      if let why = try await reasonNotToSend() { return (value, .savedOffline(why)) }
      return (value, try await send(written, within: limit))
    } catch {
      // It is saved; what went wrong afterwards is told and not thrown, or it would be typed in again.
      return (value, .savedOffline("it could not be sent now: \(error)"))
    }
  }

  /// Ends what a ``save(within:_:)`` has left under way, and waits for its end. To be called before a program ends; an app
  /// that goes on does not need it.
  public func endSaving() async {
    let rounds = saving
    saving = []
    for round in rounds { round.cancel() }
    // What went wrong is told by the outcome of the save.
    for round in rounds { _ = await round.result }
  }

  private static func lastOperation(_ connection: Connection) throws -> Int64 {
    try connection.fetchOne("SELECT coalesce(max(queueNumber), 0) FROM OfflineSyncQueue", as: Int64.self) ?? 0
  }

  private func reasonNotToSend() async throws -> String? {
    do {
      try await checkSettings()
    } catch let refused as SyncRefused {
      return refused.message
    }
    switch monitor.state {
    case .offline: return "there is no network"
    case .limited: return "the server cannot be reached"
    case .online: return nil
    }
  }

  private func send(_ written: SaveTracking, within limit: Duration) async throws -> SaveOutcome {
    let end = ContinuousClock.now + limit
    // Not a part of this call: an answer that comes later than the limit is not to be lost.
    let round = Task { try await self.push(until: end) }
    saving.insert(round)
    let isOver = Locked<Result<SyncReport, any Error>?>(nil)
    Task {
      let result = await round.result
      isOver.withLock { $0 = result }
      saving.remove(round)
    }
    var pause = 5
    while true {
      let result = isOver.withLock { $0 }
      if let outcome = try await outcome(of: written) { return outcome }
      switch result {
      case .success(let report)?:
        let why = report.outcome == .done ? "it waits for something else" : "the server cannot be reached"
        return .savedOffline(report.failure?.message ?? why)
      case .failure(let refused as SyncRefused)?: return .savedOffline(refused.message)
      case .failure(let error)?: throw error
      default: break
      }
      guard ContinuousClock.now < end else { return .savedOffline("the server has not answered yet") }
      try await Task.sleep(for: .milliseconds(pause))
      pause = min(pause * 2, 50)
    }
  }

  /// A round that only sends. One that is under way may have looked before this was written, so its end is waited for.
  private func push(until end: ContinuousClock.Instant) async throws -> SyncReport {
    while true {
      do {
        return try await sync(RoundRequest(pulls: false))
      } catch let refused as SyncRefused {
        guard refused == .busy, ContinuousClock.now < end else { throw refused }
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }

  /// What became of a write; nil while that is open.
  private func outcome(of written: SaveTracking) async throws -> SaveOutcome? {
    let rows = try await vault.database.read { try written.waiting($0) }
    if rows.isEmpty { return .sent }
    // Of what waited before, nothing is said about others' refusals.
    guard written.isNew else { return nil }
    if rows.contains(where: { $0.status == "conflict" }) { return .conflict }
    if let failed = rows.first(where: { $0.status == "failed" }) {
      return .refused(message: failed.message ?? "the server does not take it", status: failed.code ?? 400)
    }
    if let delayed = rows.first(where: \.isScheduled) {
      return .savedOffline(delayed.message ?? "the server could not take it now")
    }
    return nil
  }
}
