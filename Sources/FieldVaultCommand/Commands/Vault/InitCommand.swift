import CipherSQL
import CommandLineKit
import Platform
import VaultKeys
import VaultStore

enum InitCommand: ProgramCommand {
  static let description = CommandDescription(
    "init", group: "Vault", summary: "create a vault",
    discussion: """
      A vault is a folder with an encrypted database, its keyring and encrypted files. The folder appears only when \
      it is complete. The passphrase is prompted for twice, or read from the first line of --passphrase-file. \
      --generate-passphrase makes one of 80 random bits and shows it once, or writes it to the new file of \
      --passphrase-file, with mode 0600. A vault whose passphrase is lost cannot be read.
      """,
    options: [
      .value(
        "schema", "NAME_OR_FOLDER", "restoration, range, receipts, or a folder of SQL files",
        repetition: .list, required: true, completion: .folder),
      .flag("generate-passphrase", "make a passphrase, and show it once or write it to --passphrase-file"),
    ],
    choices: ["passphrase-command", "key-file", "recovery-file", "system"].map { Choice("generate-passphrase", $0) },
    examples: [
      Example("fieldvault init --schema restoration --vault job.vault", "create a vault for restoration projects"),
      Example("fieldvault init --schema receipts --generate-passphrase --vault home.vault", "show a new passphrase"),
      Example("fieldvault init --schema range --vault range.vault", "create a vault for shooting range sessions"),
      Example("fieldvault init --schema receipts --vault home.vault", "create a vault for receipts and warranties"),
      Example("fieldvault init --schema ./Schema --vault mine.vault", "create a vault with your own tables"),
    ],
    exitCodes: usual + [.noSpace, .refused])

  static func run(_ context: CommandContext) throws {
    let path = try context.vaultPath()
    let schemas = try context.namedSchemas()
    guard !context.arguments.flag("generate-passphrase") else {
      return try generatePassphrase(for: path, schemas, context)
    }
    let secret = try context.newSecret()
    let vault = try Vault.create(at: path, schemas: schemas, secret: secret)
    if case .passphrase(let passphrase) = secret { context.adviseOnStrength(of: passphrase) }
    try report(vault, path, context)
    if case .passphrase = secret {
      context.hint("Keep the passphrase safe: without it the vault cannot be read or recovered.")
    } else {
      context.hint("Keep the key file safe: without it the vault cannot be read or recovered.")
    }
  }

  /// Creates a vault with a passphrase that is shown once or written to a new file. The file exists before the vault, so that
  /// no vault is created whose passphrase is lost. It is removed if the vault cannot be created.
  private static func generatePassphrase(
    for path: String, _ schemas: [(source: SchemaSource, schema: Schema)], _ context: CommandContext
  ) throws {
    let file = context.arguments.value("passphrase-file")
    guard file != "-" else {
      throw context.arguments.mistake(
        "--generate-passphrase cannot write to standard input", about: "passphrase-file",
        hint: "give the path of a new file, or leave --passphrase-file out to see the passphrase")
    }
    let passphrase = try GeneratedPassphrase.make()
    if let file { try GeneratedPassphrase.write(passphrase, to: file) }
    let vault: Vault
    do {
      vault = try Vault.create(at: path, schemas: schemas, secret: .passphrase(passphrase))
    } catch {
      // The original failure is reported. The passphrase in the file opens no vault.
      if let file { try? Descriptor.remove(file) }
      throw error
    }
    let text = file == nil ? passphrase.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } : nil
    try report(vault, path, context, passphrase: text)
    if let file {
      context.hint(
        "Wrote the passphrase to \(file). Keep a copy apart from the vault: without it the vault cannot be read.")
    } else {
      // Always shown, because it cannot be shown again.
      if let text, !context.isJSON { try context.output.line(text) }
      context.hint(
        "Write the passphrase down. It is not shown again, and without it the vault cannot be read or recovered.")
    }
  }

  private static func report(
    _ vault: Vault, _ path: String, _ context: CommandContext, passphrase: String? = nil
  ) throws {
    let entities = vault.entities.all.map(\.type)
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("vault", path)
        json.key("entities")
        json.beginArray()
        for entity in entities { json.value(entity) }
        json.endArray()
        if let passphrase { json.member("passphrase", passphrase) }
        json.endObject()
      }
    }
    let count = entities.count == 1 ? "1 entity" : "\(entities.count) entities"
    try context.tell("Created \(path) with \(count): \(entities.joined(separator: ", ")).")
  }
}
