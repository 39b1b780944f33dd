import CipherSQL
import CommandLineSupport
import OfflineStore

enum InitCommand {
  static func run(_ context: CommandContext) throws {
    let path = try context.vaultPath()
    let schemas = try context.arguments.values("schema").map(schema)
    let vault = try Vault.create(at: path, schemas: schemas, secret: try context.newSecret())
    let entities = vault.entities.all.map(\.type)
    if context.isJSON {
      var json = JSONWriter(for: context.output)
      json.beginObject()
      json.member("vault", path)
      json.key("entities")
      json.beginArray()
      for entity in entities { json.value(entity) }
      json.endArray()
      json.endObject()
      json.endDocument()
      return try json.drain(to: context.output)
    }
    try context.tell(
      "Made \(path) with \(entities.count) \(entities.count == 1 ? "kind" : "kinds") of record: \(entities.joined(separator: ", "))."
    )
    context.hint("Keep the passphrase safe: without it nobody can read the vault, and nobody can help.")
  }

  /// A schema that the program carries, or a folder.
  private static func schema(_ word: String) throws -> (source: SchemaSource, schema: Schema) {
    if let shipped = CommandContext.shippedSchemas.first(where: { $0.name == word }) {
      return (SchemaSource(name: word, folder: nil), shipped)
    }
    guard FileSystem.isFolder(word) else {
      let names = CommandContext.shippedSchemas.map(\.name)
      throw VaultError(
        .noSuchEntity, "'\(word)' is neither a schema that ships (\(names.joined(separator: ", "))) nor a folder",
        hint: "give the path of a folder with NNNN_name.sql files", name: word, candidates: names)
    }
    let folder = FileSystem.absolute(word)
    let schema = try Schema.load(folder: folder)
    return (SchemaSource(name: schema.name, folder: folder), schema)
  }
}
