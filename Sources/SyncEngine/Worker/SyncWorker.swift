import CipherSQL
import OfflineStore
import SyncModel

/// Brings the outbox of a vault to its server and the server's changes back.
///
/// ```swift
/// let worker = SyncWorker(vault: vault, remote: remote, monitor: monitor)
/// let report = try await worker.sync()      // one round
/// try await worker.run()                    // rounds whenever there is a reason, until the task is cancelled
/// ```
///
/// One worker syncs a vault at a time, also across processes. Whatever instruction it dies at, the next one goes on: what
/// may have been sent is sent again under the same id, and the server answers as it did before.
public actor SyncWorker {
  let vault: Vault
  let remote: any Remote
  let monitor: NetworkMonitor
  private nonisolated let hub = EventHub<SyncEvent>(keeping: 256)
  /// Told when a round is over, whatever came of it. A hub of its own, because one who lags behind many events must not
  /// miss an end; of several that nobody waited for the last is enough.
  private nonisolated let rounds = EventHub<Void>(keeping: 1)
  private nonisolated let jitter: @Sendable () -> Double
  /// What may bring a round. Each run listens anew: a stream ends with the task that reads it.
  nonisolated let signals = EventHub<Signal>(keeping: 64)
  /// Reasons to look for files that are due.
  nonisolated let fileSignals = EventHub<Void>(keeping: 1)
  /// Whether a write was told of and not looked at yet.
  let isTold = Locked(false)

  /// What may bring a round.
  enum Signal: Sendable {
    case want(Schedule.Cause)
    case wrote
    case network
    case tick
  }

  /// A worker that has not begun.
  /// - Parameters:
  ///   - remote: the server.
  ///   - monitor: what is known of the way to it.
  ///   - jitter: random numbers from 0 to 1 that spread what is tried again.
  public init(
    vault: Vault, remote: any Remote, monitor: NetworkMonitor,
    jitter: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
  ) {
    self.vault = vault
    self.monitor = monitor
    self.remote = MonitoredRemote(remote, monitor: monitor)
    self.jitter = jitter
  }

  /// What happens, from now on. May be asked for several times.
  public nonisolated var events: AsyncStream<SyncEvent> { hub.events() }

  /// Does one round now.
  /// - Throws: ``SyncRefused`` when there can be none; what goes wrong on this device. What goes wrong with the server is in
  ///   the report.
  public func sync(_ request: RoundRequest = RoundRequest()) async throws -> SyncReport {
    guard let lock = try SyncLock(of: vault.layout) else { throw SyncRefused.busy }
    defer { withExtendedLifetime(lock) {} }
    var report = try await round(.manual, request)
    while report.outcome == .done {
      try await moveFiles(request, adding: &report)
      guard report.outcome == .done, try await hasDataToSend(request) else { break }
      let next = try await round(.manual, request)
      report.add(next)
      if next.pushed + next.conflicts + next.failed == 0 { break }
    }
    return report
  }

  /// Asks the worker that runs for a round: a push notification came, or a person pulled to refresh.
  public nonisolated func requestSync() { signals.tell(.want(.request)) }

  /// The app is in the foreground again.
  public nonisolated func resume() { signals.tell(.want(.resume)) }

  func round(_ cause: Schedule.Cause, _ request: RoundRequest) async throws -> SyncReport {
    isInRound = true
    defer {
      isInRound = false
      rounds.tell(())
    }
    try await checkSettings()
    let run = try await vault.sync { try $0.beginRun(cause: cause.rawValue) }
    let hub = hub
    let before = remote.traffic
    hub.tell(.syncing)
    let capabilities = remote.capabilities
    var plan = RoundPlan(request, batchLimit: capabilities.batch, compares: capabilities.compares)
    var runner = RoundRunner(vault: vault, remote: remote, jitter: jitter, tell: { hub.tell($0) })
    runner.fetchesAnew = capabilities.isCurrent && (request.isFull || cause.isByUser)
    do {
      while true {
        if case .finish(let outcome) = plan.step {
          try await runner.finish(outcome)
          break
        }
        if Task.isCancelled {
          plan.advance(.failed(.cancelled, operations: 0))
          continue
        }
        let watch = watch(plan.step)
        defer { watch.cancel() }
        plan.advance(try await runner.perform(plan))
      }
    } catch {
      var result = Self.result(of: runner.report)
      result.outcome = "failed"
      result.errorMessage = "\(error)"
      let failed = result
      // The error itself is what matters; the history is written where that still works.
      _ = try? await vault.sync { try $0.endRun(run, failed) }
      throw error
    }
    runner.report.bytesSent = remote.traffic.bytesSent - before.bytesSent
    runner.report.bytesReceived = remote.traffic.bytesReceived - before.bytesReceived
    let result = Self.result(of: runner.report)
    let vault = vault
    let asked = Self.absentFilesToAskFor(after: runner.report, cause)
    // Also when the task was cancelled.
    nextDue = try await Task.detached {
      let end = try await vault.sync { transaction in
        if asked > 0 { try transaction.askForAbsent(limit: asked) }
        return try transaction.endRun(run, result)
      }
      var isUntidy = end.isUntidy
      // In short transactions, and no more of them than a round may take: the next one goes on.
      for _ in 0..<Self.tidyingsOfRound where isUntidy { isUntidy = try await vault.sync { try $0.tidy() } }
      // What the round has purged takes its files along.
      await offload { vault.sweepIfPossible() }
      return end.due
    }.value
    hub.tell(.synced(runner.report))
    fileSignals.tell(())
    return runner.report
  }

  /// Returns how many files that the server lacked are requested again before their time: many in a round that a user asked
  /// for, some in a round that brought records, since their device may have sent the files by now.
  private static func absentFilesToAskFor(after report: SyncReport, _ cause: Schedule.Cause) -> Int {
    guard report.outcome == .done else { return 0 }
    return cause.isByUser ? 1000 : report.pulled > 0 ? 25 : 0
  }

  /// Writes a step down that takes longer than five seconds.
  private func watch(_ step: RoundStep) -> Task<Void, any Error> {
    let vault = vault
    return Task {
      try await Task.sleep(for: .seconds(5))
      try await vault.sync { try $0.noteSlow(step: step.name) }
    }
  }

  /// Transactions that tidy up at the end of a round.
  private static let tidyingsOfRound = 40

  /// The rounds of saves that are under way.
  var saving: Set<Task<SyncReport, any Error>> = []
  private(set) var isInRound = false
  /// When the next operation becomes due that waits for its time.
  private(set) var nextDue: Int64?

  nonisolated func tell(_ event: SyncEvent) { hub.tell(event) }

  nonisolated var roundEnds: AsyncStream<Void> { rounds.events() }

  nonisolated func random() -> Double { jitter() }

  /// Whether anything may go over the network now, as the settings say; files and questions included.
  func mayUseNetwork() async throws -> Bool {
    do {
      try await checkSettings()
      return true
    } catch let refused as SyncRefused where refused == .metered || refused == .deviceOnly {
      return false
    }
  }

  func checkSettings() async throws {
    let (url, mode, unmetered) = try await vault.database.read { connection in
      (
        try SyncSettings.value(.remoteURL, in: connection), try SyncSettings.value(.mode, in: connection),
        try SyncSettings.value(.unmeteredOnly, in: connection)
      )
    }
    guard url != nil else { throw SyncRefused.noRemote }
    guard mode != "device" else { throw SyncRefused.deviceOnly }
    guard unmetered != "true" || monitor.isUnmetered else { throw SyncRefused.metered }
  }

  private static func result(of report: SyncReport) -> SyncTransaction.RunResult {
    var result = SyncTransaction.RunResult()
    result.pushed = report.pushed
    result.merged = report.merged
    result.conflicts = report.conflicts
    result.failed = report.failed
    result.pulled = report.pulled
    result.repaired = report.repaired
    result.bytesSent = report.bytesSent
    result.bytesReceived = report.bytesReceived
    result.outcome = report.outcome.rawValue
    let lists = report.lists.map { "list of \($0.entityType): \($0.problem ?? "")" }.joined(separator: "; ")
    result.errorMessage = report.failure.map { "\($0.message); \($0.hint)" } ?? (lists.isEmpty ? nil : lists)
    return result
  }
}
