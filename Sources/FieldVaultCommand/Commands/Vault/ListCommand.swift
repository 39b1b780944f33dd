import CipherSQL
import CommandLineKit
import VaultStore

enum ListCommand: ProgramCommand {
  static let description = CommandDescription(
    "list", aliases: ["ls"], group: "Records", summary: "list records of an entity",
    arguments: [entityArgument],
    options: [
      .value("where", "SQL", short: "w", "only records that match an SQL expression"),
      .value("order", "FIELD[:desc]", short: "o", "the sort order; may be repeated", repetition: .list),
      .value("limit", "N", short: "n", "at most this many"),
      .flag("deleted", "include deleted records"),
    ],
    examples: [
      Example("fieldvault list AtmosphericLog --where 'relativeHumidity > 90' --order date:desc -n 10", ""),
      Example("fieldvault ls Room --json", "list all rooms as JSON"),
    ],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    var selection = RecordSelection()
    selection.condition = context.arguments.value("where")
    selection.order = try context.arguments.values("order").map { try order($0, context) }
    selection.limit = try context.arguments.integer("limit", in: 0...)
    selection.includesDeleted = context.arguments.flag("deleted")
    let vault = try context.openVault()
    let entity = try vault.entities.entity(try context.arguments.required("ENTITY"))
    try sayHowOld(entity, vault, context)
    let format = RowFormat(entity)
    try vault.database.read { connection in
      let reader = RecordReader(connection)
      if context.isJSON {
        var json = JSONWriter(for: context.output)
        json.beginArray()
        try reader.forEach(entity, selection) { row in
          try format.write(row, to: &json)
          try json.drain(to: context.output)
        }
        json.endArray()
        json.endDocument()
        try json.drain(to: context.output)
      } else {
        try table(reader, entity, selection, format, context)
      }
      try context.adviseOnCache(connection)
    }
  }

  /// Prints the age of the records of a server-owned entity, or a hint if no records were fetched yet.
  private static func sayHowOld(_ entity: Entity, _ vault: Vault, _ context: CommandContext) throws {
    guard vault.isReferenceData(entity), try vault.remote() != nil else { return }
    do {
      let state = try vault.fetched(entity)
      context.note("Cached data from \(RelativeTime.ago(state.fetchedAt.sqlText)).")
      if let problem = state.problem { context.note("The data is incomplete: \(problem)") }
    } catch let error as VaultError {
      guard error.code == .notFetched else { throw error }
      context.note(
        "No cached data for \(entity.type) on this device yet: connect to a network and sync once.")
    }
  }

  private static func order(_ word: String, _ context: CommandContext) throws -> (field: String, isDescending: Bool) {
    let parts = word.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard parts.count <= 2, parts.count == 1 || ["asc", "desc"].contains(parts[1]) else {
      throw context.arguments.mistake("--order takes FIELD, FIELD:asc or FIELD:desc", about: "order")
    }
    return (parts[0], parts.count == 2 && parts[1] == "desc")
  }

  /// Prints a table for users: the columns of the entity without the common fields. Only some screenfuls of rows are
  /// aligned together, so that a long list needs constant memory.
  private static func table(
    _ reader: RecordReader, _ entity: Entity, _ selection: RecordSelection, _ format: RowFormat,
    _ context: CommandContext
  ) throws {
    let hidden: Set<String> = [
      "serverId", "createdAt", "updatedAt", "lastSyncedAt", "syncVersion", "isDirty", "isDeleted",
    ]
    let shown = format.columns.indices.filter { !hidden.contains(format.columns[$0].name) }
    var rows = TextTable(shown.map { format.columns[$0].name })
    var waiting = 0
    try reader.forEach(entity, selection) { row in
      rows.add(try format.cells(row, of: shown))
      waiting += 1
      if waiting == 500 {
        try context.output.write(rows.text(for: context.output.terminal))
        rows = TextTable(shown.map { format.columns[$0].name })
        waiting = 0
      }
    }
    if waiting > 0 { try context.output.write(rows.text(for: context.output.terminal)) }
  }
}
