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
    ],
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
    if context.arguments.flag("write") {
      try vault.database.write(run)
    } else {
      try vault.database.read(run)
    }
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
    try connection.withStatement(sql) { statement in
      if !statement.isReadOnly, !context.arguments.flag("write") {
        throw SQLError(.readOnly, "this statement changes the vault", hint: "add --write to allow changes")
      }
      try bind(parameters, to: statement)
      let format = RowFormat(statement, vault.entities)
      if context.isJSON {
        var json = JSONWriter(for: context.output)
        json.beginArray()
        while try statement.step() {
          try format.write(statement.row, to: &json)
          try json.drain(to: context.output)
        }
        json.endArray()
        json.endDocument()
        return try json.drain(to: context.output)
      }
      guard !format.columns.isEmpty else {
        try statement.run()
        return
      }
      try table(statement, format, context)
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

  private static func table(_ statement: Statement, _ format: RowFormat, _ context: CommandContext) throws {
    var rows = TextTable(format.columns.map(\.name))
    var waiting = 0
    while try statement.step() {
      rows.add(try format.cells(statement.row))
      waiting += 1
      if waiting == 500 {
        try context.output.write(rows.text(for: context.output.terminal))
        rows = TextTable(format.columns.map(\.name))
        waiting = 0
      }
    }
    if waiting > 0 { try context.output.write(rows.text(for: context.output.terminal)) }
  }
}
