import CipherSQL
import VaultKeys

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A folder with an encrypted database, the keyring that opens it, and encrypted files.
///
/// ```swift
/// let vault = try Vault.open(at: "job.vault", with: .passphrase(passphrase), schemas: [RestorationSchema.schema])
/// let rooms = try await vault.database.read { db in try Room.all.fetch(db) }
/// ```
///
/// - After a crash: what was acknowledged is there; the vault opens again with its keyring.
/// - Threads: all functions may be called from any thread or task.
public final class Vault: Sendable {
  /// Where its parts stand.
  public let layout: VaultLayout
  /// Its database, for typed and raw SQL.
  public let database: Database
  /// Its entities, as the database describes them.
  public let entities: Entities
  /// Where its schemas came from.
  public let schemaSources: [SchemaSource]
  let keys: Locked<UnlockedKeyring>
  let lock: VaultLock
  let rotationGate = Locked(())
  /// Made from the entities when sync needs it first.
  let catalog = Locked<SyncCatalog?>(nil)

  init(
    layout: VaultLayout, database: Database, entities: Entities, sources: [SchemaSource], keyring: UnlockedKeyring,
    lock: VaultLock
  ) {
    (self.layout, self.database, self.entities, schemaSources) = (layout, database, entities, sources)
    (keys, self.lock) = (Locked(keyring), lock)
  }

  /// The keyring with its keys, as this process knows it.
  var keyring: UnlockedKeyring { keys.withLock { $0 } }

  /// Closes the database. Calls under way finish; when there are none, its files are closed when this function returns.
  /// The vault stays held, so that its files are not exchanged, until this value and its database are gone.
  public func close() { database.close() }

  /// Shows the database key for the time of a call, for handing it to the sqlcipher shell.
  public func withDatabaseKey<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
    try keyring.databaseKey.withUnsafeBytes(body)
  }

  /// The file of the database.
  public var databasePath: String { layout.database(generation: keyring.keyring.generation.number) }
}

/// The database key in guarded memory, as the SQL layer takes it.
struct GuardedKey: EncryptionKey {
  let bytes: SecureBytes

  func withKeyBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
    try bytes.withUnsafeBytes(body)
  }
}
