import CipherSQL
import Platform
import ServerStorage

/// The database of one account.
final class AccountStore: Sendable {
  let database: Database
  let place: FileIdentity
  let schema: AccountSchema
  private let waiters: ChangeWaiters
  private let log: @Sendable (String) -> Void

  /// Brings the tables and the records up to date with the program and its schemas.
  init(
    _ database: Database, at place: FileIdentity, _ schema: AccountSchema, _ waiters: ChangeWaiters,
    log: @escaping @Sendable (String) -> Void
  ) throws {
    (self.database, self.schema, self.waiters) = (database, schema, waiters)
    self.log = log
    self.place = place
    try Migrator(schemas: [BookkeepingSchema.schema]).apply(to: database)
    try AccountUpgrade(schema).apply(to: database)
  }

  /// Reads from one state of the account.
  func read<Result: Sendable>(_ body: @escaping @Sendable (AccountReader) throws -> Result) async throws -> Result {
    try await database.read { [schema] in try body(AccountReader(EmbeddedRows($0), schema)) }
  }

  /// Changes the account in one transaction.
  func write<Result: Sendable>(
    _ body: @escaping @Sendable (AccountWriter) throws -> Result
  ) async throws -> (result: Result, hasChanged: Bool, hasJobs: Bool) {
    try await database.write { [schema] connection in
      let writer = try AccountWriter(EmbeddedRowsWriter(connection), schema, connection.environment)
      let result = try body(writer)
      let (hasChanged, hasJobs) = try writer.finish()
      return (result, hasChanged, hasJobs)
    }
  }

  // MARK: Jobs

  private enum JobState { case idle, running, runningWithMore, closed }

  private let jobs = Locked(JobState.idle)
  private let hasUnnoticedChange = Locked(false)

  /// Does the jobs of the account in separate transactions, in the background.
  func startJobs() {
    let isToStart = jobs.withLock { state -> Bool in
      switch state {
      case .idle:
        state = .running
        return true
      case .running:
        state = .runningWithMore
        return false
      case .runningWithMore, .closed: return false
      }
    }
    if isToStart { startTask { await self.runJobs() } }
  }

  private func runJobs() async {
    while isRunningJobs {
      do {
        if try await !doJob() { jobs.withLock { if $0 != .closed { $0 = $0 == .runningWithMore ? .running : .idle } } }
      } catch {
        guard isRunningJobs else { return }
        log("the dependents of a record are retried later: \(error)")
        jobs.withLock { if $0 != .closed { $0 = .idle } }
        let clock = database.configuration.environment.clock
        startTask { [weak self] in
          try await clock.sleep(Self.pauseAfterFailure)
          self?.startJobs()
        }
      }
    }
  }

  private static let pauseAfterFailure = Duration.seconds(10)

  private var isRunningJobs: Bool { jobs.withLock { $0 == .running || $0 == .runningWithMore } }

  /// Runs one transaction of the jobs. Returns whether any jobs are left.
  private func doJob() async throws -> Bool {
    let (_, hasChanged, isAny) = try await write { try $0.work() }
    // Notifies once at the end, because devices would otherwise pull after each transaction.
    let isToNotify = hasUnnoticedChange.withLock { isUnnoticed in
      isUnnoticed = isUnnoticed || hasChanged
      guard !isAny else { return false }
      defer { isUnnoticed = false }
      return isUnnoticed
    }
    if isToNotify { waiters.signal() }
    return isAny
  }

  /// Closes the database after the open transaction finishes. Returns `false` after a timeout.
  func close() -> Bool {
    jobs.withLock { $0 = .closed }
    return database.close(waitingAtMost: AccountDatabase.closeLimit)
  }
}
