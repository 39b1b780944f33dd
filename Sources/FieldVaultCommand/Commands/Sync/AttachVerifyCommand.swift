import CommandLineKit
import VaultStore

enum AttachVerifyCommand: ProgramCommand {
  static let description = CommandDescription(
    "verify", summary: "read every file and check it against its key and its digest",
    discussion: """
      Names each file that is damaged, missing, of no record, or no part of a vault. Ends with 5 when a file is \
      damaged or missing.
      """,
    options: [.flag("fetch", "have what the server has fetched again with the next sync")],
    examples: [
      Example("fieldvault attach verify", "is every photo whole?"),
      Example("fieldvault attach verify --fetch", "and where not, from the server again"),
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
        + (bad.isEmpty ? "every one is what was taken in." : "\(countText(bad.count)) not as taken in."))
    if fetching > 0 { context.hint("\(countText(fetching)) will be fetched again with the next 'fieldvault sync'.") }
    if found.problems.contains(where: { $0.kind == .orphan }) {
      context.hint("'fieldvault doctor --repair' removes orphans.")
    }
    guard fetching == 0, bad.contains(where: \.serverHasIt) else { return }
    context.hint("The server has some of them: fieldvault attach verify --fetch")
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
