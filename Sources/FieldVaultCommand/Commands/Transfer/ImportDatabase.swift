import CommandLineKit
import Platform
import VaultStore

/// `fieldvault import --from-sqlite`: the records of a database of another program.
enum ImportDatabase {
  static func run(from path: String, _ context: CommandContext) throws {
    for name in ["format", "skip-invalid"] where context.arguments.isGiven(name) {
      throw context.arguments.mistake("--\(name) does not apply to a database", about: name)
    }
    let isDryRun = context.arguments.flag("dry-run")
    let vault = try context.openVault(separatingReads: true)
    let options = try options(context, vault.entities)
    let stop = StopRequest()
    var plan: DatabaseImportPlan?
    var progress: ProgressLine?
    let result: DatabaseImportResult?
    do {
      defer { progress?.clear() }
      result = try vault.importDatabase(at: path, options) { found in
        plan = found
        try tell(found, path, context)
        guard !isDryRun else { return false }
        progress = ProgressLine(
          "Importing \(path)", total: found.rows, unit: .items, terminal: context.messages.terminal,
          isQuiet: context.isQuiet)
        return true
      } progress: { rows in
        try stop.check()
        progress?.advance(by: rows)
      }
    } catch let refused as DatabaseImportRefused {
      if let plan { try write(plan, nil, refused.problems, context) }
      throw refused
    }
    guard let plan else { return }
    try write(plan, result, [], context)
    guard let result else { return try context.tell("Nothing was imported.") }
    for count in result.counts {
      try context.tell("Imported \(countText(count.imported)) \(count.entityType) records.")
    }
    let present = result.counts.reduce(0) { $0 + $1.present }
    if present > 0 { try context.tell("The vault had \(recordsText(present)) already.") }
    let deleted = result.counts.reduce(0) { $0 + $1.deleted }
    if deleted > 0 { try context.tell("Left out \(recordsText(deleted)) that the file marks as deleted.") }
  }

  // MARK: Options

  private static func options(_ context: CommandContext, _ entities: Entities) throws -> DatabaseImportOptions {
    let arguments = context.arguments
    var options = DatabaseImportOptions()
    options.entityType = try arguments.value("ENTITY").map { try entities.entity($0).type }
    options.tables = try arguments.values("table").map { word in
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      if let entity = options.entityType, parts.first != entity || parts.count == 1 { return (entity, word) }
      guard parts.count == 2 else {
        throw arguments.mistake("--table takes ENTITY=TABLE", about: "table", hint: "or name the one ENTITY to import")
      }
      return (parts[0], parts[1])
    }
    options.mapping = try arguments.values("map").flatMap { try ImportCommand.mapping($0, context) }.map {
      field, column in
      let (entity, field) = try owner(of: field, "map", options.entityType, context, entities)
      return (entity, field, column)
    }
    options.constants = try arguments.values("set").map { word in
      let (field, value) = try ImportCommand.assignment(word, "set", context)
      let (entity, name) = try owner(of: field, "set", options.entityType, context, entities)
      return (entity, name, value)
    }
    options.nullText = arguments.value("null")
    options.times = try arguments.value("times", as: NumericTimes.self)
    options.sourceName = arguments.value("source")
    return options
  }

  /// Splits `Room.title`. The entity may be left out if only one is imported.
  private static func owner(
    of field: String, _ option: String, _ chosen: String?, _ context: CommandContext, _ entities: Entities
  ) throws -> (entity: String, field: String) {
    let parts = field.split(separator: ".", maxSplits: 1).map(String.init)
    if parts.count == 2, chosen == nil || entities.all.contains(where: { $0.type == parts[0] }) {
      return (parts[0], parts[1])
    }
    if let chosen { return (chosen, field) }
    throw context.arguments.mistake(
      "--\(option) needs the entity of the field \(field)", about: option,
      hint: "write --\(option) ENTITY.\(field)=..., or name the one ENTITY to import")
  }

  // MARK: Output

  private static func tell(_ plan: DatabaseImportPlan, _ path: String, _ context: CommandContext) throws {
    let kind =
      switch plan.kind {
      case .coreData: "a Core Data store"
      case .grdb: "a GRDB database"
      case .sqlite: "an SQLite database"
      }
    try context.tell(
      "\(path) is \(kind). Rows without a uuid get one that depends on the source name \(plan.sourceName).")
    for table in plan.tables {
      try context.tell(
        "\(table.entityType) from \(table.table), \(countText(table.rows)) \(table.rows == 1 ? "row" : "rows"):")
      let fields = table.fields.map { "\($0.field)=\($0.column)" }.joined(separator: ", ")
      try context.tell("  fields:  " + (fields.isEmpty ? "none" : fields))
      if !table.key.isEmpty { try context.tell("  key:     " + table.key.joined(separator: ", ")) }
      if !table.ignoredColumns.isEmpty {
        try context.tell("  ignored: " + table.ignoredColumns.joined(separator: ", "))
      }
    }
    if !plan.ignoredTables.isEmpty {
      try context.tell("Ignored tables: \(plan.ignoredTables.joined(separator: ", ")).")
    }
    // The plan is readable before the rows are.
    try context.output.flush()
  }

  private static func write(
    _ plan: DatabaseImportPlan, _ result: DatabaseImportResult?, _ problems: [DatabaseImportProblem],
    _ context: CommandContext
  ) throws {
    guard context.isJSON else { return }
    try context.writeJSON { json in
      json.beginObject()
      json.member("kind", plan.kind.rawValue)
      json.member("source", plan.sourceName)
      json.key("entities")
      json.beginArray()
      for table in plan.tables { add(table, result, to: &json) }
      json.endArray()
      json.member("ignoredTables", plan.ignoredTables)
      json.member("files", 0)
      json.key("errors")
      json.beginArray()
      for problem in problems {
        json.beginObject()
        json.member("table", problem.table)
        json.member("row", problem.row)
        json.member("column", problem.column)
        json.member("field", problem.field)
        json.member("message", problem.message)
        json.endObject()
      }
      json.endArray()
      json.endObject()
    }
  }

  private static func add(
    _ table: DatabaseImportPlan.Table, _ result: DatabaseImportResult?, to json: inout JSONWriter
  ) {
    let count = result?.counts.first { $0.entityType == table.entityType }
    json.beginObject()
    json.member("entity", table.entityType)
    json.member("table", table.table)
    json.member("rows", table.rows)
    json.member("imported", count?.imported ?? 0)
    json.member("present", count?.present ?? 0)
    json.member("deleted", count?.deleted ?? 0)
    json.key("fields")
    json.beginObject()
    for (field, column) in table.fields { json.member(field, column) }
    json.endObject()
    json.member("ignoredColumns", table.ignoredColumns)
    json.endObject()
  }
}

extension DatabaseImportRefused {
  /// The lines of the message.
  var summary: [String] {
    let rows = problemCount == 1 ? "one value is invalid" : "\(countText(problemCount)) values are invalid"
    var lines = ["nothing was imported: \(rows)"]
    lines += problems.prefix(10).map { problem in
      let place = [problem.table, "row \(problem.row)"] + (problem.column.map { ["column \($0)"] } ?? [])
      return
        "  \(place.joined(separator: ", ")): \(problem.field.map { "\($0) \(problem.message)" } ?? problem.message)"
    }
    if problemCount > 10 { lines.append("  and \(countText(problemCount - 10)) more") }
    return lines
  }

  /// The remedy.
  var advice: String {
    "correct a copy of the file, choose other columns with --map, or give values with --set; "
      + "--times \(NumericTimes.allCases.map(\.rawValue).joined(separator: "|")) says which times numbers mean"
  }
}
