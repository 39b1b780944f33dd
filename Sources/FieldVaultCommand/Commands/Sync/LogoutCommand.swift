import CommandLineKit
import VaultStore

enum LogoutCommand: ProgramCommand {
  static let description = CommandDescription(
    "logout", group: "Sync", summary: "delete the token, after listing unsent work",
    discussion: """
      Unsent changes stay in the vault and are sent after the next login to the same account. Unreferenced reference \
      data is removed and fetched again after the next login. If there are unsent changes, the command asks first; \
      without a terminal it requires --yes.
      """,
    options: [.flag("yes", short: "y", "log out even if there are unsent changes")],
    examples: [Example("fieldvault logout", "log out at the end of a job")],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault()
    let unsent = try vault.status().entities.filter { $0.dirty > 0 }
    let files = try vault.attachmentUsage().waiting
    var parts = unsent.map { "\(countText($0.dirty)) \($0.entityType)" }
    if files > 0 { parts.append(filesText(files)) }
    let names = parts.joined(separator: ", ")
    if !parts.isEmpty, !context.arguments.flag("yes") {
      guard context.canAsk else {
        throw VaultError(
          .refused, "unsent changes: \(names)",
          hint: "run 'fieldvault sync', or log out with --yes: unsent changes stay here until the next login")
      }
      try context.messages.line("Unsent changes: \(names). They stay here and are sent after the next login.")
      guard try context.confirms("Log out?") else {
        context.exitCode = .failed
        return context.hint("Still logged in.")
      }
    }
    let cleared = try vault.logout()
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("cleared", cleared)
        json.key("unsent")
        json.beginArray()
        for entity in unsent {
          json.beginObject()
          json.member("entityType", entity.entityType)
          json.member("records", entity.dirty)
          json.endObject()
        }
        json.endArray()
        json.member("unsentFiles", files)
        json.endObject()
      }
    }
    try context.tell("Logged out." + (parts.isEmpty ? "" : " Unsent changes: \(names)."))
    if cleared > 0 {
      try context.tell("Removed \(recordsText(cleared)) of reference data; the next login fetches them again.")
    }
    if let url = try vault.remote()?.url { context.hint("To log in: fieldvault remote set \(url) --token-file FILE") }
  }
}
