import CipherSQL
import Platform
import SchemaModel
import ServerStorage
import SyncModel

/// Stores all accounts in one PostgreSQL database, which several nodes can use.
///
/// A transaction that writes locks the row of its account. That orders the transactions of an account, and so the numbers of
/// its changes, without holes. Accounts do not block each other.
public final class PostgresStorage: RecordStorage {
  /// The entities, by type.
  public let entities: [String: EntityDescription]
  /// The schemas, without FieldVault's own.
  public let schemas: [ServedSchema]
  let database: PostgresDatabase
  private let update: AccountUpdate
  private var schema: AccountSchema { update.schema }
  private var set: SchemaSet { update.set }
  private let waiters: AccountWaiters
  private let changes: ChangeChannel
  private let jobs: AccountJobs
  private let writes: SharedWrites
  /// The creation of the views, and the search for abandoned jobs.
  private let background = Locked<(views: Task<Void, any Error>, adoption: Task<Void, any Error>)?>(nil)
  private let log: @Sendable (String) -> Void

  /// Creates the storage. The records of an account are brought up to date with the schemas at its first request.
  /// - Parameters:
  ///   - committed: is told of the changes of each account by this node.
  ///   - measured: receives the times of each transaction that changes an account for a request.
  ///   - log: receives each failure that no request returns. The text contains no value of a record.
  /// - Throws: `SQLError` if a schema file fails; ``ServerError`` without the keys of sealed values.
  public init(
    _ database: PostgresDatabase, schemas: [Schema],
    committed: @escaping @Sendable (AccountName, CommittedChanges) -> Void = { _, _ in },
    measured: @escaping @Sendable (WriteTimes) -> Void = { _ in },
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) throws {
    let environment = database.environment
    try database.setUp { try SealKeys.check(database.settings.sealKeys, $0) }
    let schema = try AccountSchema(schemas, environment: environment)
    let waiters = AccountWaiters(environment, isTold: false)
    (self.database, self.waiters) = (database, waiters)
    update = AccountUpdate(schema, environment, keys: database.settings.sealKeys)
    entities = schema.descriptions
    self.schemas = schemas.map { ServedSchema(name: $0.name, version: $0.migrations.count) }
    changes = ChangeChannel(database, waiters, committed: committed, log: log)
    jobs = AccountJobs(clock: environment.clock, log: log)
    writes = SharedWrites(clock: environment.clock, measured: measured)
    self.log = log
    changes.start()
    background.withLock { $0 = (createViews(), adoptJobs()) }
  }

  // MARK: Transactions

  /// The account has to be brought up to date before it can be used.
  private struct IsOutdated: Error {}

  /// Reads from one state of an account.
  public func read<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordReading) throws -> Result
  ) async throws -> Result {
    try await whenUpToDate(account) { [database, schema, set] in
      try await database.transaction(.reading(account)) { connection in
        let key = try AccountRow.key(account)
        let row = try AccountRow(
          try connection.begin(TransactionStatements.beginReading, [AccountRow.read(key)]).last)
        try connection.checkIncarnation(of: row)
        try row.requireAccount()
        guard row.isUpToDate(with: set, isSealing: database.settings.sealKeys != nil, connection) else {
          throw IsOutdated()
        }
        let rows = PostgresRows(connection, key, row.header)
        rows.form = try row.form(of: account, database.settings.sealKeys, database.environment.random)
        let result = try body(AccountReader(rows, schema))
        _ = try connection.run(TransactionStatements.commit())
        return result
      }
    }
  }

  /// Changes an account in one transaction, then notifies waiting requests of all nodes.
  public func write<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordWriting) throws -> Result
  ) async throws -> Result {
    try await writes.write(account, in: { [self] in try await commit($0, $1) }) { try body($0) }
  }

  private func commit(
    _ account: AccountName, _ body: @escaping @Sendable (AccountWriter) throws -> Void
  ) async throws {
    let (_, committed, hasJobs) = try await change(account, body)
    if let committed { changes.announce(account, committed) }
    if hasJobs { startJobs(of: account) }
  }

  private func change<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (AccountWriter) throws -> Result
  ) async throws -> (result: Result, changes: CommittedChanges?, hasJobs: Bool) {
    try await whenUpToDate(account) { [database, schema, set] in
      try await database.transaction(.writing(account)) { connection in
        let (row, rows) = try AccountRow.lock(account, connection)
        try row.requireAccount()
        guard row.isUpToDate(with: set, isSealing: database.settings.sealKeys != nil, connection) else {
          throw IsOutdated()
        }
        rows.form = try row.form(of: account, database.settings.sealKeys, database.environment.random)
        let writer = try AccountWriter(rows, schema, database.environment)
        let result = try body(writer)
        let (changes, hasJobs) = try writer.finish()
        try rows.commit()
        return (result, changes, hasJobs)
      }
    }
  }

  private func whenUpToDate<Result>(_ account: AccountName, _ body: () async throws -> Result) async throws -> Result {
    while true {
      do {
        return try await body()
      } catch is IsOutdated {
        try await bringUpToDate(account)
      }
    }
  }

  /// Applies new schema files to the records of an account, as its first request does.
  /// - Returns: the applied files.
  func migrate(_ account: AccountName) async throws -> [MigrationRecord] { try await bringUpToDate(account) }

  /// See ``AccountUpdate``.
  /// - Parameter isRenewingKey: whether a sealed account gets a new key as well.
  @discardableResult
  private func bringUpToDate(_ account: AccountName, isRenewingKey: Bool = false) async throws -> [MigrationRecord] {
    let (committed, files) = try await database.transaction(.writing(account)) { [update] connection in
      let result = try update.apply(to: account, on: connection, isRenewingKey: isRenewingKey)
      try result.rows.commit()
      return (result.changes, result.files)
    }
    if let committed { changes.announce(account, committed) }
    return files
  }

  // MARK: Keys

  /// Wraps the keys of all accounts under the first key of the file, and seals the accounts that are not sealed. The other keys
  /// of the file are not needed afterwards.
  /// - Parameter isRenewing: whether each account gets a new key too, under which its values are sealed again.
  /// - Returns: the number of accounts that changed; 0 without keys.
  /// - Throws: ``ServerError``; the accounts so far stay changed then, and the call can be repeated.
  public func rotateSealKeys(renewingAccountKeys isRenewing: Bool) async throws -> Int {
    guard let keys = database.settings.sealKeys else { return 0 }
    let accounts = try await database.transaction(.other) { connection in
      _ = try connection.begin(TransactionStatements.begin, [])
      let name = try keys.makeFirstKeyCurrent(connection)
      _ = try connection.run(TransactionStatements.commit())
      return try connection.run(SealKeys.accounts(wrappedOtherwiseThan: isRenewing ? nil : name)).map {
        AccountName(name: $0.text(0), folder: $0.text(1))
      }
    }
    for account in accounts {
      let isWrapped = isRenewing ? false : try await wrapAgain(account, keys)
      if !isWrapped { try await bringUpToDate(account, isRenewingKey: isRenewing) }
    }
    return accounts.count
  }

  /// Wraps the key of an account under the current one.
  /// - Returns: whether the account has a key.
  private func wrapAgain(_ account: AccountName, _ keys: SealKeys) async throws -> Bool {
    try await database.transaction(.writing(account)) { [random = database.environment.random] connection in
      let (row, rows) = try AccountRow.lock(account, connection)
      if let sealed = row.sealedKey {
        let wrapped = try keys.wrap(keys.open(sealed, of: account), of: account, on: connection, random)
        _ = try rows.run(AccountRow.keep(sealedKey: wrapped, of: rows.account))
      }
      try rows.commit()
      return row.sealedKey != nil
    }
  }

  // MARK: Jobs

  /// Continues the jobs of nodes that have ended.
  private func adoptJobs() -> Task<Void, any Error> {
    startTask { [weak self, clock = database.environment.clock] in
      var abandoned = AbandonedJobs()
      while true {
        try await clock.sleep(AbandonedJobs.interval)
        guard let self else { return }
        do {
          let places = try await database.transaction(.other) { connection in
            try connection.run(AbandonedJobs.places()).map {
              (AccountName(name: $0.text(0), folder: $0.text(1)), AbandonedJobs.Place($0))
            }
          }
          for account in abandoned.look(at: Dictionary(places, uniquingKeysWith: { $1 })) { startJobs(of: account) }
        } catch {
          log("cannot look for the jobs of other nodes: \(error)")
        }
      }
    }
  }

  private func startJobs(of account: AccountName) {
    jobs.start(account, announce: { [changes] in changes.announce(account, $0) }) { [self] in
      let (_, committed, hasJobs) = try await change(account) { try $0.work() }
      return (committed, hasJobs)
    }
  }

  /// Creates the views of the schemas, or removes those that cannot read sealed values.
  private func createViews() -> Task<Void, any Error> {
    startTask { [database, log, views = ReportViews(schema.map, set)] in
      do {
        let isSealing = database.settings.sealKeys != nil
        try await database.transaction(.other) { connection in
          try isSealing ? views.remove(on: connection, log: log) : views.create(on: connection, log: log)
        }
      } catch {
        log("the views for reports are not up to date: \(error)")
      }
    }
  }

  /// Waits until the views are those of the schemas, or could not be created.
  func viewsAreCreated() async throws { try await background.withLock { $0 }?.views.value }

  // MARK: Waiting

  /// Makes sure that no failed commit can take effect later: a transaction whose connection was lost holds the row of its
  /// account until it has ended.
  public func flushFailedCommits(_ account: AccountName) async throws { try await write(account) { _ in } }

  /// Waits for a change.
  public func waitForChange(_ account: AccountName, _ request: ChangeRequest) async throws -> WaitResult {
    try await waiters.waitForChange(of: account, request) { look in try await read(account) { try look.perform($0) } }
  }

  private static let ping = Statement("SELECT 1")

  /// The use of the connections.
  public var usage: StorageUsage { database.pool.usage }

  /// Asks the database, without waiting for one that is down.
  public func checkReadiness() async throws {
    do {
      _ = try await database.pool.withConnection(.other) { try $0.run(Self.ping()).count }
    } catch let error as PostgresError {
      throw ServerError(error)
    }
  }

  /// Ends all waiting permanently.
  public func stopWaiting() { waiters.close() }

  /// Ends jobs and notifications. The database stays open.
  public func close() {
    stopWaiting()
    if let background = background.withLock({ $0 }) {
      background.views.cancel()
      background.adoption.cancel()
    }
    jobs.close()
    changes.close()
  }
}

/// Brings accounts up to date: applies new schema files to the records, begins a new epoch after a failover that may have lost
/// changes, and seals the values of an account without a key if the node has keys.
struct AccountUpdate: Sendable {
  let schema: AccountSchema
  /// The files of the schemas.
  let set: SchemaSet
  private let environment: Environment
  private let keys: SealKeys?

  init(_ schema: AccountSchema, _ environment: Environment, keys: SealKeys?) {
    (self.schema, self.environment, self.keys) = (schema, environment, keys)
    set = SchemaSet(schema.allSchemas)
  }

  /// The changes of a transaction that is still open.
  struct Result {
    let rows: PostgresRowsWriter
    let changes: CommittedChanges?
    /// The schema files that the account did not have.
    let files: [MigrationRecord]
  }

  /// Changes an account. The caller commits the transaction or rolls it back.
  /// - Parameters:
  ///   - begins: whether to begin the transaction.
  ///   - isRenewingKey: whether a sealed account gets a new key as well.
  /// - Throws: `SQLError` if the records do not fit a schema file; ``ServerError`` with `deleted`, and with `busy` if the account has
  ///   files of a newer node; ``PostgresError``.
  func apply(
    to account: AccountName, on connection: PostgresConnection, begins: Bool = true, isRenewingKey: Bool = false
  ) throws -> Result {
    let (row, rows) = try AccountRow.lock(account, connection, begins: begins)
    try row.requireAccount()
    _ = try connection.run(TransactionStatements.allowIdleness())
    let former = try row.form(of: account, keys, environment.random)
    let seal = row.sealedKey == nil || isRenewingKey ? keys?.makeSeal(environment.random) : nil
    // An account without schemas has no values.
    rows.form = row.schemaSet == nil ? seal.map { ValueForm($0, environment.random) } ?? former : former
    let writer = try AccountWriter(rows, schema, environment)
    let now = environment.now
    var files: [MigrationRecord] = []
    if row.schemaSet == nil {
      try writer.adoptSeeds(at: now)
      files = schema.records
    } else if let known = row.schemaSet, known != set.digest {
      let before = try SchemaSet.read(known, from: connection)
      if try set.continues(before) {
        files = try set.new(try writer.upgrade(from: before.schemas, at: now), after: before)
      }
    }
    if row.incarnation != connection.incarnationNumber { _ = try writer.startEpoch(at: now) }
    if let seal, let keys {
      if row.schemaSet != nil {
        rows.form = ValueForm(seal, replacing: former, environment.random)
        try writer.rebuild()
        try rows.rewriteRest()
        rows.form = ValueForm(seal, environment.random)
      }
      let wrapped = try keys.wrap(seal, of: account, on: connection, environment.random)
      _ = try rows.run(AccountRow.keep(sealedKey: wrapped, of: rows.account))
    }
    let (changes, _) = try writer.finish()
    try set.save(to: connection)
    _ = try rows.run(AccountRow.markUpToDate(rows.account, .text(set.digest), .integer(connection.incarnationNumber)))
    return Result(rows: rows, changes: changes, files: files)
  }
}
