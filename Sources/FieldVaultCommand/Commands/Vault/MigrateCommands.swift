import CipherSQL
import CommandLineKit
import VaultStore

enum MigrateStatusCommand: ProgramCommand {
  static let description = CommandDescription(
    "status", summary: "list applied and pending schema files",
    examples: [Example("fieldvault migrate status --json", "as JSON")], exitCodes: usual)

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
      let cells = [row.schema, String(row.version), row.name, row.appliedAt ?? "pending"]
      table.add(cells + [String(row.checksum.prefix(12))])
    }
    try context.output.write(table.text(for: context.output.terminal))
    if !pending.isEmpty {
      let files = pending.count == 1 ? "1 pending file" : "\(pending.count) pending files"
      context.hint("\(files): fieldvault migrate apply")
    }
  }
}

enum MigrateApplyCommand: ProgramCommand {
  static let description = CommandDescription(
    "apply", summary: "apply pending schema files, each in one transaction",
    discussion: "If a file fails, its transaction is rolled back and the files before it stay applied.",
    options: [
      .value(
        "schema", "NAME_OR_FOLDER", "a schema to add to the vault",
        repetition: .list, completion: .folder)
    ],
    examples: [
      Example("fieldvault migrate apply", "update the vault"),
      Example("fieldvault migrate apply --schema ./More", "add the tables of another folder"),
    ],
    exitCodes: usual + [.noSpace, .refused])

  static func run(_ context: CommandContext) throws {
    let adding = try context.namedSchemas()
    let vault = try context.openVault(outdated: .leave, adding: adding)
    let migrator = try vault.migrator(known: CommandContext.shippedSchemas + adding.map(\.schema))
    let done = try migrator.apply(to: vault.database) { schema, file, left in
      context.note("applying \(schema)/\(file.fileName), \(left) left")
    }
    if context.isJSON { return try MigrationRow.write(MigrationRow.rows(done, []), context) }
    let count = done.count == 1 ? "1 file" : "\(done.count) files"
    try context.tell(done.isEmpty ? "No pending files." : "Applied \(count).")
  }
}

enum MigrateVerifyCommand: ProgramCommand {
  static let description = CommandDescription(
    "verify", summary: "rebuild the schema from its files in memory and show every difference",
    examples: [Example("fieldvault migrate verify", "check for manual schema changes")],
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
      try context.tell("The schema matches its files.")
    } else {
      for difference in differences {
        try context.output.line("\(difference.kind.rawValue): \(difference.type) \(difference.name)")
        for (title, sql) in [("files", difference.expected), ("vault", difference.found)] {
          guard let sql else { continue }
          try context.output.line(
            "  \(title):\n" + sql.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n"))
        }
      }
    }
    if !context.isJSON {
      for operation in stranded {
        try context.output.line(
          "orphaned: operation \(operation.operationId) refers to \(operation.entityType).\(operation.field), "
            + "which no longer exists")
      }
    }
    if !stranded.isEmpty {
      context.hint("the server may not have these changes: fieldvault outbox show ID, then outbox discard ID")
    }
    if !pending.isEmpty {
      let files = pending.count == 1 ? "1 pending file was" : "\(pending.count) pending files were"
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
