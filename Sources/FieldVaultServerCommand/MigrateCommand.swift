import CipherSQL
import CommandLineKit
import SQLCipherStorage
import ShippedSchemas
import SyncServer

enum MigrateCommand {
  /// - Returns: whether all accounts have the files.
  static func run(_ context: CommandContext) throws -> Bool {
    let isTrial = context.arguments.flag("dry-run")
    var migrations: [FolderMigration] = []
    try context.folder(isCreating: false).migrate(
      adding: try context.namedSchemas(), shipped: Schema.shipped, asTrial: isTrial
    ) { migration in
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

  private static func write(_ migration: FolderMigration, _ context: CommandContext) throws {
    let place = migration.account.map { "account \($0.name)" } ?? "directory"
    if let problem = migration.problem {
      return try context.output.line(escaped("\(place): \(problem)"))
    }
    for file in migration.files {
      try context.output.line(escaped("\(place): \(file.schema) \(file.version) \(file.name)"))
    }
  }
}
