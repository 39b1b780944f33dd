import CipherSQL
import Platform
import ServerStorage

/// The database of one account.
final class AccountStore: JobOwner {
  let database: Database
  let place: FileIdentity
  let schema: AccountSchema
  private let tell: @Sendable (CommittedChanges) -> Void
  private let jobs: JobRunner

  /// Brings the tables and the records up to date with the program and its schemas.
  /// - Parameter announce: is told of changes of the account.
  init(
    _ database: Database, at place: FileIdentity, _ schema: AccountSchema, log: @escaping @Sendable (String) -> Void,
    announce: @escaping @Sendable (CommittedChanges) -> Void
  ) throws {
    (self.database, self.schema, tell) = (database, schema, announce)
    jobs = JobRunner(clock: database.configuration.environment.clock, log: log)
    self.place = place
    try AccountUpgrade(schema).apply(to: database)
  }

  /// Reads from one state of the account.
  func read<Result: Sendable>(_ body: @escaping @Sendable (AccountReader) throws -> Result) async throws -> Result {
    try await database.read { [schema] in try body(AccountReader(EmbeddedRows($0), schema)) }
  }

  /// Changes the account in one transaction.
  func write<Result: Sendable>(
    _ body: @escaping @Sendable (AccountWriter) throws -> Result
  ) async throws -> (result: Result, changes: CommittedChanges?, hasJobs: Bool) {
    try await database.write { [schema] connection in
      let writer = try AccountWriter(EmbeddedRowsWriter(connection), schema, connection.environment)
      let result = try body(writer)
      let (changes, hasJobs) = try writer.finish()
      return (result, changes, hasJobs)
    }
  }

  /// Does the jobs of the account in separate transactions, in the background.
  func startJobs() { jobs.start(for: self) }

  func doJob() async throws -> (changes: CommittedChanges?, hasJobs: Bool) {
    let (_, changes, hasJobs) = try await write { try $0.work() }
    return (changes, hasJobs)
  }

  func announce(_ changes: CommittedChanges) { tell(changes) }

  /// Closes the database after the open transaction finishes. Returns `false` after a timeout.
  func close() -> Bool {
    jobs.close()
    return database.close(waitingAtMost: AccountDatabase.closeLimit)
  }
}
