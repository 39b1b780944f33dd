import CommandLineKit
import VaultStore

enum OutboxRetryCommand: ProgramCommand {
  static let description = CommandDescription(
    "retry", summary: "retry failed operations",
    arguments: [.any("ID", "ids of operations")],
    options: [.flag("all", short: "a", "all failed operations")], choices: [Choice("ID", "all", required: true)],
    examples: [Example("fieldvault outbox retry --all", "after the server was repaired")],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    let ids = context.arguments.values("ID")
    let vault = try context.openVault()
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
    arguments: [.oneOrMore("ID", "ids of operations")],
    options: [.flag("yes", short: "y", "do not ask")],
    examples: [Example("fieldvault outbox discard 0193...", "undo a local change")],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    var ids: [String] = []
    // The same one named twice is one.
    for id in context.arguments.values("ID") where !ids.contains(id) { ids.append(id) }
    let vault = try context.openVault()
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
