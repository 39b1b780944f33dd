import Platform
import CommandLineKit
import VaultStore
import SyncEngine

enum StatusCommand: ProgramCommand {
  static let description = CommandDescription(
    "status", aliases: ["st"], group: "Sync", summary: "show the state of sync and the entities",
    discussion: """
      Shows pending and failed operations, open conflicts, and whether the server is reachable: online, limited (a \
      network is available, but the server does not respond within 2 seconds) or offline.
      """,
    examples: [
      Example("fieldvault status", "show the status"), Example("fieldvault status --json", "as JSON"),
    ],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault()
    let status = try vault.status()
    let files = try vault.attachmentUsage()
    let network = try Server.state(of: vault)
    let unlockedUntil = try AgentPlace(vault: try context.vaultPath()).flatMap { try AgentClient($0).end() }.map {
      TimestampText.text($0)
    }
    if context.isJSON { return try write(status, files, network, unlockedUntil, context) }
    try tell(status, files, network, unlockedUntil, context)
    try AttachmentFormat.warnOfLimit(files, context)
  }

  private static func write(
    _ status: StoreStatus, _ files: AttachmentUsage, _ network: NetworkState?, _ unlockedUntil: String?,
    _ context: CommandContext
  ) throws {
    try context.writeJSON { json in
      json.beginObject()
      json.member("pending", status.pending)
      json.member("processing", status.processing)
      json.member("failed", status.failed)
      json.member("conflicts", status.conflicts)
      json.member("network", network?.rawValue)
      json.member("lastSync", status.lastSync)
      json.key("entities")
      json.beginArray()
      for entity in status.entities {
        json.beginObject()
        json.member("entityType", entity.entityType)
        json.member("records", entity.records)
        json.member("unsent", entity.dirty)
        json.endObject()
      }
      json.endArray()
      json.member("unlockedUntil", unlockedUntil)
      json.member("mode", status.mode)
      json.member("url", status.remoteURL)
      json.member("pause", status.pause)
      json.member("heldDeletions", status.heldDeletions)
      json.member("parked", status.parked)
      json.member("kept", status.kept)
      SyncFormat.lists(status.lists, &json)
      json.key("attachments")
      json.beginObject()
      json.member("waiting", files.waiting)
      json.member("bytesWaiting", Int(clamping: files.bytesWaiting))
      json.member("failed", files.failed)
      json.member("bytesUsed", Int(clamping: files.bytesUsed))
      json.member("limit", Int(clamping: files.limit))
      json.member("nearLimit", files.isNearLimit)
      json.endObject()
      json.endObject()
    }
  }

  // MARK: Readable text

  private static func tell(
    _ status: StoreStatus, _ files: AttachmentUsage, _ network: NetworkState?, _ unlockedUntil: String?,
    _ context: CommandContext
  ) throws {
    let terminal = context.output.terminal
    func line(_ title: String, _ text: String, _ style: Style? = nil) throws {
      let padded = title + String(repeating: " ", count: max(0, 11 - title.count))
      try context.output.line(terminal.styled(padded, .bold) + (style.map { terminal.styled(text, $0) } ?? text))
    }
    try line("Server", server(status, network), network == .online ? .green : nil)
    if let pause = status.pause { try line("Paused", escaped(pause), .yellow) }
    if status.heldDeletions != nil { try line("", SyncFormat.acceptDeletions) }
    try line("Last sync", status.lastSync.map { RelativeTime.ago($0) } ?? "never")
    var waiting = status.pending == 0 ? "nothing" : operationsText(status.pending)
    if status.parked > 0 { waiting += ", \(countText(status.parked)) blocked by a failed or conflicted operation" }
    try line("Pending", waiting)
    if status.processing > 0 { try line("In flight", operationsText(status.processing)) }
    if status.failed > 0 { try line("Failed", "\(operationsText(status.failed)): fieldvault outbox list", .red) }
    if status.conflicts > 0 {
      try line("Conflicts", "\(countText(status.conflicts)) open: fieldvault conflicts list", .yellow)
    }
    if status.kept > 0 {
      try line("Kept", "\(recordsText(status.kept)) from the server cannot be stored yet: fieldvault doctor")
    }
    for list in status.lists { try line("List", SyncFormat.sentence(about: list), .yellow) }
    if files.contents > 0 {
      let waiting =
        files.waiting == 0
        ? "nothing to upload" : "\(filesText(files.waiting)) to upload, \(byteText(Int(clamping: files.bytesWaiting)))"
      try line(
        "Files", "\(waiting); \(byteText(Int(clamping: files.bytesUsed))) here", files.isNearLimit ? .yellow : nil)
    }
    if files.failed > 0 { try line("", "\(filesText(files.failed)) failed: fieldvault attach retry", .red) }
    if let unlockedUntil {
      try line("Unlocked", "until \(RelativeTime.short(unlockedUntil)) UTC, for all of your programs: fieldvault lock")
    }
    let shown = status.entities.filter { $0.records > 0 || $0.dirty > 0 }
    guard !shown.isEmpty else { return }
    var table = TextTable(["entity", "records", "unsent"])
    for entity in shown {
      table.add([entity.entityType, String(entity.records), entity.dirty == 0 ? "" : String(entity.dirty)])
    }
    try context.output.write("\n" + table.text(for: terminal))
  }

  private static func server(_ status: StoreStatus, _ network: NetworkState?) -> String {
    guard let url = status.remoteURL else { return "none: fieldvault remote set URL" }
    if status.mode == "device" { return "\(escaped(url)), not used: the vault is in device-only mode" }
    return switch network {
    case .online: "\(escaped(url)), online"
    case .limited: "\(escaped(url)) does not respond; no data is lost"
    case .offline, nil: "\(escaped(url)), offline: no network"
    }
  }
}

enum WhyCommand: ProgramCommand {
  static let description = CommandDescription(
    "why", group: "Sync", summary: "explain the sync state of a record and what blocks it",
    arguments: [entityArgument, .required("UUID", recordHelp, completion: .of(.record))],
    examples: [
      Example("fieldvault why AtmosphericLog 0193...", "show the operations that block a reading")
    ],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    let identifier = try context.identifier("UUID")
    let vault = try context.openVault()
    let entity = try vault.entities.entity(try context.arguments.required("ENTITY"))
    let why = try vault.why(entity, try vault.uuid(identifier, of: entity))
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("syncStatus", why.syncStatus)
        json.member("reason", why.text)
        json.key("chain")
        json.beginArray()
        for link in why.chain {
          json.beginObject()
          json.member("entityType", link.entityType)
          json.member("entityUuid", link.entityUuid)
          json.member("operationId", link.operationId)
          json.member("status", link.status)
          json.member("reason", link.text)
          json.endObject()
        }
        json.endArray()
        json.endObject()
      }
    }
    try context.output.line("\(context.output.terminal.styled(why.syncStatus, .bold)): \(escaped(why.text))")
    // The first link is the record itself, whose reason is shown above.
    for link in why.chain.dropFirst() {
      try context.output.line("  \(link.entityType) \(link.entityUuid) is \(link.status): \(escaped(link.text))")
    }
  }
}
