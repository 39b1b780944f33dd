import CipherSQL
import Platform
import VaultKeys

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An encrypted vault: a folder with the database, its keyring, and encrypted attachments.
///
/// ```swift
/// let vault = try Vault.open(at: "job.vault", with: .passphrase(passphrase), schemas: [RestorationSchema.schema])
/// let rooms = try await vault.database.read { db in try Room.all.fetch(db) }
/// ```
///
/// - After a crash, acknowledged writes exist, and the vault opens with its keyring.
/// - All functions may be called from any thread or task.
public final class Vault: Sendable {
  /// The paths of its parts.
  public let layout: VaultLayout
  /// The database, for typed and raw SQL.
  public let database: Database
  /// The entities, as the database describes them.
  public let entities: Entities
  /// The origins of its schemas.
  public let schemaSources: [SchemaSource]
  let keys: Locked<UnlockedKeyring>
  let lock: VaultLock
  let rotationGate = Locked(())
  /// Created from the entities when sync needs it first.
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

  /// Closes the database. Calls in progress finish. Without calls in progress, its files are closed when this function
  /// returns. The vault stays locked, so that its files are not exchanged, until this value and its database are
  /// released.
  public func close() { database.close() }

  /// Passes the database key to a closure, for the sqlcipher shell.
  public func withDatabaseKey<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
    try keyring.databaseKey.withUnsafeBytes(body)
  }

  /// The path of the database file.
  public var databasePath: String { layout.database(generation: keyring.keyring.generation.number) }
}

/// The database key in guarded memory, in the form that the SQL layer accepts.
struct GuardedKey: EncryptionKey {
  let bytes: SecureBytes

  func withKeyBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
    try bytes.withUnsafeBytes(body)
  }
}
