import CommandLineKit
import Platform
import ServerStorage

enum AuditListCommand {
  static func run(_ context: CommandContext) throws {
    let since = try context.time(of: "since")
    let limit = try context.arguments.integer("limit", in: 1...1_000_000) ?? 100
    let entries = try context.withDirectory(isCreating: false) { try $0.auditLog(since: since, atMost: limit) }
    guard context.isJSON else { return try writeTable(entries, context) }
    try context.writeJSON { json in
      json.beginArray()
      for entry in entries {
        json.beginObject()
        json.member("number", Int(entry.number))
        json.member("time", TimestampText.text(entry.time))
        json.member("actor", entry.actor)
        json.member("action", entry.action)
        json.member("user", entry.user)
        json.member("details", entry.details)
        json.endObject()
      }
      json.endArray()
    }
  }

  private static func writeTable(_ entries: [AuditEntry], _ context: CommandContext) throws {
    if entries.isEmpty { return context.note("no entries") }
    var table = TextTable(["time", "actor", "action", "user", "details"])
    for entry in entries {
      table.add([TimestampText.text(entry.time), entry.actor, entry.action, entry.user ?? "", entry.details])
    }
    try context.output.write(table.text(for: context.output.terminal))
  }
}
