import CommandLineKit
import VaultStore

enum OutboxListCommand: ProgramCommand {
  static let description = CommandDescription(
    "list", aliases: ["ls"], summary: "list operations in sending order",
    options: [.flag("all", short: "a", "include operations acknowledged in the last seven days")] + TableOptions.layout,
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
    let times = TimeFormat(context)
    let table = TableOutput(OutboxFormat.table, context)
    try vault.forEachOperation(completed: all) { try table.add(OutboxFormat.cells(of: $0, times)) }
    try table.finish()
    if table.isEmpty { context.hint(all ? "No operations." : "No pending operations.") }
  }
}

enum OutboxShowCommand: ProgramCommand {
  static let description = CommandDescription(
    "show", summary: "show an operation with its payload and base",
    arguments: [
      .required(
        "ID", "the id of an operation from 'outbox list', or at least 4 of its first characters",
        completion: .of(.operation))
    ],
    examples: [Example("fieldvault outbox show 0193... --json", "as JSON")], exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let identifier = try context.identifier("ID", isRecord: false)
    let vault = try context.openVault()
    let (entry, payload) = try vault.operation(try vault.operationID(identifier))
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
      ("priority", OutboxFormat.name(ofPriority: entry.priority)),
      ("status", OutboxFormat.status(of: entry, TimeFormat(context))),
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

enum OutboxRetryCommand: ProgramCommand {
  static let description = CommandDescription(
    "retry", summary: "retry failed operations",
    arguments: [
      .any("ID", "ids of operations, or at least 4 of their first characters", completion: .of(.operation))
    ],
    options: [.flag("all", short: "a", "all failed operations")], choices: [Choice("ID", "all", required: true)],
    examples: [Example("fieldvault outbox retry --all", "after the server was repaired")],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    let identifiers = try context.identifiers("ID", isRecord: false)
    let vault = try context.openVault()
    let ids = try identifiers.map { try vault.operationID($0) }
    let count: Int
    if context.arguments.flag("all") {
      count = try vault.retryAll()
    } else {
      try vault.retry(ids)
      count = ids.count
    }
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("retried", count)
        json.endObject()
      }
    }
    if count == 0 { return try context.tell("No failed operations.") }
    try context.tell("Requeued \(operationsText(count)).")
    context.hint("The next 'fieldvault sync' sends them.")
  }
}

enum OutboxDiscardCommand: ProgramCommand {
  static let description = CommandDescription(
    "discard", aliases: ["rm"], summary: "discard operations and restore the server's version of their records",
    discussion: """
      Each record returns to its last known server version. A record that the server never had is removed with its \
      dependents. Asks first on a terminal.
      """,
    arguments: [
      .oneOrMore("ID", "ids of operations, or at least 4 of their first characters", completion: .of(.operation))
    ],
    options: [.flag("yes", short: "y", "do not ask")],
    examples: [Example("fieldvault outbox discard 0193...", "undo a local change")],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    let identifiers = try context.identifiers("ID", isRecord: false)
    let vault = try context.openVault()
    var ids: [String] = []
    // An operation that is named twice is discarded once.
    for id in try identifiers.map({ try vault.operationID($0) }) where !ids.contains(id) { ids.append(id) }
    // Returns the affected operations before they change, and refuses unknown ids.
    let entries = try ids.map { try vault.operation($0).entry }
    if context.canAsk, !context.arguments.flag("yes") {
      for entry in entries {
        try context.messages.line("  \(entry.operationType) \(entry.entityType) \(entry.entityUuid)")
      }
      let undone =
        entries.count == 1
        ? "Discard this operation? The local change is lost." : "Discard these operations? The local changes are lost."
      guard try context.confirms(undone) else {
        context.exitCode = .failed
        return context.hint("Nothing was discarded.")
      }
    }
    let gone = try vault.discard(ids)
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("discarded", entries.map(\.operationId))
        json.member("records", gone)
        json.endObject()
      }
    }
    for entry in entries {
      try context.tell("Discarded \(entry.operationType) \(entry.entityType) \(entry.entityUuid).")
    }
    if gone > 0 { try context.tell("Removed \(recordsText(gone)) that the server never had.") }
  }
}

enum OutboxFormat {
  static var table: TextTable {
    TextTable(
      ["id", "operation", "priority", "status", "tries", "error", "record"], optional: ["priority", "tries", "record"])
  }

  static func cells(of entry: OutboxEntry, _ times: TimeFormat) -> [String] {
    [
      entry.operationId, "\(entry.operationType) \(entry.entityType)", name(ofPriority: entry.priority),
      status(of: entry, times), entry.retryCount == 0 ? "" : String(entry.retryCount), entry.errorMessage ?? "",
      entry.entityUuid,
    ]
  }

  static func name(ofPriority priority: Int) -> String {
    switch priority {
    case 0: "critical"
    case 1: "high"
    case 2: "medium"
    default: "low"
    }
  }

  static func status(of entry: OutboxEntry, _ times: TimeFormat) -> String {
    if entry.isParked { return "\(entry.status), parked" }
    guard let time = entry.scheduledAt, entry.status == "pending" else { return entry.status }
    return "pending until \(times.clock(time))"
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
