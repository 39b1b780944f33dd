import FileTransfers
import CipherSQL
import VaultStore
import SyncModel

/// Syncs a vault with its server.
///
/// ```swift
/// let worker = SyncWorker(vault: vault, remote: remote, monitor: monitor)
/// let report = try await worker.sync()      // one round
/// try await worker.run()                    // rounds whenever there is a cause, until the task is cancelled
/// ```
///
/// One worker syncs a vault at a time, also across processes. After a crash at any instruction the next worker
/// continues: operations in flight are sent again under the same key, and the server returns the stored response.
public actor SyncWorker {
  let vault: Vault
  let remote: any Remote
  let monitor: NetworkMonitor
  private nonisolated let hub = EventHub<SyncEvent>(keeping: 256)
  /// Signals the end of each round. It is a separate hub, because a listener that is slow for many events must not miss
  /// an end. Of several missed ends, the last one suffices.
  private nonisolated let rounds = EventHub<Void>(keeping: 1)
  /// The causes of rounds. Each run listens again, because a stream ends with the task that reads it.
  nonisolated let signals = EventHub<Signal>(keeping: 64)
  /// Reasons to look for files that are due.
  nonisolated let fileSignals = EventHub<Void>(keeping: 1)
  /// Whether a write was reported and not processed yet.
  let isTold = Locked(false)
  /// Starts to report the writes to the database at a path.
  let watchWrites: WatchWrites

  /// The causes of rounds.
  enum Signal: Sendable {
    case want(Schedule.Cause)
    case wrote
    case network
    case tick
  }

  /// Creates a worker.
  /// - Parameters:
  ///   - remote: the server.
  ///   - monitor: the state of the network.
  public init(vault: Vault, remote: any Remote, monitor: NetworkMonitor) {
    self.init(vault: vault, remote: remote, monitor: monitor) { try DatabaseMonitor($0, $1) }
  }

  /// Starts to call a closure after each write to the database at a path.
  package typealias WatchWrites = @Sendable (String, @escaping @Sendable () -> Void) throws -> any WriteMonitor

  /// Creates a worker that learns of writes in another way than from the operating system.
  package init(vault: Vault, remote: any Remote, monitor: NetworkMonitor, watchWrites: @escaping WatchWrites) {
    self.vault = vault
    self.watchWrites = watchWrites
    self.monitor = monitor
    self.remote = MonitoredRemote(remote, monitor: monitor)
  }

  /// Returns the events from now on. Several streams may exist.
  public nonisolated var events: AsyncStream<SyncEvent> { hub.events() }

  /// Performs one round now.
  /// - Throws: ``SyncRefused`` if no round can begin; errors of this device. Errors of the server are in the report.
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

  /// Requests a round from the running worker, for example after a push notification.
  public nonisolated func requestSync() { signals.tell(.want(.request)) }

  /// Resumes after the app has returned to the foreground.
  public nonisolated func resume() { signals.tell(.want(.resume)) }

  func round(_ cause: Schedule.Cause, _ request: RoundRequest) async throws -> SyncReport {
    isInRound = true
    defer {
      isInRound = false
      rounds.tell(())
    }
    try await checkSettings()
    remote.roundBegins()
    let (vault, hub) = (vault, hub)
    let entities = vault.syncCatalog.parentsFirst.map(\.entity.type)
    let driver = RoundDriver(vault: vault, remote: remote, clock: clock, tell: { hub.tell($0) })
    let round = try await driver.perform(
      Round(
        request, cause: cause, capabilities: remote.capabilities, entities: entities, jitter: vault.environment.jitter))
    nextDue = round.nextDue
    // Removes the files of records that the round has purged.
    await offload { vault.sweepIfPossible() }
    fileSignals.tell(())
    return round.report
  }

  /// The running rounds of saves.
  var saving: Set<Task<SyncReport, any Error>> = []
  private(set) var isInRound = false
  /// The time when the next delayed operation becomes due.
  private(set) var nextDue: Int64?

  nonisolated func tell(_ event: SyncEvent) { hub.tell(event) }

  nonisolated var roundEnds: AsyncStream<Void> { rounds.events() }

  /// The clock of the vault.
  nonisolated var clock: Clock { vault.environment.clock }

  /// Returns whether the settings allow network use now, including files and long polls.
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
}
