import CipherSQL
import RecordStore
import SchemaModel
import ServerStorage

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Stores each account in a separate encrypted SQLite database.
///
/// One transaction writes at a time and assigns the
/// sequence numbers, so a number never becomes visible before a lower one.
public final class EmbeddedStorage: RecordStorage {
  /// The kinds of record.
  public let entities: [String: EntityDescription]
  /// The schemas, without the server's own.
  public let schemas: [ServedSchema]
  private let schema: AccountSchema
  private let folder: ServerFolder
  private let accounts: AccountCache<AccountStore>
  private let waiters: AccountWaiters
  private let writes: SharedWrites
  private let committed: @Sendable (AccountName, CommittedChanges) -> Void
  private let log: @Sendable (String) -> Void

  /// Creates the storage. Accounts are opened, and their tables brought up to date, at their first request.
  /// - Parameters:
  ///   - names: the accounts of the folder. One of them is opened at once, to compare the schemas with it.
  ///   - openAccounts: the number of accounts that stay open without a request, until they have been idle for a minute.
  ///   - committed: is told of the changes of each account.
  ///   - measured: receives the times of each transaction that changes an account for a request.
  ///   - log: receives each failure that no request returns. The text contains no value of a record.
  /// - Throws: `SQLError` if a schema file fails, or was changed after it was applied.
  public init(
    in folder: ServerFolder, schemas: [Schema], accounts names: [AccountName],
    openAccounts: Int = EmbeddedStorage.usualOpenAccounts,
    committed: @escaping @Sendable (AccountName, CommittedChanges) -> Void = { _, _ in },
    measured: @escaping @Sendable (WriteTimes) -> Void = { _ in },
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) throws {
    let waiters = AccountWaiters(folder.environment, isTold: true)
    (self.folder, self.log, self.waiters, self.committed) = (folder, log, waiters, committed)
    writes = SharedWrites(clock: folder.environment.clock, measured: measured)
    self.schemas = schemas.map { ServedSchema(name: $0.name, version: $0.migrations.count) }
    let schema = try AccountSchema(schemas, environment: folder.environment)
    self.schema = schema
    entities = schema.descriptions
    let open = { @Sendable (account: AccountName) in
      try Self.open(account, in: folder, schema, log: log) { changes in
        waiters.waiters(of: account).tell(changes)
        committed(account, changes)
      }
    }
    accounts = AccountCache(limit: openAccounts, clock: folder.environment.clock, close: { $0.close() }, open: open)
    if let name = names.first {
      do {
        try accounts.keep(open(name), of: name)
      } catch let error as SQLError where error.code == .migration {
        throw error
      } catch {
        log("cannot open an account: \(error)")
      }
    }
  }

  /// The number of accounts whose databases stay open. Those of an account use, with the three schemas of FieldVault, 10 to
  /// 20 MiB of memory.
  public static let usualOpenAccounts = 64
  /// The number of descriptors that the databases of an account use.
  public static let descriptorsPerAccount = 10

  private func store(_ account: AccountName) async throws -> AccountStore {
    let store = try await accounts.store(of: account)
    try store.place.check()
    return store
  }

  private static func open(
    _ account: AccountName, in folder: ServerFolder, _ schema: AccountSchema,
    log: @escaping @Sendable (String) -> Void, announce: @escaping @Sendable (CommittedChanges) -> Void
  ) throws -> AccountStore {
    let database = try AccountDatabase.records.open(account.folder, in: folder)
    return try AccountDatabase.records.store(over: database, of: account.folder, in: folder) { _, place in
      let store = try AccountStore(database, at: place, schema, log: log, announce: announce)
      // The jobs that the account had when it was closed.
      store.startJobs()
      return store
    }
  }

  /// Reads from one state of an account.
  public func read<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordReading) throws -> Result
  ) async throws -> Result {
    try await store(account).read { try body($0) }
  }

  /// Changes an account in one transaction, then notifies waiting requests.
  public func write<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordWriting) throws -> Result
  ) async throws -> Result {
    try await writes.write(account, in: { [self] in try await commit($0, $1) }) { try body($0) }
  }

  private func commit(
    _ account: AccountName, _ body: @escaping @Sendable (AccountWriter) throws -> Void
  ) async throws {
    let store = try await store(account)
    let (_, changes, hasJobs) = try await store.write(body)
    if let changes { store.announce(changes) }
    if hasJobs { store.startJobs() }
  }

  /// Starts a new epoch of an account, because its data may be older than data that was acknowledged before.
  /// - Returns: the new epoch.
  @discardableResult
  public func startEpoch(_ account: AccountName) async throws -> String {
    let time = folder.environment.now
    return try await write(account) { try $0.startEpoch(at: time) }
  }

  /// Makes sure that no failed commit can take effect after a crash.
  public func flushFailedCommits(_ account: AccountName) async throws {
    try await store(account).database.flushFailedCommits()
  }

  /// Waits for a change. A waiting request does not keep the account open.
  public func waitForChange(_ account: AccountName, _ request: ChangeRequest) async throws -> WaitResult {
    try await waiters.waitForChange(of: account, request) { look in try await read(account) { try look.perform($0) } }
  }

  /// The open accounts.
  public var usage: StorageUsage {
    let open = accounts.openCount
    return StorageUsage(.accounts, open: open, used: open, waiting: 0, limit: accounts.limit)
  }

  /// Returns: an account that cannot be opened concerns only its own requests.
  public func checkReadiness() async throws {}

  /// Ends all waiting permanently.
  public func stopWaiting() { waiters.close() }

  /// Closes all databases. Open transactions finish first, and accounts that are being opened end their jobs, so that the
  /// files can be copied or moved and another server can use the folder afterwards.
  public func close() {
    stopWaiting()
    if !accounts.closeAll(waitingAtMost: AccountDatabase.closeLimit) {
      log("the server closed the records of an account that were still in use")
    }
  }
}
