import Platform
import CommandLineKit
import VaultStore

enum AttachVerifyCommand: ProgramCommand {
  static let description = CommandDescription(
    "verify", summary: "check every file against its key and digest",
    discussion: """
      Lists every file that is damaged, missing, orphaned or foreign. Exits with 5 if a file is damaged, missing or \
      encrypted with another key.
      """,
    options: [.flag("fetch", "download damaged and missing files again with the next sync")],
    examples: [
      Example("fieldvault attach verify", "check every file"),
      Example("fieldvault attach verify --fetch", "and download bad files again"),
    ],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault()
    let line = ByteProgressLine("Checking the attachments", context)
    defer { line.finish() }
    let found = try vault.verifyAttachments { line.show(Int(clamping: $0), of: Int(clamping: $1)) }
    line.finish()
    let fetching = context.arguments.flag("fetch") ? try vault.fetchAgain(found.problems) : 0
    let bad = found.problems.filter { [.damaged, .missing, .otherKey].contains($0.kind) }
    if !bad.isEmpty { context.exitCode = .damaged }
    if context.isJSON { return try write(found, fetching, isOK: bad.isEmpty, context) }
    let terminal = context.output.terminal
    for problem in found.problems {
      let names = problem.attachments.map { "\($0.entityType) \($0.uuid) '\($0.fileName ?? "")'" }
      let text = names.isEmpty ? problem.message : "\(problem.message): \(names.joined(separator: ", "))"
      let isBad = bad.contains(problem)
      let mark = terminal.styled(problem.kind.rawValue.replacing("_", with: " "), isBad ? .red : .yellow)
      try context.output.line("\(mark): \(escaped(text))")
    }
    try context.tell(
      "\(countText(found.files)) \(found.files == 1 ? "file" : "files"), \(byteText(found.bytes)): "
        + (bad.isEmpty ? "all intact." : "\(countText(bad.count)) with problems."))
    if fetching > 0 { context.hint("The next 'fieldvault sync' downloads \(countText(fetching)) again.") }
    if found.problems.contains(where: { $0.kind == .orphan }) {
      context.hint("'fieldvault doctor --repair' removes orphans.")
    }
    guard fetching == 0, bad.contains(where: \.serverHasIt) else { return }
    context.hint("To download them again from the server: fieldvault attach verify --fetch")
  }

  private static func write(
    _ found: AttachmentVerification, _ fetching: Int, isOK: Bool, _ context: CommandContext
  ) throws {
    try context.writeJSON { json in
      json.beginObject()
      json.member("ok", isOK)
      json.member("files", found.files)
      json.member("bytes", found.bytes)
      json.member("fetching", fetching)
      json.key("problems")
      json.beginArray()
      for problem in found.problems {
        json.beginObject()
        json.member("kind", problem.kind.rawValue)
        json.member("file", problem.name)
        json.member("message", problem.message)
        json.member("serverHasIt", problem.serverHasIt)
        json.key("attachments")
        json.beginArray()
        for attachment in problem.attachments { try AttachmentFormat.write(attachment, to: &json) }
        json.endArray()
        json.endObject()
      }
      json.endArray()
      json.endObject()
    }
  }
}
