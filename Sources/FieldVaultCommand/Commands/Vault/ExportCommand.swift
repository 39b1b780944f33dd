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
      if format == .csv { try CSVFormat.write(rows.columns.map(\.name), to: context.output) }
      try RecordReader(connection).forEach(entity, selection) { row in
        switch format {
        case .csv: try CSVFormat.write(try rows.cells(row), to: context.output)
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
}
