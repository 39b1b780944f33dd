import CipherSQL
import CommandLineKit
import VaultStore

enum SearchCommand {
  static func run(_ context: CommandContext) throws {
    let text = try context.arguments.required("TEXT")
    let limit = try context.arguments.integer("limit", in: 1...) ?? 50
    let vault = try context.openVault()
    let entity = try context.arguments.value("entity").map { try vault.entities.entity($0) }
    let results = try vault.database.read { connection in
      try Search(connection, entities: vault.entities).find(text, in: entity, limit: limit)
    }
    if context.isJSON {
      var json = JSONWriter(for: context.output)
      json.beginArray()
      for result in results {
        json.beginObject()
        json.member("entityType", result.entityType)
        json.member("uuid", result.uuid.sqlText)
        json.member("snippet", result.snippet)
        try json.member("rank", result.rank)
        json.endObject()
      }
      json.endArray()
      json.endDocument()
      return try json.drain(to: context.output)
    }
    if results.isEmpty { return context.hint("nothing found") }
    var table = TextTable(["entity", "uuid", "found"])
    for result in results { table.add([result.entityType, result.uuid.sqlText, result.snippet]) }
    try context.output.write(table.text(for: context.output.terminal))
  }
}

enum CompletionsCommand {
  static func run(_ context: CommandContext) throws {
    guard let shell = try context.arguments.value("SHELL", as: Shell.self) else { return }
    try context.output.write(FieldVaultProgram.program.completions(for: shell).utf8)
  }
}

enum VersionCommand {
  static func run(_ context: CommandContext) throws {
    let memory = try Database.inMemory()
    let cipher = try memory.read { try $0.fetchOne("PRAGMA cipher_version", as: String.self) } ?? "none"
    let sqlite = try memory.read { try $0.fetchOne("SELECT sqlite_version()", as: String.self) } ?? "unknown"
    guard context.isJSON else {
      return try context.output.line("fieldvault \(FieldVaultProgram.version) (SQLCipher \(cipher), SQLite \(sqlite))")
    }
    var json = JSONWriter(for: context.output)
    json.beginObject()
    json.member("version", FieldVaultProgram.version)
    json.member("sqlcipher", cipher)
    json.member("sqlite", sqlite)
    json.endObject()
    json.endDocument()
    try json.drain(to: context.output)
  }
}
