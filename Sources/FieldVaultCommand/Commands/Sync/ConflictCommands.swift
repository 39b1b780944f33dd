import Platform
import CommandLineKit
import VaultStore
import SyncModel

private let conflictArgument = ArgumentDescription.required(
  "ID", "the id of a conflict from 'conflicts list', or at least 4 of its first characters", completion: .of(.conflict))

enum ConflictListCommand: ProgramCommand {
  static let description = CommandDescription(
    "list", aliases: ["ls"], summary: "list open conflicts",
    options: [.flag("all", short: "a", "include resolved conflicts, also those resolved by a policy")]
      + TableOptions.layout,
    examples: [
      Example("fieldvault conflicts list", "conflicts that need a decision"),
      Example("fieldvault conflicts list --all", "overwritten values and the values that replaced them"),
    ],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let all = context.arguments.flag("all")
    let vault = try context.openVault()
    let entries = try vault.conflicts(resolved: all)
    if context.isJSON {
      var json = JSONWriter(for: context.output)
      json.beginArray()
      for entry in entries {
        try ConflictFormat.write(entry, &json)
        try json.drain(to: context.output)
      }
      json.endArray()
      json.endDocument()
      return try json.drain(to: context.output)
    }
    if entries.isEmpty { return context.hint(all ? "No conflicts." : "No open conflicts.") }
    let times = TimeFormat(context)
    let table = TableOutput(
      TextTable(["id", "entity", "conflict", all ? "outcome" : times.title("found"), "fields"]), context)
    for entry in entries {
      let outcome = entry.resolution.map { "\($0.replacing("_", with: " ")), \(entry.resolvedBy ?? "")" } ?? "open"
      try table.add(
        [
          entry.conflictId, entry.entityType, entry.conflictType.replacing("_", with: " "),
          all ? outcome : times.text(entry.detectedAt), entry.fields.joined(separator: ", "),
        ], style: entry.resolvedAt == nil || !all ? nil : .dim)
    }
    try table.finish()
    if let open = entries.first(where: { $0.resolvedAt == nil }) {
      context.hint("To see both sides: fieldvault conflicts show \(open.conflictId)")
    }
  }
}

enum ConflictShowCommand: ProgramCommand {
  static let description = CommandDescription(
    "show", summary: "show both versions side by side", arguments: [conflictArgument],
    examples: [Example("fieldvault conflicts show 0193...", "compare field by field")], exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let identifier = try context.identifier("ID", isRecord: false)
    let vault = try context.openVault()
    let entry = try vault.conflict(try vault.conflictID(identifier))
    if context.isJSON { return try context.writeJSON { try ConflictFormat.write(entry, &$0) } }
    try ConflictComparison(entry, order: vault.entities.entity(entry.entityType).fields).show(context)
  }
}

enum ConflictResolveCommand: ProgramCommand {
  static let description = CommandDescription(
    "resolve", summary: "resolve a conflict",
    discussion: """
      --take selects the version whose values win. --set overrides it for single fields: local, remote, or another \
      value after a second =. In a conflict about a deletion, --take decides whether the record stays.
      """,
    arguments: [conflictArgument],
    options: [
      .value("take", "SIDE", "the version whose values win", required: true, allowed: ["local", "remote"]),
      .value("set", "FIELD=local|remote|=VALUE", "the value of one field", repetition: .assignments),
      .value("note", "TEXT", "a note for the history"),
    ],
    examples: [
      Example("fieldvault conflicts resolve 0193... --take remote", "take the server's version"),
      Example(
        "fieldvault conflicts resolve 0193... --take local --set status=remote title==Kitchen",
        "combine both versions"),
    ],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    let identifier = try context.identifier("ID", isRecord: false)
    let takesLocal = try context.arguments.required("take") == "local"
    var choices: [String: Vault.ConflictChoice] = [:]
    for word in context.arguments.values("set") {
      let (field, choice) = try parse(word, context)
      guard choices.updateValue(choice, forKey: field) == nil else {
        throw context.arguments.mistake("--set is given twice for \(field)", about: "set")
      }
    }
    let vault = try context.openVault()
    let id = try vault.conflictID(identifier)
    let entity = try vault.entities.entity(try vault.conflict(id).entityType)
    for case (let field, .value(let text)) in choices {
      choices[field] = .value(try vault.referenceValue(text, of: field, in: entity))
    }
    let user = try vault.remote()?.user ?? Terminal.variable("USER") ?? "unknown user"
    try vault.resolveConflict(
      id, takesLocal: takesLocal, choices: choices, note: context.arguments.value("note"), user: user)
    let entry = try vault.conflict(id)
    if context.isJSON { return try context.writeJSON { try ConflictFormat.write(entry, &$0) } }
    let how =
      switch entry.resolution {
      case "local_wins": "the local version wins"
      case "remote_wins": "the server's version wins"
      default: "field by field"
      }
    try context.tell("Resolved: \(how).")
    let status = try vault.status(countsRecords: false)
    if status.conflicts > 0 {
      context.hint(
        "\(status.conflicts == 1 ? "1 conflict is" : "\(countText(status.conflicts)) conflicts are") still open.")
    } else if status.pending > 0 {
      context.hint("The next 'fieldvault sync' sends the resolution.")
    }
  }

  private static func parse(_ word: String, _ context: CommandContext) throws -> (String, Vault.ConflictChoice) {
    let wrong = context.arguments.mistake(
      "--set takes FIELD=local, FIELD=remote, or a value after a second '=': FIELD==VALUE", about: "set")
    guard let sign = word.firstIndex(of: "="), sign > word.startIndex else { throw wrong }
    let choice = word[word.index(after: sign)...]
    let field = String(word[..<sign])
    switch choice {
    case "local": return (field, .local)
    case "remote": return (field, .remote)
    default:
      guard choice.first == "=" else { throw wrong }
      return (field, .value(String(choice.dropFirst())))
    }
  }
}

enum ConflictFormat {
  static func write(_ entry: ConflictEntry, _ json: inout JSONWriter) throws {
    json.beginObject()
    json.member("conflictId", entry.conflictId)
    json.member("entityType", entry.entityType)
    json.member("entityUuid", entry.entityUuid)
    json.member("conflictType", entry.conflictType)
    try json.member("base", json: entry.base)
    try json.member("localVersion", json: entry.localVersion)
    try json.member("remoteVersion", json: entry.remoteVersion)
    json.member("fields", entry.fields)
    json.member("otherType", entry.other?.entityType)
    json.member("otherUuid", entry.other?.entityUuid)
    json.member("detectedAt", entry.detectedAt)
    json.member("resolvedAt", entry.resolvedAt)
    json.member("resolution", entry.resolution)
    json.member("resolvedBy", entry.resolvedBy)
    json.member("notes", entry.notes)
    json.endObject()
  }
}
