import Platform
import CommandLineKit
import VaultStore
import VaultKeys

enum KeyRotateCommand: ProgramCommand {
  static let description = CommandDescription(
    "rotate", summary: "re-encrypt the database with a new key",
    discussion: """
      Requires as much free space as the size of the database. No other process may have the vault open. After an \
      interruption the vault is complete, with the old key or the new one, and the next command removes the leftovers. \
      Earlier backups and copies keep the old key and open with their own slots. --root also replaces the root key: \
      only slots whose secrets are given remain valid. The other slots are listed, and removed with --yes.
      """,
    options: [
      .flag("root", "also replace the root key"),
      .flag("dry-run", "show the plan without changing the vault"),
      .flag("yes", short: "y", "remove slots whose secrets are not given"),
      .value(
        "also-passphrase-file", "FILE", "with --root: the passphrase of another slot to keep", repetition: .each,
        completion: .file),
      .value(
        "also-key-file", "FILE", "with --root: the key file of another slot to keep", repetition: .each,
        completion: .file),
      .value(
        "also-recovery-file", "FILE", "with --root: the recovery code of another slot to keep",
        repetition: .each, completion: .file),
      .flag("also-system", "with --root: keep the system slot"),
    ],
    examples: [
      Example("fieldvault key rotate --dry-run", "show the required space and processes that block the rotation"),
      Example("fieldvault key rotate --root --also-key-file job.key", "keep the passphrase and the key file"),
    ],
    exitCodes: usual + [.noSpace, .refused])

  static func run(_ context: CommandContext) throws {
    let secret = try context.secret()
    let vault = try context.openVault(with: secret)
    let kind: RotationKind =
      context.arguments.flag("root") ? .rootKey(keeping: [secret] + (try context.furtherSecrets())) : .databaseKey
    let plan = try vault.planRotation(kind)
    if context.arguments.flag("dry-run") { return try tell(plan, context, isDone: false) }
    try refuseUnconfirmed(plan, context)
    let progress = RotationLine(context)
    let done: RotationPlan
    do {
      done = try vault.rotateKey(kind) { progress.show($0) }
    } catch {
      progress.clear()
      throw error
    }
    progress.clear()
    try context.forgetSystemSecrets(of: done.droppedSlots, vault)
    try tell(done, context, isDone: true)
    context.hint("Earlier backups and copies keep the old key and open with their own slots.")
  }

  private static func refuseUnconfirmed(_ plan: RotationPlan, _ context: CommandContext) throws {
    guard !plan.droppedSlots.isEmpty, !context.arguments.flag("yes") else { return }
    let names = plan.droppedSlots.map(name).joined(separator: ", ")
    throw VaultError(
      .refused, "a new root key would remove the slots whose secrets are not given: \(names)",
      hint:
        "give them with --also-passphrase-file, --also-key-file, --also-recovery-file or --also-system, or remove the "
        + "slots with --yes")
  }

  private static func tell(_ plan: RotationPlan, _ context: CommandContext, isDone: Bool) throws {
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("generation", isDone ? plan.nextGeneration : plan.generation)
        json.member("databaseBytes", plan.databaseBytes)
        json.member("neededBytes", plan.neededBytes)
        json.member("freeBytes", plan.freeBytes)
        for (key, slots) in [("kept", plan.keptSlots), ("dropped", plan.droppedSlots)] {
          json.key(key)
          json.beginArray()
          for slot in slots { json.value(slot.id) }
          json.endArray()
        }
        json.key("heldBy")
        json.beginArray()
        for holder in plan.otherHolders { json.value(holder) }
        json.endArray()
        json.endObject()
      }
    }
    if isDone {
      let slots = plan.keptSlots.count == 1 ? "The slot remains" : "\(plan.keptSlots.count) slots remain"
      try context.tell("Re-encrypted the database as generation \(plan.nextGeneration). \(slots) valid.")
    } else {
      try context.tell("Would re-encrypt \(byteText(plan.databaseBytes)) as generation \(plan.nextGeneration).")
      try context.tell(
        "Requires \(byteText(plan.neededBytes)) of free space; \(byteText(plan.freeBytes)) are free."
          + (plan.freeBytes < plan.neededBytes ? " More space is required." : ""))
      for holder in plan.otherHolders { try context.tell("Would be refused: the vault is open in \(holder).") }
    }
    for slot in plan.droppedSlots { try context.tell("\(isDone ? "Removed" : "Would remove") slot \(name(of: slot)).") }
  }

  private static func name(of slot: KeySlot) -> String {
    "\(slot.id) (\(slot.kind.rawValue)\(slot.label.isEmpty ? "" : ", \(slot.label)"))"
  }
}

/// The progress of a rotation on a terminal.
private final class RotationLine {
  private let context: CommandContext
  private let copying: ByteProgressLine
  private var comparing: ProgressLine?
  private var rows = 0

  init(_ context: CommandContext) {
    self.context = context
    copying = ByteProgressLine("Re-encrypting the database", context)
  }

  func show(_ step: RotationProgress) {
    switch step {
    case .copying(let done, let total):
      copying.show(done, of: total)
    case .checking:
      copying.finish()
    case .comparing(let rows):
      let line =
        comparing
        ?? ProgressLine("Comparing rows", terminal: context.messages.terminal, isQuiet: context.isQuiet)
      comparing = line
      line.advance(by: rows - self.rows)
      self.rows = rows
    }
  }

  func clear() {
    copying.finish()
    comparing?.finish()
  }
}
