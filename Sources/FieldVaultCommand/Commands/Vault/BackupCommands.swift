import Platform
import CommandLineKit
import VaultStore

enum BackupCommand: ProgramCommand {
  static let description = CommandDescription(
    "backup", group: "Vault", summary: "back up the vault to one encrypted file, even while it is in use",
    discussion: """
      The backup is a consistent snapshot of the database, the keyring and the encrypted files. It opens with the \
      slots that the vault has at that time, even if they change later. An older backup of the same name is replaced \
      once the new one is complete; other files are never overwritten. For scheduled backups, use --quiet and check \
      the exit code.
      """,
    arguments: [.required("FILE", "the backup to write", completion: .file)],
    examples: [Example("fieldvault backup --quiet /mnt/stick/job.backup", "back up from cron")],
    exitCodes: usual + [.noSpace])

  static func run(_ context: CommandContext) throws {
    let path = try context.arguments.required("FILE")
    let vault = try context.openVault(outdated: .leave, needsRootKey: true)
    let line = ByteProgressLine("Writing the backup", context)
    defer { line.finish() }
    let bytes = try vault.backUp(to: path) { line.show($0, of: $1) }
    line.finish()
    try BackupReport.write(path, bytes, context)
    try context.tell("Backed up \(try context.vaultPath()) to \(path), \(byteText(bytes)).")
    context.hint("The backup opens with the current slots of the vault. A later 'key rotate' does not change it.")
  }
}

enum RestoreCommand: ProgramCommand {
  static let description = CommandDescription(
    "restore", group: "Vault", summary: "restore a vault from a backup",
    discussion: """
      Creates the folder of --vault, which must not exist. The folder appears after the whole backup has been \
      verified. Unlock the backup with a secret that was valid when it was created.
      """,
    arguments: [.required("FILE", "the backup", completion: .file)],
    examples: [Example("fieldvault restore /mnt/stick/job.backup --vault job.vault", "restore on a new machine")],
    exitCodes: usual + [.noSpace])

  static func run(_ context: CommandContext) throws {
    let path = try context.arguments.required("FILE")
    let target = try context.vaultPath()
    let line = ByteProgressLine("Restoring", context)
    defer { line.finish() }
    var bytes = 0
    try Vault.restore(path, to: target, with: try context.secret { try Vault.keyring(ofBackup: path) }) { step in
      switch step {
      case .writing(let done, let total):
        bytes = total
        line.show(done, of: total)
      case .checking: line.finish()
      }
    }
    line.finish()
    try BackupReport.write(path, bytes, context)
    try context.tell("Restored \(path) to \(target) and verified it.")
  }
}

private enum BackupReport {
  static func write(_ path: String, _ bytes: Int, _ context: CommandContext) throws {
    guard context.isJSON else { return }
    try context.writeJSON { json in
      json.beginObject()
      json.member("file", path)
      json.member("bytes", bytes)
      json.endObject()
    }
  }
}

/// The progress of something that is counted in bytes.
final class ByteProgressLine {
  private let line: ProgressLine
  private var done = 0

  init(_ what: String, _ context: CommandContext) {
    line = ProgressLine(what, unit: .bytes, terminal: context.messages.terminal, isQuiet: context.isQuiet)
  }

  func show(_ done: Int, of total: Int) {
    line.setTotal(total)
    line.advance(by: done - self.done)
    self.done = done
  }

  func finish() { line.finish() }
}
