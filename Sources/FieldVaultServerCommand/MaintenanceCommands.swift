import Platform
import CipherSQL
import CommandLineKit
import PostgresStorage
import SQLCipherStorage
import SchemaModel
import ServerStorage
import ShippedSchemas
import SyncServer

enum MigrateCommand {
  /// - Returns: whether all accounts have the files.
  static func run(_ context: CommandContext) async throws -> Bool {
    let isTrial = context.arguments.flag("dry-run")
    var migrations: [DataMigration] = []
    try await migrate(context, asTrial: isTrial) { migration in
      migrations.append(migration)
      if !context.isJSON { try write(migration, context) }
    }
    let isDone = migrations.allSatisfy { $0.problem == nil }
    guard context.isJSON else {
      let hasFiles = migrations.contains { !$0.files.isEmpty }
      if isDone { context.note(hasFiles ? isTrial ? "nothing was changed" : "done" : "no pending files") }
      return isDone
    }
    try context.writeJSON { json in
      json.beginArray()
      for migration in migrations {
        json.beginObject()
        json.member("account", migration.account?.name)
        json.member("folder", migration.account?.folder)
        json.key("files")
        json.beginArray()
        for file in migration.files {
          json.beginObject()
          json.member("schema", file.schema)
          json.member("version", file.version)
          json.member("name", file.name)
          json.endObject()
        }
        json.endArray()
        json.member("problem", migration.problem)
        json.endObject()
      }
      json.endArray()
    }
    return isDone
  }

  private static func migrate(
    _ context: CommandContext, asTrial isTrial: Bool, _ done: (DataMigration) throws -> Void
  ) async throws {
    let named = try context.namedSchemas()
    guard let settings = try context.sealedDatabaseSettings() else {
      return try migrateFolder(context, named, asTrial: isTrial, done)
    }
    if isTrial {
      try PostgresDatabase.tryMigration(settings, adding: named, shipped: Schema.shipped, done)
    } else {
      try await PostgresDatabase.migrate(
        settings, adding: named, shipped: Schema.shipped, log: { context.line($0) }, done)
    }
  }

  private static func migrateFolder(
    _ context: CommandContext, _ named: [(source: SchemaSource, schema: Schema)], asTrial isTrial: Bool,
    _ done: (DataMigration) throws -> Void
  ) throws {
    try context.folder(isCreating: false).migrate(
      adding: named, shipped: Schema.shipped, asTrial: isTrial, done)
  }

  private static func write(_ migration: DataMigration, _ context: CommandContext) throws {
    let whole = context.arguments.value("database") == nil ? "directory" : "database"
    let place = migration.account.map { "account \($0.name)" } ?? whole
    if let problem = migration.problem {
      return try context.output.line(escaped("\(place): \(problem)"))
    }
    for file in migration.files {
      try context.output.line(escaped("\(place): \(file.schema) \(file.version) \(file.name)"))
    }
  }
}

enum CompactCommand {
  /// - Returns: whether all accounts are compacted.
  static func run(_ context: CommandContext) throws -> Bool {
    var results: [FolderCompaction] = []
    let removed = try context.folder(isCreating: false).compact { result in
      results.append(result)
      if !context.isJSON { try context.output.line(escaped(text(result))) }
    }
    let (before, after) = results.reduce((0, 0)) { ($0.0 + $1.bytesBefore, $0.1 + $1.bytesAfter) }
    let isDone = results.allSatisfy { $0.problem == nil }
    guard context.isJSON else {
      context.note("\(before - after + removed) bytes returned, \(removed) of them from files of killed commands")
      return isDone
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("bytesBefore", before)
      json.member("bytesAfter", after)
      json.member("removedBytes", removed)
      json.key("databases")
      json.beginArray()
      for result in results {
        json.beginObject()
        json.member("account", result.account?.name)
        json.member("folder", result.account?.folder)
        json.member("bytesBefore", result.bytesBefore)
        json.member("bytesAfter", result.bytesAfter)
        json.member("problem", result.problem)
        json.endObject()
      }
      json.endArray()
      json.endObject()
    }
    return isDone
  }

  private static func text(_ result: FolderCompaction) -> String {
    let place = result.account.map { "account \($0.name)" } ?? "directory"
    return "\(place): \(result.problem ?? "\(result.bytesBefore) bytes before, \(result.bytesAfter) after")"
  }
}

enum KeyRotateCommand {
  static func run(_ context: CommandContext) throws {
    var folder = try context.folder(isCreating: false)
    let rotation = try folder.rotateKey()
    guard context.isJSON else {
      try context.output.line(escaped(rotation.keyFile))
      context.note(
        rotation.wasInterrupted
          ? "completed the interrupted rotation: \(rotation.databases) databases are under the new key"
          : "encrypted \(rotation.databases) databases of \(rotation.accounts) accounts under a new key")
      if folder.hasExternalKey {
        context.line("earlier backups do not contain the former key, and require a copy of it")
      }
      return
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("keyFile", rotation.keyFile)
      json.member("accounts", rotation.accounts)
      json.member("databases", rotation.databases)
      json.member("bytes", rotation.bytes)
      json.member("wasInterrupted", rotation.wasInterrupted)
      json.endObject()
    }
  }
}

enum SealKeyNewCommand {
  static func run(_ context: CommandContext) throws {
    let file = try context.arguments.required("FILE")
    let name = try SealKeys.addKey(to: file)
    guard context.isJSON else {
      try context.output.line(name)
      return context.note("added the key as the first line of \(escaped(file))")
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("key", name)
      json.member("file", file)
      json.endObject()
    }
  }
}

enum SealKeyRotateCommand {
  static func run(_ context: CommandContext) async throws {
    guard var settings = try context.databaseSettings() else {
      throw context.arguments.mistake("the database of the server is not named", about: "database", .missingValue)
    }
    settings.sealKeys = try SealKeys(file: try context.arguments.required("seal-key"))
    let database = try PostgresDatabase(settings)
    defer { database.close() }
    let schemas = try PostgresDirectory(database).schemas(adding: [], shipped: Schema.shipped)
    let storage = try PostgresStorage(database, schemas: schemas, log: { context.line($0) })
    defer { storage.close() }
    let count = try await storage.rotateSealKeys(renewingAccountKeys: context.arguments.flag("account-keys"))
    try PostgresDirectory(database).note(
      .rotatedSealKeys(accounts: count, withAccountKeys: context.arguments.flag("account-keys")))
    guard context.isJSON else {
      return context.note(
        "wrapped the keys of \(counted(count, "account")) under the first key of the file; no account needs the other keys"
      )
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("accounts", count)
      json.endObject()
    }
  }
}
