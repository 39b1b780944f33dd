import CommandLineKit
import VaultStore

enum LogoutCommand: ProgramCommand {
  static let description = CommandDescription(
    "logout", group: "Sync", summary: "forget the token, after naming what is not sent",
    discussion: """
      What is not sent stays in the vault and is sent when a member of the same account logs in. Reference data that \
      nothing points to goes, and comes back with the next login. Where something is not sent it asks first; without \
      a terminal it wants --yes.
      """,
    options: [.flag("yes", short: "y", "also when something is not sent")],
    examples: [Example("fieldvault logout", "at the end of the job")],
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
          .refused, "not sent: \(names)",
          hint: "fieldvault sync, or log out with --yes: they stay here, and are sent after the next login")
      }
      try context.messages.line("Not sent: \(names). They stay here, and are sent after the next login.")
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
    try context.tell("Logged out." + (parts.isEmpty ? "" : " Not sent: \(names)."))
    if cleared > 0 {
      try context.tell("\(recordsText(cleared)) of reference data went, and come back with the next login.")
    }
    if let url = try vault.remote()?.url { context.hint("To log in: fieldvault remote set \(url) --token-file FILE") }
  }
}
