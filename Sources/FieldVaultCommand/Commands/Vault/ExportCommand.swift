import CipherSQL
import CommandLineKit
import VaultStore

enum ExportCommand: ProgramCommand {
  static let description = CommandDescription(
    "export", group: "Records", summary: "write records to standard output, decrypted",
    arguments: [entityArgument],
    options: [
      .value(
        "format", "FORMAT", "output format", default: "csv", allowed: ["csv", "ndjson", "json"])
    ],
    examples: [Example("fieldvault export Room --format csv > rooms.csv", "export for a spreadsheet")],
    exitCodes: usual)

  enum Format: String {
    case csv, ndjson, json
  }

  static func run(_ context: CommandContext) throws {
    let format = try context.arguments.value("format", as: Format.self) ?? .csv
    let vault = try context.openVault()
    let entity = try vault.entities.entity(try context.arguments.required("ENTITY"))
    let rows = RowFormat(entity)
    var selection = RecordSelection()
    selection.order = [(entity.key, false)]
    try vault.database.read { connection in
      var json = JSONWriter()
      if format == .json { json.beginArray() }
      if format == .csv { try line(rows.columns.map(\.name), context) }
      try RecordReader(connection).forEach(entity, selection) { row in
        switch format {
        case .csv: try line(try rows.cells(row), context)
        case .ndjson:
          try rows.write(row, to: &json)
          json.endDocument()
          try context.output.write(json.takeBytes())
        case .json:
          try rows.write(row, to: &json)
          try json.drain(to: context.output)
        }
      }
      if format == .json {
        json.endArray()
        json.endDocument()
        try json.drain(to: context.output)
      }
    }
  }

  /// A record of a CSV file as RFC 4180 has it, with LF.
  private static func line(_ cells: [String], _ context: CommandContext) throws {
    var text = ""
    for (index, cell) in cells.enumerated() {
      if index > 0 { text += "," }
      if cell.utf8.contains(where: { [0x22, 0x2c, 0x0a, 0x0d].contains($0) }) {
        text += "\"" + cell.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
      } else {
        text += cell
      }
    }
    try context.output.line(text)
  }
}
