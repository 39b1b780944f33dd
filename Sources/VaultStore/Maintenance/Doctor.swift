import Attachments
import CipherSQL
import Outbox
import Platform
import RecordStore
import VaultKeys

/// Examines a vault for damage, even a vault that cannot be opened.
///
/// ```swift
/// let doctor = try Doctor(path: "job.vault", schemas: [RestorationSchema.schema]) { .passphrase(passphrase) }
/// let diagnosis = try doctor.examine()
/// if diagnosis.isDamaged { ... }
/// ```
///
/// - Threads: one thread at a time.
public final class Doctor {
  let layout: VaultLayout
  let schemas: [Schema]
  let lock: VaultLock
  private let secret: () throws -> UnlockSecret
  private let progress: (String) throws -> Void
  /// The clock and the random source of the vault while it is repaired.
  package var environment = Environment.system
  /// The unlocked keyring; `nil` before it is opened.
  private(set) var keys: UnlockedKeyring?
  /// The errors of folders and file systems that could not be examined.
  var unreadable: Set<String> = []

  /// Opens the folder and holds the vault's lock, so that no process rotates its key. Other processes can continue
  /// to use the vault.
  /// - Parameters:
  ///   - schemas: the schemas that the program knows.
  ///   - secret: called once, after the keyring was read.
  ///   - progress: receives a description of each step before it starts. It may throw to cancel.
  /// - Throws: ``VaultError`` with `notAVault` or `busy`.
  public init(
    path: String, schemas: [Schema] = [], progress: @escaping (String) throws -> Void = { _ in },
    secret: @escaping () throws -> UnlockSecret
  ) throws {
    layout = VaultLayout(folder: path)
    (self.schemas, self.secret, self.progress) = (schemas, secret, progress)
    // A folder with databases and without a keyring is also a vault; the missing keyring is then a finding.
    if !Files.isFolder(layout.databases) || Files.exists(layout.keyring) { _ = try Vault.existing(path) }
    lock = try VaultLock(path: layout.lock, mode: .shared)
  }

  /// A doctor for a vault that is open. It needs no secret while the keyring of the vault is current.
  init(_ vault: Vault, schemas: [Schema], progress: @escaping (String) throws -> Void) throws {
    layout = vault.layout
    (self.schemas, self.progress) = (schemas, progress)
    secret = {
      throw VaultError(.busy, "the keyring of the vault was changed while it was open", hint: "open the vault again")
    }
    environment = vault.environment
    keys = vault.keyring
    lock = try VaultLock(path: layout.lock, mode: .shared)
  }

  /// Performs all checks that are possible. Checkpoints the write-ahead log, stores the result in the vault unless it is damaged
  /// (see ``StoredDiagnosis``), and changes nothing else.
  /// - Throws: `KeyError` when the secret opens no key slot; the errors of the progress callback. Problems of the
  ///   vault are findings, not errors.
  public func examine() throws -> Diagnosis {
    var diagnosis = Diagnosis()
    var database: DatabaseAccess?
    if let keys = try openKeyring(&diagnosis) {
      let generation = keys.keyring.generation.number
      if checkGenerations(generation, &diagnosis) {
        let access = DatabaseAccess(
          path: layout.database(generation: generation), key: GuardedKey(bytes: keys.databaseKey),
          environment: environment)
        try checkDatabase(access, &diagnosis)
        database = access
      }
    }
    try report("Checking the files")
    checkPermissions(&diagnosis)
    checkOrphans(&diagnosis)
    checkSpace(&diagnosis)
    diagnosis.unchecked += unreadable.sorted()
    if let database, !diagnosis.isDamaged, diagnosis.findings("opens").isEmpty { store(&diagnosis, in: database) }
    return diagnosis
  }

  private func store(_ diagnosis: inout Diagnosis, in access: DatabaseAccess) {
    do {
      let result = StoredDiagnosis(diagnosis: diagnosis, endedAt: environment.now)
      try access.withDatabase { database in try database.write { try result.write(to: $0) } }
    } catch {
      diagnosis.add(
        .note, "result", "the result was not stored in the vault: \(describe(error))",
        meaning: "the vault shows the result of an earlier check", next: .checkVaultAgain)
    }
  }

  func report(_ step: String) throws { try progress(step) }

  /// Reads and unlocks the keyring. Returns `nil` when it is damaged or unreadable.
  private func openKeyring(_ diagnosis: inout Diagnosis) throws -> UnlockedKeyring? {
    try report("Reading the keyring")
    guard let keyring = readKeyring(&diagnosis) else { return nil }
    guard let unlocked = try unlock(keyring, &diagnosis) else { return nil }
    keys = unlocked
    for slot in keyring.slots where slot.needsUpgrade {
      let name = slot.label.isEmpty ? slot.id : "\(slot.id) (\(slot.label))"
      diagnosis.add(
        .note, "keyring", "the passphrase of slot \(name) uses outdated key derivation costs",
        meaning: "an attacker with a copy of the keyring can guess it faster",
        next: .advice("open the vault with that passphrase once; the costs are then raised automatically"))
    }
    diagnosis.checked.append("the keyring: its checksum, format and MAC, \(counted(keyring.slots.count, "slot"))")
    return unlocked
  }

  private func readKeyring(_ diagnosis: inout Diagnosis) -> Keyring? {
    do throws(KeyError) {
      return try KeyringFile.read(at: layout.keyring)
    } catch {
      diagnosis.unchecked.append("the database: it cannot be opened without the keyring")
      let isNewer = error.code == .newerFormat
      diagnosis.add(
        isNewer || error.code == .unreadable ? .warning : .damage, "keyring",
        error.code == .notFound ? "the keyring is missing: \(layout.keyring)" : error.message,
        meaning: isNewer
          ? "this program is too old for the vault" : "the database cannot be opened without the keyring",
        next: isNewer || error.code == .unreadable
          ? .advice(error.hint)
          : .advice("restore keyring.json from a backup of this vault; an older keyring with the same key also works"))
      return nil
    }
  }

  /// Unlocks the keyring. A wrong secret is an error; an inconsistent keyring is a finding.
  private func unlock(_ keyring: Keyring, _ diagnosis: inout Diagnosis) throws -> UnlockedKeyring? {
    if let keys, keys.keyring == keyring { return keys }
    let secret = try secret()
    do throws(KeyError) {
      return try keyring.unlock(with: secret)
    } catch {
      guard error.code == .damaged else { throw error }
      diagnosis.unchecked.append("the database: it cannot be opened without the keyring")
      diagnosis.add(
        .damage, "keyring", error.message, meaning: "the keyring was changed by another program",
        next: .advice(error.hint))
      return nil
    }
  }

  /// Returns whether the database of the current generation exists.
  private func checkGenerations(_ current: Int, _ diagnosis: inout Diagnosis) -> Bool {
    let file = layout.database(generation: current)
    guard Files.exists(file) else {
      if !Files.isMissing(file) {
        diagnosis.add(
          .warning, "generations", "generation \(current) of the database is not accessible: \(file)",
          meaning: "its state is unknown", next: .repairVaultAsOwner)
        diagnosis.unchecked.append("the database: it is not accessible")
        return false
      }
      let others = OrphanedGenerations.orphans(layout, current: current).filter { $0 != layout.unfinishedKeyring }
      diagnosis.add(
        .damage, "generations", "generation \(current) of the database is missing: \(file)",
        meaning: others.isEmpty
          ? "the records are missing"
          : "the records are missing; \(others.joined(separator: ", ")) has another key, whose keyring is missing",
        next: .advice("restore a backup"))
      diagnosis.unchecked.append("the database: it is missing")
      return false
    }
    diagnosis.checked.append("the generations: number \(current) is current and present")
    return true
  }
}

extension Vault {
  /// Performs all checks of ``Doctor`` on this vault while it is open.
  /// - Parameters:
  ///   - schemas: the schemas that the program knows.
  ///   - progress: receives a description of each step before it starts. It may throw to cancel.
  /// - Throws: ``VaultError`` with `busy`; the errors of the progress callback.
  public func examine(
    schemas: [Schema] = [], progress: @escaping (String) throws -> Void = { _ in }
  ) throws -> Diagnosis {
    try Doctor(self, schemas: schemas, progress: progress).examine()
  }
}

/// The path and key of a database, for opening connections of any kind.
struct DatabaseAccess {
  let path: String
  let key: GuardedKey
  let environment: Environment

  /// Opens the database with a small page cache, because each page is read about once.
  func open() throws -> Database {
    var configuration = Configuration(environment: environment)
    configuration.pageCacheBytes = 8 << 20
    configuration.busyTimeout = .seconds(5)
    return try Database(path: path, key: key, configuration: configuration)
  }

  /// Calls `body` with the database and closes it afterwards.
  func withDatabase<Result>(_ body: (Database) throws -> Result) throws -> Result {
    let database = try open()
    defer { database.close() }
    return try body(database)
  }

  /// Opens a read-only connection that reads as much as possible of a damaged file.
  func openDamaged() throws -> Connection { try Connection.toDamagedFile(at: path, key: key) }
}

/// The invariants between records, outbox, conflicts and attachment files.
package enum VaultInvariants {
  /// Returns a sentence with a count for each violated invariant.
  package static func violations(_ catalog: SyncCatalog, in connection: Connection) throws -> [String] {
    try SyncInvariants(catalog: catalog, connection: connection).violations()
      + AttachmentInvariants.violations(catalog, in: connection)
  }

  /// Repairs violated invariants without discarding a change.
  package static func restore(_ catalog: SyncCatalog, on connection: WriteConnection) throws {
    try SyncInvariants.restore(catalog, on: connection)
    try AttachmentInvariants.restore(catalog, on: connection)
  }
}
