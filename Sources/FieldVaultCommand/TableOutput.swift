import CommandLineKit

/// The options of commands that print a table.
enum TableOptions {
  static let columns = OptionDescription.value(
    "columns", "A,B,C", short: "c", "only these fields, in this order", completion: .of(.fields))
  static let format = OptionDescription.value(
    "format", "FORMAT", "the form of the output", default: "table", allowed: ["table", "csv", "json"])
  /// The options of every table.
  static let layout: [OptionDescription] = [
    .flag("vertical", "one field a line"),
    .flag("local", "times in local time; JSON and CSV keep UTC"),
  ]
}

/// A table in the form that the options select, through a pager on a terminal.
final class TableOutput {
  private let writer: TableWriter
  private let context: CommandContext

  /// - Parameter keepsEmptyColumns: whether columns without a value are shown in every form.
  init(_ table: TextTable, keepsEmptyColumns: Bool = false, _ context: CommandContext) {
    var table = table
    table.isVertical = context.arguments.flag("vertical")
    table.keepsEmptyColumns = keepsEmptyColumns
    context.startPager()
    writer = TableWriter(table, to: context.output)
    self.context = context
  }

  /// Whether the table has no row.
  var isEmpty: Bool { writer.isEmpty }

  func add(_ cells: [String], style: Style? = nil) throws { try writer.add(cells, style: style) }

  /// Ends the table, and names the columns that it leaves out.
  func finish() throws {
    try writer.finish()
    let empty = writer.omitted.filter(\.isEmpty).map(\.title)
    if !empty.isEmpty { context.hint("Columns without a value are not shown: \(empty.joined(separator: ", ")).") }
    let narrow = writer.omitted.filter { !$0.isEmpty }.map(\.title)
    if writer.isVertical, !context.arguments.flag("vertical"), context.arguments.isDeclared("columns") {
      context.hint("The rows do not fit into \(context.output.terminal.width) columns. For a table: --columns A,B,C")
    }
    if !narrow.isEmpty {
      context.hint("Columns that do not fit are not shown: \(narrow.joined(separator: ", ")). To show them: --vertical")
    }
  }
}

extension CommandContext {
  /// Returns the fields of `--columns`, or `nil` if it is not given.
  func namedColumns() throws -> [String]? {
    guard let text = arguments.value("columns") else { return nil }
    var names: [String] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let name = part.filter { $0 != " " }
      guard !name.isEmpty else { throw arguments.mistake("--columns has an empty name", about: "columns") }
      guard !names.contains(name) else {
        throw arguments.mistake("--columns names a field twice: \(escaped(name))", about: "columns")
      }
      names.append(name)
    }
    return names
  }

  /// Whether `--format csv` is given.
  func isCSV() throws -> Bool {
    let format = try arguments.required("format")
    if arguments.flag("json"), arguments.isGiven("format"), format != "json" {
      throw arguments.mistake("--json and --format \(format) exclude each other", about: "format")
    }
    return !isJSON && format == "csv"
  }
}
