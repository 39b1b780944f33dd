import CipherSQL
import CommandLineKit
import VaultStore

enum SearchCommand: ProgramCommand {
  static let description = CommandDescription(
    "search", group: "Questions", summary: "search the full text of records",
    discussion: "Finds records that contain all the words. The last word may be a prefix.",
    arguments: [.required("TEXT", "the words")],
    options: [
      .value("entity", "ENTITY", "only records of this entity"),
      .value("limit", "N", short: "n", "at most this many", default: "50"),
    ],
    examples: [Example("fieldvault search 'wet base'", "find 'wet baseboard'")],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let text = try context.arguments.required("TEXT")
    let limit = try context.arguments.integer("limit", in: 1...) ?? 50
    let vault = try context.openVault()
    let entity = try context.arguments.value("entity").map { try vault.entities.entity($0) }
    let results = try vault.database.read { connection in
      try Search(connection, entities: vault.entities).find(text, in: entity, limit: limit)
    }
    if context.isJSON {
      var json = JSONWriter(for: context.output)
      json.beginArray()
      for result in results {
        json.beginObject()
        json.member("entityType", result.entityType)
        json.member("uuid", result.uuid.sqlText)
        json.member("snippet", result.snippet)
        try json.member("rank", result.rank)
        json.endObject()
      }
      json.endArray()
      json.endDocument()
      return try json.drain(to: context.output)
    }
    if results.isEmpty { return context.hint("No matches.") }
    var table = TextTable(["entity", "uuid", "found"])
    for result in results { table.add([result.entityType, result.uuid.sqlText, result.snippet]) }
    try context.output.write(table.text(for: context.output.terminal))
  }
}
