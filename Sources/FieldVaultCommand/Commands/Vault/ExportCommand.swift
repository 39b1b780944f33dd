import CipherSQL
import CommandLineKit
import VaultStore

enum ExportCommand: ProgramCommand {
  static let description = CommandDescription(
    "export", group: "Records", summary: "write records, decrypted, to standard output or to a folder",
    discussion: """
      The records of an entity are written to standard output. With --all, the records of all entities and the attached \
      files are written to a new folder: a file of NDJSON for each entity, and the folder 'files'. 'fieldvault import --all' reads it. \
      References are uuids, and the lines of attachments contain the keys of their files. Deleted records are left out. The folder \
      appears when it is complete. Its files are not encrypted: the command asks first; without a terminal it requires --yes.
      """,
    arguments: [.optional("ENTITY", entityArgument.help, completion: .of(.entity))],
    options: [
      .value(
        "format", "FORMAT", "output format of an entity", default: "csv", allowed: ["csv", "ndjson", "json"]),
      .value("all", "DIR", "write all entities and files to this folder, missing or empty", completion: .folder),
      .flag("yes", short: "y", "with --all: write decrypted files without a question"),
    ],
    choices: [Choice("ENTITY", "all", required: true), Choice("format", "all")],
    examples: [
      Example("fieldvault export Room --format csv > rooms.csv", "export for a spreadsheet"),
      Example("fieldvault export --all my-data", "export everything, decrypted"),
    ],
    exitCodes: usual + [.noSpace, .refused])

  enum Format: String {
    case csv, ndjson, json
  }

  static func run(_ context: CommandContext) throws {
    if let folder = context.arguments.value("all") { return try ExportAll.run(to: folder, context) }
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
