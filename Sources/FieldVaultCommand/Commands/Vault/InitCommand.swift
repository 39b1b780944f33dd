import CipherSQL
import CommandLineKit
import VaultStore

enum InitCommand: ProgramCommand {
  static let description = CommandDescription(
    "init", group: "Vault", summary: "make a vault",
    discussion: """
      A vault is a folder: the encrypted database, its keyring, the encrypted files. It appears whole or not at all. \
      The passphrase is asked for twice, or is the first line of --passphrase-file. There is no way to read a vault \
      whose passphrase is lost.
      """,
    options: [
      .value(
        "schema", "NAME_OR_FOLDER", "restoration, range, receipts, or a folder of SQL files; may be repeated",
        repetition: .list, required: true, completion: .folder)
    ],
    examples: [
      Example("fieldvault init --schema restoration --vault job.vault", "a vault for restoration projects"),
      Example("fieldvault init --schema range --vault range.vault", "a vault for sessions at the shooting range"),
      Example("fieldvault init --schema receipts --vault home.vault", "a vault for receipts and warranties"),
      Example("fieldvault init --schema ./Schema --vault mine.vault", "a vault with tables of one's own"),
    ],
    exitCodes: usual + [.noSpace, .refused])

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
    context.hint("Keep the passphrase safe: without it the vault cannot be read or recovered.")
  }
}
