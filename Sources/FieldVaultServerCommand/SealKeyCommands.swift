import CipherSQL
import CommandLineKit
import PostgresStorage
import ServerStorage
import ShippedSchemas
import SyncServer

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
        "wrapped the keys of \(count) accounts under the first key of the file; no account needs the other keys")
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("accounts", count)
      json.endObject()
    }
  }
}
