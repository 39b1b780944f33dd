import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The database of one account: the tables of its records with all their rules, and the server's own tables.
final class AccountStore: Sendable {
  let database: Database
  let place: FileIdentity
  let entities: Entities
  let map: EntityMap
  private let waiters: ChangeWaiters
  private let log: @Sendable (String) -> Void

  /// Migrates the tables and adopts the rows that the schemas create.
  init(
    _ database: Database, at place: FileIdentity, schemas: [Schema], _ waiters: ChangeWaiters,
    log: @escaping @Sendable (String) -> Void
  ) throws {
    (self.database, self.waiters) = (database, waiters)
    self.log = log
    self.place = place
    try Migrator.records(
      of: schemas + [BookkeepingSchema.schema], didRename: { try RecordFacts.follow($0, on: $1) }
    ).apply(to: database)
    let entities = try database.read { try Entities.read(from: $0) }
    self.entities = entities
    map = EntityMap(entities)
    // A schema file may have changed the values of any record, and digests with them.
    while try database.write({ [map] connection in
      try WriteMode.sync(on: connection) {
        let writer = EmbeddedWriter(connection, entities, map)
        return try writer.refreshDigests(
          for: try writer.appliedSchemas(), within: ThreadTime(database.configuration.environment.clock))
      }
    }) {}
    try database.write { [map] connection in
      try map.makeIndexes(on: connection, entities)
      try WriteMode.sync(on: connection) {
        try EmbeddedWriter(connection, entities, map).adoptRows(at: connection.environment.now)
      }
    }
  }

  // MARK: Jobs

  private enum JobState { case idle, running, runningWithMore, closed }

  private let jobs = Locked(JobState.idle)

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
    let (isAny, hasChanged) = try await database.write { [entities, map] connection in
      let writer = EmbeddedWriter(connection, entities, map)
      let before = try writer.lastSequence
      let isAny = try WriteMode.sync(on: connection) {
        try writer.work(for: ThreadTime(connection.environment.clock))
      }
      return (isAny, try writer.lastSequence != before)
    }
    // Notifies once at the end, because devices would otherwise pull after each transaction.
    if !isAny, hasChanged { waiters.signal() }
    return isAny
  }

  /// Closes the database after the open transaction finishes. Returns `false` after a timeout.
  func close() -> Bool {
    jobs.withLock { $0 = .closed }
    return database.close(waitingAtMost: AccountDatabase.closeLimit)
  }
}
