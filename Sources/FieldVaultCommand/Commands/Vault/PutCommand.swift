import CipherSQL
import CommandLineKit
import VaultStore
import SyncEngine

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

enum PutCommand: ProgramCommand {
  static let description = CommandDescription(
    "put", group: "Records", summary: "create or change a record",
    discussion: """
      Creates a record, or changes the given fields of the record of --uuid. A reference to another record is its \
      uuid, a unique prefix of it or its local id. An empty value (notes=) is NULL if the field permits NULL.
      """,
    arguments: [entityArgument, .any("FIELD=VALUE", "a field and its value", completion: .of(.assignment))],
    options: [
      .value(
        "uuid", "UUID", "the record to change, also by a prefix or local id; or the uuid of a new record",
        completion: .of(.record)),
      .value(
        "from", "FILE", "a JSON object or an array of them; - is standard input; all or none", completion: .file),
      .value("send", "SECONDS", "send now and wait up to SECONDS for the server; 0 to 3600"),
    ],
    choices: [Choice("FIELD=VALUE", "from", required: true), Choice("uuid", "from"), Choice("send", "from")],
    examples: [
      Example("fieldvault put Project title='14 Elm Street' status=active", "create a project"),
      Example("fieldvault put Room projectId=0193... title=Attic squareFootage=120.5", "create a room of the project"),
      Example("fieldvault put Room --uuid 0193... title=Loft", "change the title"),
      Example("fieldvault put Room --uuid 0193... title=Loft --send 5", "change the title and send it now"),
    ],
    exitCodes: usual + [.noSpace, .refused])

  static func run(_ context: CommandContext) throws {
    let words = try context.arguments.values("FIELD=VALUE").map { try parseField($0, context) }
    let identifier = try context.identifiers("uuid").first
    let vault = try context.openVault()
    let entity = try vault.entities.entity(try context.arguments.required("ENTITY"))
    let uuid = try identifier.map { try vault.uuid($0, of: entity) }
    let fields = try words.map {
      (name: $0.name, value: FieldInput.text(try vault.referenceValue($0.text, of: $0.name, in: entity)))
    }
    if let path = context.arguments.value("from") {
      let source = try ByteSource(path: path)
      let (uuids, isArray) = try vault.put(
        entity, json: try source.readText(limit: ByteSource.longestDocument), name: source.name)
      return try show(uuids, isArray: isArray, entity, vault, context)
    }
    if let seconds = try context.arguments.value("send").map({ try parseSeconds($0, context) }) {
      return try send(entity, fields, uuid, within: seconds, vault, context)
    }
    try show([try vault.put(entity, fields, uuid: uuid)], isArray: false, entity, vault, context)
  }

  private static func parseField(_ word: String, _ context: CommandContext) throws -> (name: String, text: String) {
    guard let sign = word.firstIndex(of: "="), sign > word.startIndex else {
      throw context.arguments.mistake("a field must be given as FIELD=VALUE", about: "FIELD=VALUE")
    }
    return (String(word[..<sign]), String(word[word.index(after: sign)...]))
  }

  private static func parseSeconds(_ text: String, _ context: CommandContext) throws -> Double {
    guard let seconds = Double(text), (0...3600).contains(seconds) else {
      throw context.arguments.mistake("--send takes a number of seconds from 0 to 3600")
    }
    return seconds
  }

  /// Saves as an app does: the record is in the vault in any case, and the outcome of sending is shown.
  private static func send(
    _ entity: Entity, _ fields: [(name: String, value: FieldInput)], _ uuid: UUID?, within seconds: Double,
    _ vault: Vault, _ context: CommandContext
  ) throws {
    let server = try Server(of: vault)
    let (saved, outcome) = try Waiting.run {
      await server.monitor.probe()
      let worker = SyncWorker(vault: vault, remote: server.remote, monitor: server.monitor)
      let saved = try await worker.save(within: .seconds(seconds)) { connection in
        try RecordWriter(connection, entities: vault.entities).put(entity, fields, uuid: uuid)
      }
      await worker.endSaving()
      return saved
    }
    try show([saved], isArray: false, entity, vault, context)
    switch outcome {
    case .sent: context.note("Saved on the server.")
    case .savedOffline(let why): context.note("Saved on this device and sent later: \(why).")
    case .refused(let message, _):
      context.note("Saved on this device, but the server refused it: \(message)")
      context.hint("Edit the record with 'put --uuid', or discard the change with 'fieldvault outbox discard'.")
      context.exitCode = .attention
    case .conflict:
      context.note("Saved on this device, in conflict with the server's version: fieldvault conflicts list")
      context.exitCode = .attention
    }
  }

  private static func show(
    _ uuids: [UUID], isArray: Bool, _ entity: Entity, _ vault: Vault, _ context: CommandContext
  ) throws {
    guard context.isJSON else {
      for uuid in uuids { try context.tell(uuid.sqlText) }
      return
    }
    let format = RowFormat(entity)
    var json = JSONWriter(for: context.output)
    if isArray { json.beginArray() }
    try vault.database.read { connection in
      for uuid in uuids {
        try RecordReader(connection).record(entity, uuid) { row in try format.write(row, to: &json) }
        try json.drain(to: context.output)
      }
    }
    if isArray { json.endArray() }
    json.endDocument()
    try json.drain(to: context.output)
  }
}

enum GetCommand: ProgramCommand {
  static let description = CommandDescription(
    "get", group: "Records", summary: "show a record",
    arguments: [entityArgument, .required("UUID", recordHelp, completion: .of(.record))],
    options: [TableOptions.columns, .flag("local", "times in local time; JSON keeps UTC")],
    examples: [Example("fieldvault get Project 0193... --json", "as JSON")], exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let identifier = try context.identifier("UUID")
    let names = try context.namedColumns()
    let vault = try context.openVault()
    let entity = try vault.entities.entity(try context.arguments.required("ENTITY"))
    let uuid = try vault.uuid(identifier, of: entity)
    var format = RowFormat(entity)
    if let names { try format.show(only: names, of: entity.type) }
    format.isLocal = !context.isJSON && context.arguments.flag("local")
    try vault.database.read { connection in
      try RecordReader(connection).record(entity, uuid) { row in
        if context.isJSON {
          var json = JSONWriter(for: context.output)
          try format.write(row, to: &json)
          json.endDocument()
          return try json.drain(to: context.output)
        }
        let width = format.titles.map(displayWidth).max() ?? 0
        for (title, cell) in zip(format.titles, try format.cells(row)) {
          let padding = cell.isEmpty ? "" : String(repeating: " ", count: width + 2 - displayWidth(title))
          try context.output.line(context.output.terminal.styled(title, .bold) + padding + escaped(cell))
        }
      }
    }
  }
}
