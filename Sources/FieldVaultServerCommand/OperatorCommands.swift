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

enum InspectCommand {
  static func run(_ context: CommandContext) throws {
    let address = try address(context)
    let key = try context.withDirectory(isCreating: false) { try $0.addOperatorLink() }
    let url = "http://\(address)/open?key=\(key)"
    let minutes = OperatorSession.linkLifetime / 60_000
    guard context.isJSON else {
      try context.output.line(url)
      return context.note("Open the link in a browser within \(minutes) minutes. It works once, while the server runs.")
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("url", url)
      json.endObject()
    }
  }

  /// Returns the address for a browser on this machine. A server that listens on all addresses is reached on the loopback address.
  private static func address(_ context: CommandContext) throws -> String {
    guard let listen = context.arguments.value("admin-listen") else {
      throw context.arguments.mistake(
        "the operator's address of the server is not named", about: "admin-listen", .missingValue,
        hint: "give --admin-listen HOST:PORT as for 'serve', or a configuration file, --config FILE")
    }
    let parts = listen.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count > 1, let port = parts.last.flatMap({ UInt16($0) }), port > 0 else {
      throw context.arguments.mistake(
        "'\(listen)' names no port of a running server", about: "admin-listen",
        hint: "give the address that the server has printed as 'metrics on'")
    }
    switch listen.dropLast(String(port).count + 1) {
    case "", "0.0.0.0": return "127.0.0.1:\(port)"
    case "[::]": return "[::1]:\(port)"
    default: return listen
    }
  }
}
