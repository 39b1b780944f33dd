import CipherSQL
import CommandLineKit
import VaultStore

enum ListCommand: ProgramCommand {
  static let description = CommandDescription(
    "list", aliases: ["ls"], group: "Records", summary: "list records of an entity",
    discussion: """
      A table on a terminal shortens long text, then leaves out columns without a value, and shows one field a line if \
      it still does not fit. Ids, numbers and dates are never shortened. In a file or a pipe nothing is shortened. The \
      table has the fields of the entity without the common fields; --columns selects others.
      """,
    arguments: [entityArgument],
    options: [
      .value("where", "SQL", short: "w", "only records that match an SQL expression"),
      .value("order", "FIELD[:desc]", short: "o", "the sort order", repetition: .list, completion: .of(.field)),
      .value("limit", "N", short: "n", "at most this many"),
      .flag("deleted", "include deleted records"),
      TableOptions.columns, TableOptions.format,
    ] + TableOptions.layout,
    examples: [
      Example(
        "fieldvault list AtmosphericLog --where 'relativeHumidity > 90' --order date:desc -n 10",
        "the ten latest humid readings"),
      Example("fieldvault ls Room --json", "list all rooms as JSON"),
      Example("fieldvault list Room --columns uuid,title,updatedAt --local", "three fields, times in local time"),
      Example("fieldvault list Room --format csv > rooms.csv", "as a CSV file"),
    ],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    var selection = RecordSelection()
    selection.condition = context.arguments.value("where")
    selection.order = try context.arguments.values("order").map { try order($0, context) }
    selection.limit = try context.arguments.integer("limit", in: 0...)
    selection.includesDeleted = context.arguments.flag("deleted")
    let names = try context.namedColumns()
    let isCSV = try context.isCSV()
    let vault = try context.openVault()
    let entity = try vault.entities.entity(try context.arguments.required("ENTITY"))
    try sayHowOld(entity, vault, context)
    if let condition = selection.condition {
      for field in ConditionText(condition).textsComparedWithNumbers(entity) {
        context.hint(
          "\(field) is text and is compared as text, so that '9' is greater than '10'. As a number: CAST(\(field) AS REAL)"
        )
      }
    }
    var format = RowFormat(entity)
    if let names {
      try format.show(only: names, of: entity.type)
    } else if !context.isJSON, !isCSV {
      format.hide(hidden)
    }
    try vault.database.read { connection in
      let reader = RecordReader(connection)
      try RowOutput.write(format, isCSV: isCSV, hasNames: names != nil, context) { take in
        try reader.forEach(entity, selection, take)
      }
      try context.adviseOnCache(connection)
    }
  }

  /// The common fields that a table shows only on request.
  private static let hidden: Set<String> = [
    "serverId", "createdAt", "updatedAt", "lastSyncedAt", "syncVersion", "isDirty", "isDeleted",
  ]

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
}

/// Writes the rows of a command as JSON, CSV or a table.
enum RowOutput {
  /// - Parameters:
  ///   - hasNames: whether the user has named the columns, so that columns without a value are shown too.
  ///   - rows: calls a closure with each row.
  static func write(
    _ format: RowFormat, isCSV: Bool, hasNames: Bool, _ context: CommandContext,
    rows: ((borrowing Row) throws -> Void) throws -> Void
  ) throws {
    if context.isJSON {
      var json = JSONWriter(for: context.output)
      json.beginArray()
      try rows { row in
        try format.write(row, to: &json)
        try json.drain(to: context.output)
      }
      json.endArray()
      json.endDocument()
      return try json.drain(to: context.output)
    }
    if isCSV {
      try CSVFormat.write(format.shown.map { format.columns[$0].name }, to: context.output)
      return try rows { row in try CSVFormat.write(try format.cells(row), to: context.output) }
    }
    var format = format
    format.isLocal = context.arguments.flag("local")
    let table = TextTable(format.titles, optional: hasNames ? [] : ["syncStatus"])
    let output = TableOutput(table, keepsEmptyColumns: hasNames, context)
    try rows { row in try output.add(try format.cells(row)) }
    try output.finish()
    if output.isEmpty { context.hint("No rows.") }
  }
}
