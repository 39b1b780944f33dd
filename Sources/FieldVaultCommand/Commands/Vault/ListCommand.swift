import CipherSQL
import CommandLineKit
import VaultStore

enum ListCommand: ProgramCommand {
  static let description = CommandDescription(
    "list", aliases: ["ls"], group: "Records", summary: "records of one kind",
    arguments: [entityArgument],
    options: [
      .value("where", "SQL", short: "w", "an SQL expression; only records for which it is true"),
      .value("order", "FIELD[:desc]", short: "o", "the order; may be repeated", repetition: .list),
      .value("limit", "N", short: "n", "at most this many"),
      .flag("deleted", "deleted records, too"),
    ],
    examples: [
      Example("fieldvault list AtmosphericLog --where 'relativeHumidity > 90' --order date:desc -n 10", ""),
      Example("fieldvault ls Room --json", "all rooms for a program"),
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

  /// For server-owned entities: the age of the records, or that none was ever fetched.
  private static func sayHowOld(_ entity: Entity, _ vault: Vault, _ context: CommandContext) throws {
    guard vault.isReferenceData(entity), try vault.remote() != nil else { return }
    do {
      let state = try vault.fetched(entity)
      context.note("Cached data of \(RelativeTime.ago(state.fetchedAt.sqlText)).")
      if let problem = state.problem { context.note("Not all of it could be read: \(problem)") }
    } catch let error as VaultError {
      guard error.code == .notFetched else { throw error }
      context.note(
        "There is no cached data of \(entity.type) on this device yet: connect to the network and sync once.")
    }
  }

  private static func order(_ word: String, _ context: CommandContext) throws -> (field: String, isDescending: Bool) {
    let parts = word.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard parts.count <= 2, parts.count == 1 || ["asc", "desc"].contains(parts[1]) else {
      throw context.arguments.mistake("an order is FIELD, FIELD:asc or FIELD:desc", about: "order")
    }
    return (parts[0], parts.count == 2 && parts[1] == "desc")
  }

  /// For users: the columns of the entity without the common fields. Only some screenfuls of rows are aligned
  /// together, so that a long list needs constant memory.
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
