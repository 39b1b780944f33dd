import CipherSQL
import CommandLineKit
import VaultStore

enum InitCommand {
  static func run(_ context: CommandContext) throws {
    let path = try context.vaultPath()
    let schemas = try context.namedSchemas()
    let vault = try Vault.create(at: path, schemas: schemas, secret: try context.newSecret())
    let entities = vault.entities.all.map(\.type)
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("vault", path)
        json.key("entities")
        json.beginArray()
        for entity in entities { json.value(entity) }
        json.endArray()
        json.endObject()
      }
    }
    try context.tell(
      "Made \(path) with \(entities.count) \(entities.count == 1 ? "kind" : "kinds") of record: \(entities.joined(separator: ", "))."
    )
    context.hint("Keep the passphrase safe: without it nobody can read the vault, and nobody can help.")
  }
}
