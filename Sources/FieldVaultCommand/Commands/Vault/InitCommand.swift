import CipherSQL
import CommandLineKit
import VaultStore

enum InitCommand: ProgramCommand {
  static let description = CommandDescription(
    "init", group: "Vault", summary: "create a vault",
    discussion: """
      A vault is a folder with an encrypted database, its keyring and encrypted files. The folder appears only when \
      it is complete. The passphrase is prompted for twice, or read from the first line of --passphrase-file. A vault \
      whose passphrase is lost cannot be read.
      """,
    options: [
      .value(
        "schema", "NAME_OR_FOLDER", "restoration, range, receipts, or a folder of SQL files",
        repetition: .list, required: true, completion: .folder)
    ],
    examples: [
      Example("fieldvault init --schema restoration --vault job.vault", "create a vault for restoration projects"),
      Example("fieldvault init --schema range --vault range.vault", "create a vault for shooting range sessions"),
      Example("fieldvault init --schema receipts --vault home.vault", "create a vault for receipts and warranties"),
      Example("fieldvault init --schema ./Schema --vault mine.vault", "create a vault with your own tables"),
    ],
    exitCodes: usual + [.noSpace, .refused])

  static func run(_ context: CommandContext) throws {
    let path = try context.vaultPath()
    let schemas = try context.namedSchemas()
    let secret = try context.newSecret()
    let vault = try Vault.create(at: path, schemas: schemas, secret: secret)
    if case .passphrase(let passphrase) = secret { context.adviseOnStrength(of: passphrase) }
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
    let count = entities.count == 1 ? "1 entity" : "\(entities.count) entities"
    try context.tell("Created \(path) with \(count): \(entities.joined(separator: ", ")).")
    if case .passphrase = secret {
      context.hint("Keep the passphrase safe: without it the vault cannot be read or recovered.")
    } else {
      context.hint("Keep the key file safe: without it the vault cannot be read or recovered.")
    }
  }
}
