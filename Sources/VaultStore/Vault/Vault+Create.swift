import CipherSQL
import Platform
import VaultKeys

extension Vault {
  /// Creates a vault. It appears at its path completely or not at all.
  /// - Parameters:
  ///   - path: the folder to create, whose parent exists.
  ///   - schemas: the schemas in addition to FieldVault's own, and their origins.
  ///   - secret: unlocks the first key slot. It is the only way to open the vault.
  /// - Throws: ``VaultError`` with `alreadyExists`, `cannotWrite` or `noSpace`; `SQLError` with `migration` if a
  ///   schema file fails; `KeyError` for an empty secret.
  public static func create(
    at path: String, schemas: [(source: SchemaSource, schema: Schema)], secret: UnlockSecret, label: String = "",
    configuration: Configuration = Configuration()
  ) throws -> Vault {
    try secret.validate()
    let draft = try StagedVault(for: VaultLayout(folder: path))
    do {
      try fill(draft.layout, schemas, secret, label, configuration)
      try draft.publish()
    } catch {
      draft.abandon()
      throw error
    }
    return try open(at: path, with: secret, schemas: schemas.map(\.schema), configuration: configuration)
  }

  private static func fill(
    _ layout: VaultLayout, _ schemas: [(source: SchemaSource, schema: Schema)], _ secret: UnlockSecret, _ label: String,
    _ configuration: Configuration
  ) throws {
    let (keyring, unlocked) = try Keyring.create(
      with: secret, label: label, settings: KeyringSettings(now: configuration.environment.clock.now))
    let generation = keyring.generation.number
    try Files.makeFolder(layout.generation(generation))
    try Files.makeFile(layout.database(generation: generation))
    let database = try Database(
      path: layout.database(generation: generation), key: GuardedKey(bytes: unlocked.databaseKey),
      configuration: configuration)
    defer { database.close() }
    try migrator(for: schemas.map(\.schema)).apply(to: database, isDraft: true)
    try database.write { connection in
      try SchemaSource.write(schemas.map(\.source), to: connection)
    }
    try database.withWriter { _ = try $0.checkpoint() }
    try KeyringFile.create(keyring, at: layout.keyring)
    try Files.syncFolder(layout.generation(generation))
  }

  /// Applies FieldVault's own schema first, then the others, and derives the triggers again.
  package static func migrator(for schemas: [Schema]) -> Migrator {
    let columns = Locked(OutboxMigration.Columns())
    return SchemaRules.checking(
      Migrator(
        schemas: [CoreSchema.schema] + schemas.filter { $0.name != CoreSchema.schema.name },
        willApply: { connection in
          let before = try OutboxMigration.columns(on: connection)
          columns.withLock { $0 = before }
          try DerivedTriggers.drop(in: connection)
        },
        didApply: { connection, file in
          let renames = try RenamedColumns(of: file, on: connection)
          try OutboxMigration.follow(file, renames, from: columns.withLock { $0 }, on: connection)
          try AddedColumns.follow(file, renames, on: connection)
          try renames.follow(on: connection)
        },
        derive: { connection, file in
          try VaultTriggers.create(in: connection)
          // The work needs all tables of FieldVault's own schema, with all their columns.
          let core = CoreSchema.schema.migrations
          if !core.dropLast().contains(file) { try OutboxMigration.retryFailed(on: connection) }
        },
        didApplyAll: { connection in
          try OutboxMigration.compareSkipped(on: connection)
          try OutboxMigration.applyWaiting(on: connection)
        }, didRebuild: RouteTriggers.copy))
  }
}
