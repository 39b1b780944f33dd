import CipherSQL
import CommandLineKit
import VaultStore

enum QueryCommand: ProgramCommand {
  static let description = CommandDescription(
    "query", group: "Questions", summary: "run one SQL statement",
    discussion: "The statement is read-only unless --write is given. Pass values with --param, not in the SQL text.",
    arguments: [.required("SQL", "the statement")],
    options: [
      .value("param", "NAME=VALUE", "the value of :NAME", repetition: .assignments),
      .flag("write", "allow the statement to change the vault"),
      TableOptions.columns, TableOptions.format,
    ] + TableOptions.layout,
    examples: [
      Example(
        "fieldvault query 'SELECT title FROM OfflineRoom WHERE level = :level' --param level=2",
        "query with a parameter"),
      Example("fieldvault query 'SELECT * FROM entities' --json", "query a view and print JSON"),
    ],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    let sql = try context.arguments.required("SQL")
    let parameters = try context.arguments.values("param").map { try parameter($0, context) }
    let vault = try context.openVault()
    func run(_ connection: Connection) throws {
      try show(connection, sql, parameters, vault, context)
      try context.adviseOnCache(connection)
    }
    do {
      if context.arguments.flag("write") {
        try vault.database.write(run)
      } else {
        try vault.database.read(run)
      }
    } catch let error as SQLError {
      throw suggesting(error, vault.entities)
    }
  }

  /// Returns an error about an unknown table or column with the most similar name as its hint.
  private static func suggesting(_ error: SQLError, _ entities: Entities) -> SQLError {
    var near: String?
    if let table = error.unknownTable {
      near =
        entities.all.first { $0.type == table }?.table.name
        ?? nearest(to: table, in: entities.catalog.tables.map(\.name))
    } else if let column = error.unknownColumn {
      near = nearest(to: column, in: Set(entities.catalog.tables.flatMap { $0.columns.map(\.name) }).sorted())
    }
    guard let near else { return error }
    return SQLError(
      error.code, error.message, hint: "did you mean '\(near)'?", sqliteCode: error.sqliteCode, sql: error.sql,
      offset: error.offset)
  }

  private static func parameter(_ word: String, _ context: CommandContext) throws -> (name: String, value: String) {
    guard let sign = word.firstIndex(of: "="), sign > word.startIndex else {
      throw context.arguments.mistake("--param takes NAME=VALUE", about: "param")
    }
    return (String(word[..<sign]), String(word[word.index(after: sign)...]))
  }

  private static func show(
    _ connection: Connection, _ sql: String, _ parameters: [(name: String, value: String)], _ vault: Vault,
    _ context: CommandContext
  ) throws {
    let names = try context.namedColumns()
    let isCSV = try context.isCSV()
    try connection.withStatement(sql) { statement in
      if !statement.isReadOnly, !context.arguments.flag("write") {
        throw SQLError(.readOnly, "this statement changes the vault", hint: "add --write to allow changes")
      }
      try bind(parameters, to: statement)
      var format = RowFormat(statement, vault.entities)
      if let names { try format.show(only: names, of: "the result") }
      guard context.isJSON || !format.columns.isEmpty else {
        try statement.run()
        return
      }
      try RowOutput.write(format, isCSV: isCSV, hasNames: names != nil, context) { take in
        while try statement.step() { try take(statement.row) }
      }
    }
  }

  private static func bind(_ parameters: [(name: String, value: String)], to statement: Statement) throws {
    var bound: Set<Int32> = []
    for (name, value) in parameters {
      let candidates = [":\(name)", "@\(name)", "$\(name)"]
      guard let index = candidates.lazy.compactMap({ statement.parameterIndex($0) }).first else {
        throw SQLError(
          .invalidSQL, "the statement has no parameter :\(name)", hint: "use :\(name) in the statement")
      }
      try Self.argument(value).bind(to: statement, at: index)
      bound.insert(index)
    }
    for index in 0..<statement.parameterCount where !bound.contains(index + 1) {
      let name = statement.parameterName(at: index + 1) ?? "?"
      throw SQLError(
        .invalidSQL, "the parameter \(name) has no value", hint: "add --param NAME=VALUE for each parameter")
    }
  }

  /// Returns numbers as numbers, and other values as text.
  private static func argument(_ text: String) -> SQLArgument {
    if let integer = Int64(text) { return .integer(integer) }
    if let real = Double(text), real.isFinite, !text.lowercased().contains("x") { return .real(real) }
    return .text(text)
  }
}

enum SearchCommand: ProgramCommand {
  static let description = CommandDescription(
    "search", group: "Questions", summary: "search the full text of records",
    discussion: "Finds records that contain all the words. The last word may be a prefix.",
    arguments: [.required("TEXT", "the words")],
    options: [
      .value("entity", "ENTITY", "only records of this entity", completion: .of(.entity)),
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
