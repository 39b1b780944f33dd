import CommandLineKit
import VaultStore
import VaultKeys

private let newPassphraseOption = OptionDescription.value(
  "new-passphrase-file", "FILE", "read the new passphrase from this file; - is standard input", completion: .file)

private let slotHelp = "the id of a slot from 'key list', or at least 4 of its first characters"

enum KeyListCommand: ProgramCommand {
  static let description = CommandDescription(
    "list", summary: "list the slots", examples: [Example("fieldvault key list --json", "as JSON")],
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
    var table = TextTable(["slot", "kind", "label", "secret set at (UTC)", "cost"])
    for slot in slots {
      let mark = slot.id == vault.openedSlotID ? "  (in use)" : ""
      table.add([
        slot.id, slot.kind.rawValue, slot.label, RelativeTime.short(slot.createdAt), SlotFormat.cost(of: slot) + mark,
      ])
    }
    try context.output.write(table.text(for: context.output.terminal))
  }
}

enum KeyAddCommand: ProgramCommand {
  static let description = CommandDescription(
    "add", summary: "add a slot that unlocks the vault",
    discussion: """
      A passphrase is prompted for twice, or read from the first line of --new-passphrase-file. A key file is any file \
      of 32 bytes to 1 MiB; a missing file is created. A recovery code is shown once. For 'system', the operating \
      system stores a random secret: in the keychain, or in the Secret Service of a Linux desktop. The vault then \
      opens in your session on this machine without a prompt.
      """,
    arguments: [
      .required("KIND", "the kind of slot", allowed: ["passphrase", "key-file", "recovery", "system"])
    ],
    options: [
      newPassphraseOption,
      .value("new-key-file", "FILE", "the key file; created if missing", completion: .file),
      .value("label", "TEXT", "a label for the slot"),
    ],
    examples: [
      Example("fieldvault key add recovery --label 'in the safe'", "add a recovery code"),
      Example("fieldvault key add key-file --new-key-file job.key", "create job.key and add it"),
      Example("fieldvault key add system --label laptop", "open the vault on this machine without a prompt"),
    ],
    exitCodes: usual + [.noSpace])

  static func run(_ context: CommandContext) throws {
    let kind = try context.arguments.required("KIND")
    try refuseStrayFiles(kind, context)
    let vault = try context.openVault(needsRootKey: true)
    let label = context.arguments.value("label") ?? ""
    switch kind {
    case "passphrase":
      let passphrase = try context.newPassphrase()
      try report(try vault.addSlot(.passphrase(passphrase), label: label), vault, context)
      context.adviseOnStrength(of: passphrase)
    case "key-file":
      try report(try vault.addSlot(.keyFile(try keyFile(context)), label: label), vault, context)
    case "system":
      let slot = try vault.addSystemSlot(in: try SystemSecrets.required(), label: label)
      try report(slot, vault, context)
      context.hint(
        "Any program in your session on this machine can open the vault. Other machines cannot, nor this one after a "
          + "reinstallation: keep a passphrase or a recovery code as well.")
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
        "no key file given", about: "new-key-file", hint: "add --new-key-file FILE; a missing file is created")
    }
    do throws(KeyError) {
      return try KeyFile.read(at: path)
    } catch {
      guard error.code == .notFound else { throw error }
    }
    let content = try KeyFile.create(at: path)
    context.hint("Created \(path). Store it apart from the vault: both together give full access.")
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
      "Added slot \(slot.id), a \(slot.kind.rawValue) slot\(slot.label.isEmpty ? "" : " labelled \(slot.label)").")
    guard let code else { return }
    // Always shown, because it cannot be shown again.
    try context.output.line(code)
    context.hint("Write the code down and store it apart from the vault. It gives full access and is not shown again.")
  }
}

enum KeyRemoveCommand: ProgramCommand {
  static let description = CommandDescription(
    "remove", aliases: ["rm"], summary: "remove a slot, but never the last one",
    arguments: [.required("SLOT", slotHelp, completion: .of(.slot))],
    examples: [
      Example("fieldvault key remove 1f2e3d4c", "revoke a secret"),
      Example("fieldvault key remove 1f2e", "the same, if no other slot begins with these characters"),
    ],
    exitCodes: usual + [.noSpace, .refused])

  static func run(_ context: CommandContext) throws {
    let word = try context.arguments.required("SLOT")
    let vault = try context.openVault(needsRootKey: true)
    let id = try vault.slotID(word)
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
      "Earlier copies of the vault still open with its secret. To protect new data: fieldvault key rotate --root"
    )
    if slots.allSatisfy({ $0.id == id || $0.kind == .system }) {
      context.hint("Only this machine can open the vault now. To prepare for its loss: fieldvault key add recovery")
    }
  }
}

enum KeyPassphraseCommand: ProgramCommand {
  static let description = CommandDescription(
    "passphrase", summary: "change a passphrase",
    discussion: """
      Rewrites one slot immediately. The change does not protect against an attacker who has a copy of the vault and \
      knows the old passphrase; 'key rotate --root' protects new data in that case.
      """,
    options: [
      newPassphraseOption,
      .value(
        "slot", "SLOT", "\(slotHelp) (default: the slot that unlocks the vault)", completion: .of(.slot)),
    ],
    examples: [Example("fieldvault key passphrase", "prompt for the old and the new passphrase")],
    exitCodes: usual + [.noSpace])

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault(needsRootKey: true)
    let id = try slot(vault, context)
    let passphrase = try context.newPassphrase()
    try vault.changePassphrase(ofSlot: id, to: passphrase)
    context.adviseOnStrength(of: passphrase)
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("slot", id)
        json.endObject()
      }
    }
    try context.tell("Changed the passphrase of slot \(id).")
    context.hint("The database key is unchanged. If others have a copy of the vault: fieldvault key rotate --root")
  }

  /// Returns the slot of `--slot`, or the slot that opened the vault, or the only passphrase slot.
  private static func slot(_ vault: Vault, _ context: CommandContext) throws -> String {
    if let word = context.arguments.value("slot") { return try vault.slotID(word) }
    let slots = try vault.slots().filter { $0.kind == .passphrase }
    if slots.contains(where: { $0.id == vault.openedSlotID }) { return vault.openedSlotID }
    if let only = slots.first, slots.count == 1 { return only.id }
    throw context.arguments.mistake(
      slots.isEmpty ? "the vault has no passphrase slot" : "the vault has several passphrase slots", about: "slot",
      hint: slots.isEmpty
        ? "to add one: fieldvault key add passphrase"
        : "select one with --slot: \(slots.map(\.id).joined(separator: ", "))")
  }
}

enum KeyExportCommand: ProgramCommand {
  static let description = CommandDescription(
    "export", summary: "write the database key to a new file, for other programs that read SQLCipher",
    arguments: [.required("FILE", "the file to create, with mode 0600", completion: .file)],
    examples: [Example("fieldvault key export db.key", "write x'64 HEX DIGITS'")],
    exitCodes: usual + [.noSpace])

  static func run(_ context: CommandContext) throws {
    let path = try context.arguments.required("FILE")
    let vault = try context.openVault(needsRootKey: true)
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
    context.hint("The key gives access to the database without any slot until the next 'fieldvault key rotate'.")
  }
}

/// The output of a slot.
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
