import CommandLineKit
import Platform
import VaultStore
import VaultKeys

enum DoctorCommand: ProgramCommand {
  static let description = CommandDescription(
    "doctor", group: "Vault", summary: "check the vault, and repair it where possible",
    discussion: """
      Checks the keyring, every page of the database, its tables, indexes, references and full-text search, its \
      schema, and the files around it. It also checks a vault that cannot be opened, and other processes may use the \
      vault meanwhile. Each finding states its meaning and a remedy. Exits with 0 if there are no findings, \
      with 5 if a file is damaged, and with 1 if another finding needs a manual repair. The vault keeps the last result without \
      damage, which `fieldvault inspect` shows. --repair removes leftovers of \
      interrupted work and repairs permissions, indexes, full-text search and derived triggers; it changes the database \
      only after a successful repair of a copy. If pages are damaged, it saves every readable record to a new vault, \
      NAME.salvaged.vault, and leaves the damaged vault unchanged.
      """,
    options: [.flag("repair", "repair problems that can be repaired without losing data")],
    examples: [
      Example("fieldvault doctor", "check the vault"),
      Example("fieldvault doctor --repair --json", "check and repair, with JSON output"),
    ],
    exitCodes: usual + [.noSpace])

  static func run(_ context: CommandContext) throws {
    let path = try context.vaultPath()
    let line = StepLine(context)
    defer { line.finish() }
    let doctor = try Doctor(
      path: path, schemas: CommandContext.shippedSchemas, progress: { line.show($0) },
      secret: {
        line.finish()
        return try context.secret()
      })
    var diagnosis = try doctor.examine()
    var repair: RepairReport?
    if context.arguments.flag("repair") {
      let done = try doctor.repair(diagnosis)
      diagnosis = try doctor.examine(after: done)
      repair = done
    }
    line.finish()
    if context.isJSON {
      try write(diagnosis, repair, context)
    } else {
      try tell(repair, context)
      try tell(diagnosis, context)
    }
    if diagnosis.isDamaged {
      context.exitCode = .damaged
    } else if !diagnosis.isOK || repair.map({ !$0.failed.isEmpty }) ?? false {
      context.exitCode = .failed
    }
  }

  // MARK: Readable text

  private static func tell(_ diagnosis: Diagnosis, _ context: CommandContext) throws {
    let terminal = context.output.terminal
    for finding in diagnosis.findings {
      let title: String
      switch finding.severity {
      case .damage: title = terminal.styled("damage", .red, .bold)
      case .warning: title = terminal.styled("warning", .bold)
      case .note: title = "note"
      }
      try context.output.line("\(title): \(finding.check): \(finding.what)")
      try context.output.line("  means: \(finding.meaning)")
      try context.output.line("  next:  \(finding.next.hint)")
    }
    if diagnosis.isOK { try context.tell("No problems found.") }
    if diagnosis.isOK { for text in diagnosis.checked { try context.tell("  checked: \(text)") } }
    for text in diagnosis.unchecked { try context.tell("Not checked: \(text)") }
  }

  private static func tell(_ repair: RepairReport?, _ context: CommandContext) throws {
    guard let repair else { return }
    for text in repair.done { try context.tell("Repaired: \(text).") }
    for text in repair.failed { try context.output.line("Not repaired: \(text)") }
    guard let salvaged = repair.salvaged else { return }
    for table in salvaged.tables where !table.isWhole {
      try context.output.line("  \(table.name): \(countText(table.rows)) rows saved; \(losses(of: table))")
    }
    for problem in salvaged.problems { try context.output.line("  \(problem)") }
    context.hint("The new vault opens with the same passphrase and key files. The old vault is unchanged; keep it.")
  }

  private static func losses(of table: SalvagedTable) -> String {
    var parts: [String] = []
    if !table.lost.isEmpty {
      let ranges = table.lost.map { (range: ClosedRange<Int64>) -> String in
        if range.upperBound == .max { return "from \(range.lowerBound) on" }
        let isOne = range.lowerBound == range.upperBound
        return isOne ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
      }
      parts.append("lost rows: ids \(ranges.joined(separator: ", "))")
    }
    if table.hasUnknownLoss { parts.append("rows with unknown ids are lost") }
    if table.reseeded > 0 { parts.append("\(countText(table.reseeded)) rows come from the schema files") }
    if table.refused > 0 { parts.append("\(countText(table.refused)) rows violate a rule of the table") }
    return parts.joined(separator: "; ")
  }

  // MARK: For programs

  private static func write(_ diagnosis: Diagnosis, _ repair: RepairReport?, _ context: CommandContext) throws {
    try context.writeJSON { json in
      json.beginObject()
      json.member("ok", diagnosis.isOK)
      json.key("findings")
      json.beginArray()
      for finding in diagnosis.findings {
        json.beginObject()
        json.member("severity", finding.severity.rawValue)
        json.member("check", finding.check)
        json.member("what", finding.what)
        json.member("meaning", finding.meaning)
        json.member("next", finding.next.hint)
        json.endObject()
      }
      json.endArray()
      list("checked", diagnosis.checked, &json)
      list("unchecked", diagnosis.unchecked, &json)
      if let repair {
        list("repaired", repair.done, &json)
        list("notRepaired", repair.failed, &json)
        if let salvaged = repair.salvaged { write(salvaged, &json) }
      }
      json.endObject()
    }
  }

  private static func list(_ name: String, _ texts: [String], _ json: inout JSONWriter) {
    json.key(name)
    json.beginArray()
    for text in texts { json.value(text) }
    json.endArray()
  }

  private static func write(_ salvaged: SalvageReport, _ json: inout JSONWriter) {
    json.key("salvaged")
    json.beginObject()
    json.member("vault", salvaged.vault)
    json.member("attachments", salvaged.attachments)
    json.key("tables")
    json.beginArray()
    for table in salvaged.tables {
      json.beginObject()
      json.member("table", table.name)
      json.member("rows", table.rows)
      json.key("lost")
      json.beginArray()
      for range in table.lost {
        json.beginObject()
        json.key("from")
        json.value(range.lowerBound)
        json.key("to")
        json.value(range.upperBound)
        json.endObject()
      }
      json.endArray()
      json.member("hasUnknownLoss", table.hasUnknownLoss)
      json.member("reseeded", table.reseeded)
      json.member("refused", table.refused)
      json.endObject()
    }
    json.endArray()
    list("problems", salvaged.problems, &json)
    json.endObject()
  }
}

/// Shows the current step and its duration on a terminal, also during long steps.
private final class StepLine: Sendable {
  private let terminal: Terminal
  private let isQuiet: Bool
  private let line = Locked<(what: String, line: ProgressLine)?>(nil)

  init(_ context: CommandContext) {
    (terminal, isQuiet) = (context.messages.terminal, context.isQuiet)
    guard terminal.canRedraw, !isQuiet else { return }
    // Redraws the line until the command ends.
    Task.detached { [weak self] in
      while let self {
        self.line.withLock { $0?.line.advance(by: 0) }
        try? await Task.sleep(for: .milliseconds(150))
      }
    }
  }

  func show(_ step: String) {
    line.withLock { current in
      current?.line.finish()
      current = (step, ProgressLine(step, unit: .time, terminal: terminal, isQuiet: isQuiet))
    }
  }

  func finish() {
    line.withLock { current in
      current?.line.finish()
      current = nil
    }
  }
}
