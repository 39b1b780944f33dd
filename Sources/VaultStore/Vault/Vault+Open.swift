import CipherSQL
import Platform
import VaultKeys

extension Vault {
  /// The action if the vault's tables are older than the program's schemas.
  public enum OutdatedSchema: Sendable {
    /// The tables are migrated, as an app does.
    case migrate
    /// Opening fails with `migrationNeeded`, as the command line does.
    case refuse
    /// The vault is opened without migration, to show the pending files.
    case leave
  }

  /// Opens a vault.
  /// - Parameters:
  ///   - path: the folder of the vault.
  ///   - secret: unlocks one of its key slots.
  ///   - schemas: the schemas that the program has. Only those of the vault are used. A schema of the vault that the
  ///     program lacks is read from its folder, or otherwise used as it is in the vault.
  ///   - adding: schemas that the vault receives if it lacks them. They are first applied in memory, so that a
  ///     mistake in them changes nothing.
  /// - Throws: ``VaultError`` with `notAVault`, `damaged`, `busy` or `migrationNeeded`; `KeyError` with `wrongSecret`
  ///   or another code; `SQLError`.
  public static func open(
    at path: String, with secret: UnlockSecret, schemas: [Schema] = [],
    adding: [(source: SchemaSource, schema: Schema)] = [], outdated: OutdatedSchema = .migrate,
    configuration: Configuration = Configuration()
  ) throws -> Vault {
    let vault = try open(
      at: path, schemas: schemas, adding: adding, outdated: outdated, configuration: configuration
    ) { keyring in try keyring.unlock(with: secret) }
    vault.raiseCost(of: secret)
    return vault
  }

  /// Opens a vault that was unlocked before, without a secret. Its slots and keys cannot be changed, and no backup can be
  /// written: these throw `KeyError` with `secretRequired`.
  /// - Throws: as with a secret; `KeyError` with `wrongSecret` after any change of the keyring.
  package static func open(
    at path: String, with session: SessionKey, schemas: [Schema] = [],
    adding: [(source: SchemaSource, schema: Schema)] = [], outdated: OutdatedSchema = .migrate,
    configuration: Configuration = Configuration()
  ) throws -> Vault {
    try open(at: path, schemas: schemas, adding: adding, outdated: outdated, configuration: configuration) { keyring in
      try keyring.unlock(with: session)
    }
  }

  private static func open(
    at path: String, schemas: [Schema], adding: [(source: SchemaSource, schema: Schema)], outdated: OutdatedSchema,
    configuration: Configuration, unlocking: (Keyring) throws -> UnlockedKeyring
  ) throws -> Vault {
    let layout = try existing(path)
    let lock = try VaultLock(path: layout.lock, mode: .shared)
    let keyring = try KeyringFile.read(at: layout.keyring)
    let unlocked = try unlocking(keyring)
    let file = layout.database(generation: keyring.generation.number)
    guard Files.exists(file) else {
      throw VaultError(
        .damaged, "generation \(keyring.generation.number) of the database is missing: \(file)",
        hint: "restore a backup")
    }
    // SQLite treats an empty file as a new database and would write to it.
    guard Files.size(of: file) != 0 else { throw damaged(file) }
    do {
      let database = try Database(
        path: file, key: GuardedKey(bytes: unlocked.databaseKey), configuration: configuration, holding: lock)
      // Other generations are removed only after the current one was opened.
      OrphanedGenerations.sweep(layout, current: keyring.generation.number)
      let known = schemas + adding.map(\.schema)
      let stored = try database.readOnWriter {
        (sources: try SchemaSource.read(from: $0), records: try MigrationRecord.all(in: $0))
      }
      let sources = try add(adding, to: stored.sources, known: known, applied: stored.records, in: database)
      let migrator = try migrator(for: sources, known: known, applied: stored.records)
      try bringUpToDate(database, migrator, applied: stored.records, outdated)
      let entities = try database.readOnWriter { try Entities.read(from: $0) }
      let vault = Vault(
        layout: layout, database: database, entities: entities, sources: sources, keyring: unlocked, lock: lock)
      vault.sweepIfPossible()
      return vault
    } catch let error as SQLError where error.code == .notADatabase || error.code == .damaged {
      throw damaged(file)
    }
  }

  private static func damaged(_ file: String) -> VaultError {
    VaultError(
      .damaged, "the keyring opens but the database does not: \(file) is damaged or belongs to another vault",
      hint: "restore a backup")
  }

  /// Checks a path before the user is asked for a secret.
  /// - Throws: ``VaultError`` with `notAVault`.
  public static func existing(_ path: String) throws(VaultError) -> VaultLayout {
    let layout = VaultLayout(folder: path)
    guard Files.exists(layout.folder) else {
      throw VaultError(.notAVault, "no vault at \(path)", remedy: .createVault)
    }
    if Files.isFolder(layout.databases), !Files.exists(layout.keyring) {
      throw VaultError(
        .damaged, "the keyring of \(path) is missing: \(layout.keyring)",
        hint: "restore it from a backup; the database cannot be opened without it")
    }
    guard Files.isFolder(layout.folder), Files.exists(layout.keyring) else {
      throw VaultError(
        .notAVault, "\(path) is not a vault: it has no keyring.json", remedy: .nameVaultFolder)
    }
    return layout
  }

  /// Stores schemas that the vault lacks, and returns all of its schemas.
  private static func add(
    _ adding: [(source: SchemaSource, schema: Schema)], to sources: [SchemaSource], known: [Schema],
    applied: [MigrationRecord], in database: Database
  ) throws -> [SchemaSource] {
    let new = adding.filter { addition in !sources.contains { $0.name == addition.schema.name } }
    guard !new.isEmpty else { return sources }
    let all = sources + new.map(\.source)
    let trial = try Database.inMemory()
    defer { trial.close() }
    try migrator(for: all, known: known, applied: applied).apply(to: trial, isDraft: true)
    try database.write { try SchemaSource.write(all, to: $0) }
    return all
  }

  private static func bringUpToDate(
    _ database: Database, _ migrator: Migrator, applied: [MigrationRecord], _ outdated: OutdatedSchema
  ) throws {
    if outdated == .leave { return }
    guard let first = try migrator.pending(after: applied).first else { return }
    guard outdated == .migrate else {
      throw VaultError(
        .migrationNeeded,
        "the vault requires a migration: \(first.schema)/\(first.file.fileName) is pending",
        remedy: .migrate)
    }
    try migrator.apply(to: database)
  }

  /// Returns the migrator for the schemas of a vault.
  /// - Parameter records: all files that were applied to the vault.
  static func migrator(
    for sources: [SchemaSource], known: [Schema], applied records: [MigrationRecord]
  ) throws -> Migrator {
    var schemas: [Schema] = []
    for source in sources {
      let applied = records.filter { $0.schema == source.name }
      let carried = known.first { $0.name == source.name }
      // The folder may have the name of a schema that the program has.
      if let carried, source.folder == nil || carried.contains(applied) {
        schemas.append(carried)
      } else if let folder = source.folder, Files.isFolder(folder) {
        schemas.append(try Schema.load(folder: folder, name: source.name))
      } else {
        schemas.append(Schema(name: source.name, migrations: applied.map(\.file)))
      }
    }
    return Self.migrator(for: schemas)
  }

  /// Returns the migrator for the vault's schemas, as `open` uses it.
  public func migrator(known: [Schema]) throws -> Migrator {
    let records = try database.read { try MigrationRecord.all(in: $0) }
    return try Self.migrator(for: schemaSources, known: known, applied: records)
  }
}

extension Schema {
  /// Whether these files are the first of the schema.
  fileprivate func contains(_ applied: [MigrationRecord]) -> Bool {
    applied.allSatisfy { record in
      migrations.contains {
        $0.version == record.version && $0.name == record.name && $0.firstChange(since: record.sql) == nil
      }
    }
  }
}

extension Vault {
  /// Opens the vault at a path, or creates it if nothing exists there.
  ///
  /// While another process is creating the vault, this throws `busy`; try again a moment later.
  /// - Parameters:
  ///   - path: the folder of the vault, whose parent exists. By convention its name ends in `.vault`.
  ///   - secret: unlocks a key slot of an existing vault, or becomes the first key slot of a new one.
  ///   - schemas: the schemas that the program was compiled with. Missing schemas are added to an existing vault.
  /// - Throws: ``VaultError`` with `notAVault` if something else exists at the path, `damaged`, `busy`, `cannotWrite` or
  ///   `noSpace`; `KeyError` with `wrongSecret`, or for an empty secret; `SQLError` with `migration` if a schema file fails.
  public static func open(
    at path: String, with secret: UnlockSecret, creating schemas: [Schema],
    configuration: Configuration = Configuration()
  ) throws -> Vault {
    let additions = schemas.map { (source: SchemaSource(name: $0.name, folder: nil), schema: $0) }
    if !Files.exists(VaultLayout(folder: path).folder) {
      do {
        return try create(at: path, schemas: additions, secret: secret, configuration: configuration)
      } catch let error as VaultError where error.code == .alreadyExists {
        // Another process has created the vault in the meantime.
      }
    }
    return try open(at: path, with: secret, adding: additions, configuration: configuration)
  }
}
