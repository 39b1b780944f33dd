import CipherSQL
import CommandLineKit

enum CompletionsCommand: ProgramCommand {
  static let description = CommandDescription.completions(group: "Other")

  static func run(_ context: CommandContext) throws {
    guard let shell = try context.arguments.value("SHELL", as: Shell.self) else { return }
    try context.output.write(FieldVaultProgram.program.completions(for: shell).utf8)
  }
}

enum ManualCommand: ProgramCommand {
  static let description = CommandDescription.manual(group: "Other")

  static func run(_ context: CommandContext) throws {
    try context.output.write(FieldVaultProgram.program.manual().utf8)
  }
}

enum VersionCommand: ProgramCommand {
  static let description = CommandDescription.version(group: "Other")

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
