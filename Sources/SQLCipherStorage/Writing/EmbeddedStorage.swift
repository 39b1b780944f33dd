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
/// The schemas define types, CHECKs, uniqueness and references. One transaction writes at a time and assigns the
/// sequence numbers, so a number never becomes visible before a lower one.
public final class EmbeddedStorage: RecordStorage {
  /// The kinds of record.
  public let entities: [String: EntityDescription]
  /// The schemas, without the server's own.
  public let schemas: [ServedSchema]
  private let folder: ServerFolder
  private let tables: [Schema]
  private let accounts = Locked<[String: AccountStore]>([:])
  private let isClosed = Locked(false)
  private let log: @Sendable (String) -> Void

  /// Opens the accounts of a folder and brings their tables up to date. An account that cannot be opened is logged.
  /// Only its requests fail.
  /// - Parameter log: receives each failure that no request returns. The text contains no value of a record.
  /// - Throws: `SQLError` if a schema file fails, or was changed after it was applied.
  public init(
    in folder: ServerFolder, schemas: [Schema], accounts names: [AccountName],
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) throws {
    self.folder = folder
    self.log = log
    tables = schemas
    self.schemas = schemas.map { ServedSchema(name: $0.name, version: $0.migrations.count) }
    entities = try SchemaCache.shared.value(for: SchemaDigest(of: schemas)) { try Self.entities(of: schemas) }
    for name in names {
      do {
        _ = try store(name)
      } catch let error as SQLError where error.code == .migration {
        throw error
      } catch {
        log("cannot open an account: \(error)")
      }
    }
  }

  /// Applies schemas to an empty database and reads the kinds of record.
  private static func entities(of schemas: [Schema]) throws -> [String: EntityDescription] {
    let trial = try Database.inMemory()
    defer { trial.close() }
    try Migrator.records(of: schemas + [BookkeepingSchema.schema]).apply(to: trial)
    return try trial.read { EntityMap(try Entities.read(from: $0)).descriptions }
  }

  private func store(_ account: AccountName) throws -> AccountStore {
    try accounts.withLock { accounts in
      if let store = accounts[account.folder] {
        try store.place.check()
        return store
      }
      if isClosed.withLock({ $0 }) { throw ServerError(.busy, "the server is stopping") }
      let path = "\(folder.path)/\(AccountDatabase.records.path(account.folder))"
      let database = try AccountDatabase.records.open(account.folder, in: folder)
      let store: AccountStore
      do {
        store = try AccountStore(database, at: FileIdentity(path), schemas: tables, log: log)
      } catch let error as SQLError where error.isOfDamage {
        database.close()
        throw ServerFolder.damage(path, error)
      } catch {
        database.close()
        throw error
      }
      accounts[account.folder] = store
      // The jobs that the previous process left.
      store.startJobs()
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

  /// Changes an account in one transaction, then notifies waiting requests.
  public func write<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordWriting) throws -> Result
  ) async throws -> Result {
    let store = try store(account)
    let (result, hasChanged, hasJobs) = try await store.database.write { connection in
      let writer = EmbeddedWriter(connection, store.entities, store.map)
      let before = try writer.lastSequence
      // All writes come from devices and are stored unchanged.
      let result = try WriteMode.sync(on: connection) { try body(writer) }
      return (result, try writer.lastSequence != before, try writer.reader.hasJobs())
    }
    if hasChanged { store.waiters.signal() }
    if hasJobs { store.startJobs() }
    return result
  }

  /// Applies pending deletions or restorations of ancestors to some records.
  public func applyPendingCascades(_ account: AccountName, _ names: [RecordName]) async throws {
    let store = try store(account)
    guard try await store.database.read({ try EmbeddedReader($0, store.map).hasJobs() }) else { return }
    for part in stride(from: 0, to: names.count, by: Self.recordsPerWrite) {
      let some = names[part..<min(part + Self.recordsPerWrite, names.count)]
      try await write(account) { data in for name in some { _ = try data.isDeleted(name) } }
    }
  }

  private static let recordsPerWrite = 25

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

  /// Waits for a change after a number of the account's sequence.
  public func waitForChange(_ account: AccountName, after sequence: Int64, seconds: Int) async throws -> Bool {
    let store = try store(account)
    let clock = folder.environment.clock
    let end = clock.instant() + .seconds(seconds)
    while true {
      let generation = store.waiters.generation
      if try await store.database.read({ try EmbeddedReader($0, store.map).lastSequence }) > sequence { return true }
      let left = end - clock.instant()
      guard left > .zero else { return false }
      guard await store.waiters.wait(after: generation, seconds: max(1, Int(left.components.seconds))) else {
        return false
      }
    }
  }

  /// Ends all waiting permanently.
  public func stopWaiting() {
    isClosed.withLock { $0 = true }
    for store in accounts.withLock({ Array($0.values) }) { store.waiters.close() }
  }

  /// Closes all databases. Open transactions finish first, so that the files can be copied or moved afterwards.
  public func close() {
    stopWaiting()
    for store in accounts.withLock({ Array($0.values) }) where !store.close() {
      log("the server closed the records of an account that were still in use")
    }
  }
}
