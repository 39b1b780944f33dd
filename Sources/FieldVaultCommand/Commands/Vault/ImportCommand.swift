import Platform
import CipherSQL
import CommandLineKit
import VaultStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

enum ImportCommand: ProgramCommand {
  static let description = CommandDescription(
    "import", group: "Records",
    summary: "import records from a CSV, NDJSON or JSON file, an exported folder, or a database",
    discussion: """
      The format is determined by the extension (.csv, .ndjson, .jsonl, .json) or by --format. Columns with the name \
      of a field are imported; --map assigns the others. Without --map, an unknown column is an error; with --map, \
      unknown columns are ignored and listed. Either all rows are imported or none, unless --skip-invalid is given. \
      An empty value is NULL. --map roomId.title=origin looks up the referenced record by one of its columns.

      With --all, a folder of 'fieldvault export --all' or 'fieldvault account export' is imported into a vault with the same schemas: all records \
      with their uuids and times, and all files, or nothing. A record that the vault has with the same values is left alone. Another \
      version of a record refuses the import.

      With --from-sqlite, records are imported from a file of SQLite, GRDB or Core Data that is not encrypted: all tables whose \
      names match entities, or the table of one ENTITY. The plan is printed first; --dry-run prints it only. References become \
      references to the imported records. Rows without a uuid get the same one in each import, so that an import can be repeated. \
      Columns and tables without a match are listed, and --map and --table assign them. The file stays unchanged.
      """,
    arguments: [
      .optional("ENTITY", entityArgument.help, completion: .of(.entity)),
      .optional("FILE", "the file; - is standard input", completion: .file),
    ],
    options: [
      .value("all", "DIR", "import an exported folder", completion: .folder),
      .value("from-sqlite", "FILE", "import a database of SQLite, GRDB or Core Data", completion: .file),
      .value(
        "map", "FIELD=COLUMN,...", "the column for a field; of a database also ENTITY.FIELD=COLUMN",
        repetition: .assignments),
      .value(
        "set", "FIELD=VALUE", "a value for every record; for a database also ENTITY.FIELD=VALUE",
        repetition: .assignments),
      .value("table", "ENTITY=TABLE", "the table of a database for an entity", repetition: .each),
      .value(
        "times", "FORMAT", "the times that numbers in a database mean", allowed: NumericTimes.allCases.map(\.rawValue)),
      .value("source", "NAME", "the name of a database from which uuids are derived (default: its path)"),
      .flag("dry-run", "only print which tables and columns of a database would be imported"),
      .value("null", "TEXT", "the text that stands for a missing value"),
      .value("format", "FORMAT", "the format of the file", allowed: ["csv", "ndjson", "json"]),
      .flag("skip-invalid", "skip and list invalid rows"),
    ],
    choices: [Choice("FILE", "all", "from-sqlite", required: true), Choice("ENTITY", "all")],
    examples: [
      Example("fieldvault import Room rooms.csv --set projectId=0193...", "import columns named like fields"),
      Example(
        "fieldvault import AtmosphericLog w.csv --map date=time_hour,temperature=temp --null NA --skip-invalid",
        "import with mapped columns, skipping invalid rows"),
      Example("fieldvault import --all my-data", "import everything that 'fieldvault export --all my-data' wrote"),
      Example("fieldvault import --from-sqlite old.db --dry-run", "show how the tables of a database match"),
      Example(
        "fieldvault import --from-sqlite old.db --table Room=areas --map Room.title=label",
        "import a database, with a table and a column of other names"),
    ],
    exitCodes: usual + [.damaged, .busy, .noSpace, .refused])

  /// The options that apply to databases only.
  static let databaseOptions = ["table", "times", "source", "dry-run"]

  static func run(_ context: CommandContext) throws {
    if let folder = context.arguments.value("all") { return try ImportAll.run(from: folder, context) }
    if let file = context.arguments.value("from-sqlite") { return try ImportDatabase.run(from: file, context) }
    for name in databaseOptions where context.arguments.isGiven(name) {
      throw context.arguments.mistake("--\(name) applies to --from-sqlite only", about: name)
    }
    var plan = ImportPlan()
    plan.mapping = try context.arguments.values("map").flatMap { try mapping($0, context) }
    plan.constants = try context.arguments.values("set").map { word in
      let (field, value) = try assignment(word, "set", context)
      return (field, value)
    }
    plan.nullText = context.arguments.value("null")
    plan.skipsInvalid = context.arguments.flag("skip-invalid")
    let path = try context.arguments.required("FILE")
    let format = try kind(of: path, context)
    let source = try ByteSource(path: path)
    let vault = try context.openVault(separatingReads: true)
    let entity = try vault.entities.entity(try context.arguments.required("ENTITY"))
    let progress = ProgressLine(
      "Importing \(entity.type)", total: source.size ?? 0, unit: .bytes, terminal: context.messages.terminal,
      isQuiet: context.isQuiet)
    let start = CPUTime.now()
    var reported = 0
    let result: ImportResult
    do {
      result = try vault.importFile(source, into: entity, format: format, plan: plan) { bytes, _ in
        progress.advance(by: bytes - reported)
        reported = bytes
      }
    } catch let refused as ImportRefused {
      progress.clear()
      if context.isJSON { try write(refused.result, context) }
      throw refused
    } catch {
      progress.clear()
      throw error
    }
    progress.clear()
    if context.isJSON { return try write(result, context) }
    try tell(result, entity, CPUTime.now() - start, context)
  }

  private static func tell(
    _ result: ImportResult, _ entity: Entity, _ seconds: Double, _ context: CommandContext
  ) throws {
    try context.tell("Imported \(countText(result.imported)) \(entity.type) records.")
    if !result.ignoredColumns.isEmpty {
      try context.tell("Ignored columns without a field: \(result.ignoredColumns.joined(separator: ", ")).")
    }
    if result.skipped > 0 {
      try context.tell("Skipped \(countText(result.skipped)):")
      for problem in result.problems.prefix(20) { try context.tell("  " + line(for: problem)) }
      if result.problemCount > 20 { try context.tell("  and \(countText(result.problemCount - 20)) more") }
    }
    let rows = result.imported + result.skipped
    if seconds > 0, rows > 0 {
      context.hint(
        "\(durationText(seconds)) of processor time, \(countText(Int(Double(rows) / seconds))) rows a second")
    }
  }

  static func line(for problem: ImportProblem) -> String {
    "line \(problem.line): " + (problem.field.map { "\($0) \(problem.message)" } ?? problem.message)
  }

  private static func write(_ result: ImportResult, _ context: CommandContext) throws {
    var json = JSONWriter(for: context.output)
    json.beginObject()
    json.member("imported", result.imported)
    json.member("skipped", result.skipped)
    json.key("ignoredColumns")
    json.beginArray()
    for column in result.ignoredColumns { json.value(column) }
    json.endArray()
    json.key("errors")
    json.beginArray()
    for problem in result.problems {
      json.beginObject()
      json.member("line", problem.line)
      json.member("field", problem.field)
      json.member("message", problem.message)
      json.endObject()
    }
    json.endArray()
    json.endObject()
    json.endDocument()
    try json.drain(to: context.output)
  }

  private static func kind(of path: String, _ context: CommandContext) throws -> Vault.ImportFormat {
    if let format = try context.arguments.value("format", as: Vault.ImportFormat.self) { return format }
    let name = path.lowercased()
    if name.hasSuffix(".csv") { return .csv }
    if name.hasSuffix(".ndjson") || name.hasSuffix(".jsonl") { return .ndjson }
    if name.hasSuffix(".json") { return .json }
    throw context.arguments.mistake("unknown file extension", about: "format", hint: "add --format csv, ndjson or json")
  }

  static func mapping(_ word: String, _ context: CommandContext) throws -> [(field: String, column: String)] {
    try word.split(separator: ",").map { part in
      let (field, column) = try assignment(String(part), "map", context)
      return (field, column)
    }
  }

  static func assignment(
    _ word: String, _ name: String, _ context: CommandContext
  ) throws -> (String, String) {
    guard let sign = word.firstIndex(of: "="), sign > word.startIndex else {
      throw context.arguments.mistake("--\(name) takes \(name == "map" ? "FIELD=COLUMN" : "FIELD=VALUE")", about: name)
    }
    return (String(word[..<sign]), String(word[word.index(after: sign)...]))
  }
}

/// The processor time of this process.
enum CPUTime {
  /// Seconds in user and system mode.
  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
