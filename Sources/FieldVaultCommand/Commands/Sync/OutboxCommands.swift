import CommandLineKit
import VaultStore

enum OutboxListCommand: ProgramCommand {
  static let description = CommandDescription(
    "list", aliases: ["ls"], summary: "list operations in sending order",
    options: [.flag("all", short: "a", "include operations acknowledged in the last seven days")],
    examples: [
      Example("fieldvault outbox list", "unfinished operations"),
      Example("fieldvault outbox ls --json", "as JSON"),
    ],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault()
    let all = context.arguments.flag("all")
    if context.isJSON {
      var json = JSONWriter(for: context.output)
      json.beginArray()
      try vault.forEachOperation(completed: all) { entry in
        json.beginObject()
        OutboxFormat.members(of: entry, &json)
        json.endObject()
        try json.drain(to: context.output)
      }
      json.endArray()
      json.endDocument()
      return try json.drain(to: context.output)
    }
    let terminal = context.output.terminal
    var table = OutboxFormat.table(for: terminal)
    var count = 0
    try vault.forEachOperation(completed: all) { entry in
      table.add(OutboxFormat.cells(of: entry, for: terminal))
      count += 1
      // Aligned up to a few screenfuls, so that a long queue needs no long memory.
      guard count % 500 == 0 else { return }
      try context.output.write(table.text(for: terminal))
      table = OutboxFormat.table(for: terminal)
    }
    if !table.isEmpty { try context.output.write(table.text(for: terminal)) }
    if count == 0 { context.hint(all ? "No operations." : "No pending operations.") }
  }
}

enum OutboxShowCommand: ProgramCommand {
  static let description = CommandDescription(
    "show", summary: "show an operation with its payload and base",
    arguments: [.required("ID", "the id of an operation from 'outbox list'")],
    examples: [Example("fieldvault outbox show 0193... --json", "as JSON")], exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault()
    let (entry, payload) = try vault.operation(try context.arguments.required("ID"))
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        OutboxFormat.members(of: entry, &json)
        try json.member("payload", json: payload)
        json.endObject()
      }
    }
    let lines: [(String, String?)] = [
      ("operation", "\(entry.operationType) \(entry.entityType)"), ("record", entry.entityUuid),
      ("priority", OutboxFormat.name(ofPriority: entry.priority)), ("status", OutboxFormat.status(of: entry)),
      ("tries", entry.retryCount == 0 ? nil : String(entry.retryCount)), ("error", entry.errorMessage),
      ("queued", RelativeTime.ago(entry.createdAt)), ("last sent", entry.lastAttemptAt.map { RelativeTime.ago($0) }),
    ]
    for (title, text) in lines {
      guard let text else { continue }
      let padded = title + String(repeating: " ", count: 11 - title.count)
      try context.output.line(context.output.terminal.styled(padded, .bold) + escaped(text))
    }
    guard let payload else { return try context.output.line("No payload.") }
    var json = JSONWriter(pretty: true)
    json.beginObject()
    try json.member(entry.status == "completed" ? "sent" : "payload", json: payload)
    json.endObject()
    json.endDocument()
    try context.output.write(json.takeBytes())
    if entry.status == "failed" {
      context.hint("Change the record, or: fieldvault outbox retry \(entry.operationId), fieldvault outbox discard ...")
    }
  }
}

enum OutboxFormat {
  /// The form of the outbox: on a narrow terminal only the most important columns, so that ids can be copied.
  static func table(for terminal: Terminal) -> TextTable {
    TextTable(
      isNarrow(terminal)
        ? ["id", "operation", "status", "error"]
        : ["id", "operation", "priority", "status", "tries", "error", "record"], whole: ["id"])
  }

  static func cells(of entry: OutboxEntry, for terminal: Terminal) -> [String] {
    let operation = "\(entry.operationType) \(entry.entityType)"
    if isNarrow(terminal) { return [entry.operationId, operation, status(of: entry), entry.errorMessage ?? ""] }
    return [
      entry.operationId, operation, name(ofPriority: entry.priority), status(of: entry),
      entry.retryCount == 0 ? "" : String(entry.retryCount), entry.errorMessage ?? "", entry.entityUuid,
    ]
  }

  static func isNarrow(_ terminal: Terminal) -> Bool { terminal.isTerminal && terminal.width < 130 }

  static func name(ofPriority priority: Int) -> String {
    switch priority {
    case 0: "critical"
    case 1: "high"
    case 2: "medium"
    default: "low"
    }
  }

  static func status(of entry: OutboxEntry) -> String {
    if entry.isParked { return "\(entry.status), parked" }
    guard let time = entry.scheduledAt, entry.status == "pending" else { return entry.status }
    return "pending until \(RelativeTime.short(time).suffix(8))"
  }

  static func members(of entry: OutboxEntry, _ json: inout JSONWriter) {
    json.member("operationId", entry.operationId)
    json.member("entityType", entry.entityType)
    json.member("entityUuid", entry.entityUuid)
    json.member("operationType", entry.operationType)
    json.member("priority", entry.priority)
    json.member("status", entry.status)
    json.member("retryCount", entry.retryCount)
    json.member("errorMessage", entry.errorMessage)
    json.member("createdAt", entry.createdAt)
    json.member("scheduledAt", entry.scheduledAt)
    json.member("lastAttemptAt", entry.lastAttemptAt)
    json.member("parked", entry.isParked)
  }
}
