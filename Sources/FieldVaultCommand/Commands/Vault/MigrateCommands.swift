import CipherSQL
import CommandLineKit
import VaultStore

enum MigrateStatusCommand: ProgramCommand {
  static let description = CommandDescription(
    "status", summary: "which files have been applied, and which wait",
    examples: [Example("fieldvault migrate status --json", "the same for a program")], exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault(outdated: .leave)
    let migrator = try vault.migrator(known: CommandContext.shippedSchemas)
    let (applied, pending) = try vault.database.read { connection in
      (try MigrationRecord.all(in: connection), try migrator.pending(in: connection))
    }
    let rows = MigrationRow.rows(applied, pending)
    if context.isJSON { return try MigrationRow.write(rows, context) }
    var table = TextTable(["schema", "version", "name", "applied at", "checksum"])
    for row in rows {
      table.add([row.schema, String(row.version), row.name, row.appliedAt ?? "waits", String(row.checksum.prefix(12))])
    }
    try context.output.write(table.text(for: context.output.terminal))
    if !pending.isEmpty {
      context.hint("\(pending.count == 1 ? "1 file waits" : "\(pending.count) files wait"): fieldvault migrate apply")
    }
  }
}

enum MigrateApplyCommand: ProgramCommand {
  static let description = CommandDescription(
    "apply", summary: "apply the files that wait, each in one transaction",
    discussion: "A file that fails leaves the vault as the file before it left it.",
    options: [
      .value(
        "schema", "NAME_OR_FOLDER", "tables that the vault is to get beside those that it has; may be repeated",
        repetition: .list, completion: .folder)
    ],
    examples: [
      Example("fieldvault migrate apply", "bring the vault up to date"),
      Example("fieldvault migrate apply --schema ./More", "the tables of another folder as well"),
    ],
    exitCodes: usual + [.noSpace, .refused])

  static func run(_ context: CommandContext) throws {
    let adding = try context.namedSchemas()
    let vault = try context.openVault(outdated: .leave, adding: adding)
    let migrator = try vault.migrator(known: CommandContext.shippedSchemas + adding.map(\.schema))
    let done = try migrator.apply(to: vault.database) { schema, file, left in
      context.note("applying \(schema)/\(file.fileName), \(left) to go")
    }
    if context.isJSON { return try MigrationRow.write(MigrationRow.rows(done, []), context) }
    try context.tell(done.isEmpty ? "Nothing waits." : "Applied \(done.count) \(done.count == 1 ? "file" : "files").")
  }
}

enum MigrateVerifyCommand: ProgramCommand {
  static let description = CommandDescription(
    "verify", summary: "rebuild the tables from the files in memory and show every difference",
    examples: [Example("fieldvault migrate verify", "was a table changed by hand?")],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault(outdated: .leave)
    let migrator = try vault.migrator(known: CommandContext.shippedSchemas)
    let pending = try vault.database.read { try migrator.pending(in: $0) }
    let differences = try migrator.verify(vault.database)
    let stranded = try pending.isEmpty ? vault.strandedOperations() : []
    if context.isJSON {
      try write(differences, stranded, context)
    } else if differences.isEmpty, stranded.isEmpty {
      try context.tell("The tables are as their files make them.")
    } else {
      for difference in differences {
        try context.output.line("\(difference.kind.rawValue): \(difference.type) \(difference.name)")
        for (title, sql) in [("the files make", difference.expected), ("the vault has", difference.found)] {
          guard let sql else { continue }
          try context.output.line(
            "  \(title):\n" + sql.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n"))
        }
      }
    }
    if !context.isJSON {
      for operation in stranded {
        try context.output.line(
          "could not follow: operation \(operation.operationId) names \(operation.entityType).\(operation.field), "
            + "which is not there any more")
      }
    }
    if !stranded.isEmpty {
      context.hint("the server may not have these: fieldvault outbox show ID, then outbox discard ID")
    }
    if !pending.isEmpty {
      let files = pending.count == 1 ? "1 file waits and was" : "\(pending.count) files wait and were"
      context.hint("\(files) not compared: fieldvault migrate apply")
    }
    if !differences.isEmpty || !stranded.isEmpty { context.exitCode = .refused }
  }

  private static func write(
    _ differences: [SchemaDifference], _ stranded: [OrphanedOperation], _ context: CommandContext
  ) throws {
    try context.writeJSON { json in
      json.beginArray()
      for difference in differences {
        json.beginObject()
        json.member("kind", difference.kind.rawValue)
        json.member("type", difference.type)
        json.member("name", difference.name)
        json.member("expected", difference.expected)
        json.member("found", difference.found)
        json.endObject()
      }
      for operation in stranded {
        json.beginObject()
        json.member("kind", "stranded")
        json.member("type", "operation")
        json.member("name", operation.operationId)
        json.member("expected", nil as String?)
        json.member("found", "\(operation.entityType).\(operation.field)")
        json.endObject()
      }
      json.endArray()
    }
  }
}

/// One file of a schema as the commands show it.
private struct MigrationRow {
  let schema: String
  let version: Int
  let name: String
  let checksum: String
  let appliedAt: String?

  static func rows(_ applied: [MigrationRecord], _ pending: [(schema: String, file: MigrationFile)]) -> [MigrationRow] {
    applied.map {
      MigrationRow(
        schema: $0.schema, version: $0.version, name: $0.name, checksum: $0.checksum, appliedAt: $0.appliedAt.sqlText)
    }
      + pending.map {
        MigrationRow(
          schema: $0.schema, version: $0.file.version, name: $0.file.name, checksum: $0.file.checksum, appliedAt: nil)
      }
  }

  static func write(_ rows: [MigrationRow], _ context: CommandContext) throws {
    try context.writeJSON { json in
      json.beginArray()
      for row in rows {
        json.beginObject()
        json.member("schema", row.schema)
        json.member("version", row.version)
        json.member("name", row.name)
        json.member("checksum", row.checksum)
        json.member("appliedAt", row.appliedAt)
        json.endObject()
      }
      json.endArray()
    }
  }
}
