import CipherSQL
import OfflineStore

/// Keeps each account in an encrypted SQLite database of its own.
///
/// Types, CHECKs, uniqueness and references are those of the schemas themselves. One transaction writes at a time, and the
/// sequence is given out in it, so a number never becomes visible before a lower one.
public final class EmbeddedStorage: RecordStorage {
  /// The kinds of record.
  public let entities: [String: EntityDescription]
  /// The schemas, without the server's own.
  public let schemas: [ServedSchema]
  private let folder: ServerFolder
  private let tables: [Schema]
  private let accounts = Locked<[String: AccountStore]>([:])
  private let isClosed = Locked(false)

  /// Opens the accounts of a folder and brings their tables up to date.
  /// - Throws: `SQLError` when a schema file fails, or was changed after it was applied; ``ServerError`` with `wrongKey`.
  public init(in folder: ServerFolder, schemas: [Schema], accounts names: [AccountName]) throws {
    self.folder = folder
    tables = schemas
    self.schemas = schemas.map { ServedSchema(name: $0.name, version: $0.migrations.count) }
    let trial = try Database.inMemory()
    defer { trial.close() }
    try Vault.migrator(for: schemas + [BookkeepingSchema.schema]).apply(to: trial)
    entities = try trial.read { EntityMap(try Entities.read(from: $0)).descriptions }
    for name in names { _ = try store(name) }
  }

  private func store(_ account: AccountName) throws -> AccountStore {
    try accounts.withLock { accounts in
      if let store = accounts[account.folder] { return store }
      if isClosed.withLock({ $0 }) { throw ServerError(.busy, "the server is stopping") }
      let database = try folder.openDatabase(
        "accounts/\(account.folder)/records.db", keyName: "account \(account.folder)", readers: 4)
      let store = try AccountStore(database, schemas: tables)
      accounts[account.folder] = store
      return store
    }
  }

  /// Reads from one state of an account.
  public func read<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordReading) throws -> Result
  ) async throws -> Result {
    let store = try store(account)
    return try await store.database.read { connection in try body(EmbeddedReader(connection, store.map)) }
  }

  /// Changes an account in one transaction, then tells those who wait.
  public func write<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordWriting) throws -> Result
  ) async throws -> Result {
    let store = try store(account)
    let (result, hasChanged) = try await store.database.write { connection in
      let writer = EmbeddedWriter(connection, store.entities, store.map)
      let before = try writer.lastSequence
      let result = try body(writer)
      return (result, try writer.lastSequence != before)
    }
    if hasChanged { store.waiters.signal() }
    return result
  }

  /// Commits once more.
  public func buryFailedChanges(_ account: AccountName) async throws {
    try await store(account).database.buryFailedCommits()
  }

  /// Waits for a change after a number of the account's sequence.
  public func waitForChange(_ account: AccountName, after sequence: Int64, seconds: Int) async throws -> Bool {
    let store = try store(account)
    let end = ContinuousClock.now + .seconds(seconds)
    while true {
      let generation = store.waiters.generation
      if try await store.database.read({ try EmbeddedReader($0, store.map).lastSequence }) > sequence { return true }
      let left = end - ContinuousClock.now
      guard left > .zero else { return false }
      guard await store.waiters.wait(after: generation, seconds: max(1, Int(left.components.seconds))) else {
        return false
      }
    }
  }

  /// Ends all waiting, for good.
  public func stopWaiting() {
    isClosed.withLock { $0 = true }
    for store in accounts.withLock({ Array($0.values) }) { store.waiters.close() }
  }

  /// Closes all databases; calls under way finish.
  public func close() {
    stopWaiting()
    for store in accounts.withLock({ Array($0.values) }) { store.close() }
  }
}
