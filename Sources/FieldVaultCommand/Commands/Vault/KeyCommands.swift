import CommandLineKit
import VaultStore
import VaultKeys

private let newPassphraseOption = OptionDescription.value(
  "new-passphrase-file", "FILE", "the new passphrase is its first line; - is standard input", completion: .file)

enum KeyListCommand: ProgramCommand {
  static let description = CommandDescription(
    "list", summary: "the slots", examples: [Example("fieldvault key list --json", "for a program")],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault()
    let slots = try vault.slots()
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginArray()
        for slot in slots { SlotFormat.write(slot, vault, &json) }
        json.endArray()
      }
    }
    var table = TextTable(["slot", "kind", "label", "secret set at", "cost"])
    for slot in slots {
      let mark = slot.id == vault.openedSlotID ? "  (opened now)" : ""
      table.add([slot.id, slot.kind.rawValue, slot.label, slot.createdAt, SlotFormat.cost(of: slot) + mark])
    }
    try context.output.write(table.text(for: context.output.terminal))
  }
}

enum KeyAddCommand: ProgramCommand {
  static let description = CommandDescription(
    "add", summary: "one more way to unlock the vault",
    discussion: """
      A passphrase is asked for twice, or is the first line of --new-passphrase-file. A key file is any file of \
      32 bytes to 1 MiB; where there is none of that name, one is made. A recovery code is shown once. For 'system' a \
      random secret is kept by the operating system: the keychain, or the Secret Service of a Linux desktop. \
      The vault then opens in your session on this machine without a question.
      """,
    arguments: [
      .required("KIND", "the kind of slot", allowed: ["passphrase", "key-file", "recovery", "system"])
    ],
    options: [
      newPassphraseOption,
      .value("new-key-file", "FILE", "the key file; made where there is none", completion: .file),
      .value("label", "TEXT", "what to call the slot"),
    ],
    examples: [
      Example("fieldvault key add recovery --label 'in the safe'", "shows a code to write down"),
      Example("fieldvault key add key-file --new-key-file job.key", "makes job.key"),
      Example("fieldvault key add system --label laptop", "this machine opens the vault by itself"),
    ],
    exitCodes: usual + [.noSpace])

  static func run(_ context: CommandContext) throws {
    let kind = try context.arguments.required("KIND")
    try refuseStrayFiles(kind, context)
    let vault = try context.openVault()
    let label = context.arguments.value("label") ?? ""
    switch kind {
    case "passphrase":
      try report(try vault.addSlot(.passphrase(try context.newPassphrase()), label: label), vault, context)
    case "key-file":
      try report(try vault.addSlot(.keyFile(try keyFile(context)), label: label), vault, context)
    case "system":
      let slot = try vault.addSystemSlot(in: try SystemSecrets.required(), label: label)
      try report(slot, vault, context)
      context.hint(
        "Whoever uses your session on this machine can open the vault. Another machine, or this one set up anew, cannot: "
          + "keep a passphrase or a recovery code as well.")
    default:
      let code = try RecoveryCode.random()
      let slot = try vault.addSlot(try code.unlockSecret(), label: label)
      let text = try code.text().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      try report(slot, vault, context, code: text)
    }
  }

  /// Returns the content of the key file; creates a missing file.
  private static func keyFile(_ context: CommandContext) throws -> SecureBytes {
    guard let path = context.arguments.value("new-key-file") else {
      throw context.arguments.mistake(
        "no key file is named", about: "new-key-file", hint: "give --new-key-file FILE; where there is none it is made")
    }
    do throws(KeyError) {
      return try KeyFile.read(at: path)
    } catch {
      guard error.code == .notFound else { throw error }
    }
    let content = try KeyFile.create(at: path)
    context.hint("Made \(path). Keep it apart from the vault: whoever has both reads everything.")
    return content
  }

  private static func refuseStrayFiles(_ kind: String, _ context: CommandContext) throws {
    for (option, wanted) in [("new-passphrase-file", "passphrase"), ("new-key-file", "key-file")]
    where context.arguments.isGiven(option) && kind != wanted {
      throw context.arguments.mistake("--\(option) is for 'key add \(wanted)'", about: option)
    }
  }

  private static func report(_ slot: KeySlot, _ vault: Vault, _ context: CommandContext, code: String? = nil) throws {
    if context.isJSON {
      return try context.writeJSON { SlotFormat.write(slot, vault, &$0, code: code) }
    }
    try context.tell(
      "Added slot \(slot.id), a \(slot.kind.rawValue) slot\(slot.label.isEmpty ? "" : " called \(slot.label)").")
    guard let code else { return }
    // Always shown, because it cannot be shown again.
    try context.output.line(code)
    context.hint("Write the code down and keep it away from the vault. It is not shown again, and opens everything.")
  }
}

enum KeyRemoveCommand: ProgramCommand {
  static let description = CommandDescription(
    "remove", aliases: ["rm"], summary: "take a slot away, never the last one",
    arguments: [.required("SLOT", "its id, as 'key list' shows it")],
    examples: [Example("fieldvault key remove 1f2e3d4c", "its secret opens the vault no more")],
    exitCodes: usual + [.noSpace, .refused])

  static func run(_ context: CommandContext) throws {
    let id = try context.arguments.required("SLOT")
    let vault = try context.openVault()
    let slots = try vault.slots()
    try vault.removeSlot(id)
    try context.forgetSystemSecrets(of: slots.filter { $0.id == id }, vault)
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("removed", id)
        json.endObject()
      }
    }
    try context.tell("Removed slot \(id).")
    context.hint(
      "Copies of the vault that were made before still open with it. 'fieldvault key rotate --root' shuts them out of new data."
    )
    if slots.allSatisfy({ $0.id == id || $0.kind == .system }) {
      context.hint("Only this machine opens the vault now. For the day when it is lost: fieldvault key add recovery")
    }
  }
}

enum KeyPassphraseCommand: ProgramCommand {
  static let description = CommandDescription(
    "passphrase", summary: "change a passphrase",
    discussion: """
      Rewrites one slot, at once. It does not protect against an attacker who has a copy of the vault and knew the \
      old passphrase: for that there is 'key rotate'.
      """,
    options: [newPassphraseOption, .value("slot", "SLOT", "which slot; the one that opens the vault by itself")],
    examples: [Example("fieldvault key passphrase", "asks for the old one, then twice for the new one")],
    exitCodes: usual + [.noSpace])

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault()
    let id = try slot(vault, context)
    try vault.changePassphrase(ofSlot: id, to: try context.newPassphrase())
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("slot", id)
        json.endObject()
      }
    }
    try context.tell("Changed the passphrase of slot \(id).")
    context.hint("The database key is as it was. Where a copy of the vault is in other hands: fieldvault key rotate")
  }

  /// Returns the slot of `--slot`, or the slot that opened the vault, or the only passphrase slot.
  private static func slot(_ vault: Vault, _ context: CommandContext) throws -> String {
    if let id = context.arguments.value("slot") { return id }
    let slots = try vault.slots().filter { $0.kind == .passphrase }
    if slots.contains(where: { $0.id == vault.openedSlotID }) { return vault.openedSlotID }
    if let only = slots.first, slots.count == 1 { return only.id }
    throw context.arguments.mistake(
      slots.isEmpty ? "the vault has no passphrase slot" : "the vault has several passphrase slots", about: "slot",
      hint: slots.isEmpty
        ? "fieldvault key add passphrase" : "name one with --slot: \(slots.map(\.id).joined(separator: ", "))")
  }
}

enum KeyExportCommand: ProgramCommand {
  static let description = CommandDescription(
    "export", summary: "write the database key to a new file, for other programs that read SQLCipher",
    arguments: [.required("FILE", "the file to make; its mode is 0600", completion: .file)],
    examples: [Example("fieldvault key export db.key", "writes x'64 HEX DIGITS'")],
    exitCodes: usual + [.noSpace])

  static func run(_ context: CommandContext) throws {
    let path = try context.arguments.required("FILE")
    let vault = try context.openVault()
    try vault.exportDatabaseKey(to: path)
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("file", path)
        json.member("database", vault.databasePath)
        json.endObject()
      }
    }
    try context.tell("Wrote the database key to \(path).")
    context.hint("Whoever has it reads the database, without any slot, until the next 'fieldvault key rotate'.")
  }
}

/// How a slot is shown.
enum SlotFormat {
  static func write(_ slot: KeySlot, _ vault: Vault, _ json: inout JSONWriter, code: String? = nil) {
    json.beginObject()
    json.member("slot", slot.id)
    json.member("kind", slot.kind.rawValue)
    json.member("label", slot.label)
    json.member("createdAt", slot.createdAt)
    json.member("opened", slot.id == vault.openedSlotID)
    json.member("memoryBytes", slot.derivation?.memLimitBytes)
    json.member("passes", slot.derivation?.opsLimit)
    if let code { json.member("code", code) }
    json.endObject()
  }

  /// The cost of trying one passphrase.
  static func cost(of slot: KeySlot) -> String {
    slot.derivation.map { "\($0.memLimitBytes >> 20) MiB, \($0.opsLimit) passes" } ?? ""
  }
}
