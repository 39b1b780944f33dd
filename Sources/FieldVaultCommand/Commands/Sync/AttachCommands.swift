import Platform
import CommandLineKit
import SyncEngine
import VaultStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

enum AttachListCommand: ProgramCommand {
  static let description = CommandDescription(
    "list", aliases: ["ls"], summary: "list attachments and the state of their files",
    discussion: """
      'full' is 'here', 'absent' (not downloaded yet) or 'evicted' (removed to free space; downloaded on request).
      """,
    arguments: [
      .optional("ENTITY", "the entity of a record, to list only its attachments", completion: .of(.entity)),
      .optional("UUID", recordHelp, completion: .of(.record)),
    ],
    options: TableOptions.layout,
    examples: [
      Example("fieldvault attach list Room 0193...", "the attachments of a room"),
      Example("fieldvault attach ls --json", "all attachments as JSON"),
    ],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    let identifier = try context.identifiers("UUID").first
    if context.arguments.value("ENTITY") != nil, identifier == nil {
      throw context.arguments.mistake("the uuid of the record is missing", about: "UUID")
    }
    let vault = try context.openVault()
    let entity = try context.arguments.value("ENTITY").map { try vault.entities.entity($0) }
    let owner = try entity.flatMap { entity in
      try identifier.map { (entity: entity, uuid: try vault.uuid($0, of: entity).sqlText) }
    }
    if context.isJSON {
      var json = JSONWriter(for: context.output)
      json.beginArray()
      try vault.forEachAttachment(of: owner) { attachment in
        try AttachmentFormat.write(attachment, to: &json)
        try json.drain(to: context.output)
      }
      json.endArray()
      json.endDocument()
      return try json.drain(to: context.output)
    }
    let times = TimeFormat(context)
    let captured = times.title("captured")
    let table = TableOutput(
      TextTable(["uuid", "name", "size", "type", "here", "upload", captured], optional: ["type", captured]), context)
    try vault.forEachAttachment(of: owner) { try table.add(AttachmentFormat.cells(of: $0, times)) }
    try table.finish()
    if table.isEmpty { context.hint("No attachments. To add one: fieldvault attach add ENTITY UUID FILE") }
  }
}

enum AttachExportCommand: ProgramCommand {
  static let description = CommandDescription(
    "export", summary: "write an attachment to a file, decrypted",
    discussion: """
      FILE appears only when it is complete and verified. An existing file is not overwritten without --force. If \
      FILE is a folder, the attachment keeps its own name, without unsafe characters. If the attachment is not on \
      this device, the command requests it and exits with 7; the next sync downloads it.
      """,
    arguments: [
      .required("UUID", recordHelp, completion: .of(.attachment)),
      .required("FILE", "the file to write", completion: .file),
    ],
    options: [
      .flag("thumbnail", short: "t", "write the thumbnail instead"),
      .flag("force", short: "f", "replace an existing file"),
    ],
    examples: [
      Example("fieldvault attach export 0193... roof.jpg", "write a photo to a file"),
      Example("fieldvault attach export 0193... . --thumbnail", "write the thumbnail to the current folder"),
    ],
    exitCodes: usual + [.offline, .noSpace])

  static func run(_ context: CommandContext) throws {
    let identifier = try context.identifier("UUID")
    let file = try context.arguments.required("FILE")
    let vault = try context.openVault(separatingReads: true)
    let uuid = try vault.attachmentUUID(identifier)
    let variant = context.arguments.flag("thumbnail") ? AttachmentVariant.thumbnail : .full
    let (path, bytes): (String, Int)
    do {
      (path, bytes) = try export(uuid, variant, to: file, vault, context)
    } catch let missing as VaultError where missing.code == .notHere {
      // Opening it has asked for it.
      try fetch(uuid, variant, vault, context, missing)
      (path, bytes) = try export(uuid, variant, to: file, vault, context)
    }
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("file", path)
        json.member("bytes", bytes)
        json.endObject()
      }
    }
    try context.tell("Wrote \(escaped(path)), \(byteText(bytes)), decrypted.")
  }

  private static func export(
    _ uuid: UUID, _ variant: AttachmentVariant, to file: String, _ vault: Vault, _ context: CommandContext
  ) throws -> (path: String, byteCount: Int) {
    let line = ByteProgressLine("Writing \(escaped(file))", context)
    defer { line.finish() }
    return try vault.exportAttachment(uuid, variant, to: file, overwrites: context.arguments.flag("force")) {
      line.show($0, of: $1)
    }
  }

  /// Fetches a file from the server, if a server is set and permitted.
  /// - Throws: `missing` if no server is set or the server does not have the file; the failure of the connection.
  private static func fetch(
    _ uuid: UUID, _ variant: AttachmentVariant, _ vault: Vault, _ context: CommandContext, _ missing: VaultError
  ) throws {
    guard let settings = try vault.remote(), settings.hasCredentials, try vault.preference(.mode) != "device" else {
      throw missing
    }
    let server = try Server(of: vault)
    let line = ByteProgressLine("Fetching \(escaped(missing.name ?? uuid.sqlText))", context)
    defer { line.finish() }
    let report = try Waiting.run(taking: { (event: SyncEvent) in
      if case .file(let progress) = event, !progress.isUpload, let whole = progress.byteCount {
        line.show(Int(clamping: progress.bytesDone), of: Int(clamping: whole))
      }
    }) { tell in
      let worker = SyncWorker(vault: vault, remote: server.remote, monitor: server.monitor)
      let events = worker.events
      let listening = Task { for await event in events { tell(event) } }
      defer { listening.cancel() }
      return try await worker.fetchFiles { try isHere(uuid, variant, vault) }
    }
    if let failure = report.failure { throw failure }
    guard try isHere(uuid, variant, vault) else {
      throw VaultError(
        .notHere, "\(missing.name ?? uuid.sqlText) is not on this device, and the server cannot provide it yet",
        hint: "another device may still be uploading it; fieldvault attach list shows its state")
    }
  }

  private static func isHere(_ uuid: UUID, _ variant: AttachmentVariant, _ vault: Vault) throws -> Bool {
    let record = try vault.attachment(uuid)
    return (variant == .full ? record.full : record.thumbnail) == "here"
  }
}

enum AttachRemoveCommand: ProgramCommand {
  static let description = CommandDescription(
    "remove", aliases: ["rm"], summary: "delete attachments",
    discussion: """
      Deletes the attachment record. 'outbox discard' restores it until the server has acknowledged the deletion. \
      After that the key is deleted, and the file can no longer be decrypted.
      """,
    arguments: [.oneOrMore("UUID", recordHelp, completion: .of(.attachment))],
    examples: [Example("fieldvault attach remove 0193...", "delete a photo")],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    let identifiers = try context.identifiers("UUID")
    let vault = try context.openVault()
    let count = try vault.removeAttachments(try identifiers.map { try vault.attachmentUUID($0) })
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("deleted", count)
        json.endObject()
      }
    }
    try context.tell("Deleted \(countText(count)) \(count == 1 ? "attachment" : "attachments").")
  }
}

enum AttachRetryCommand: ProgramCommand {
  static let description = CommandDescription(
    "retry", summary: "retry failed uploads and downloads",
    discussion: "A transfer is not retried automatically after six failures. Records never wait for files.",
    arguments: [.optional("UUID", "the attachment (default: all)", completion: .of(.attachment))],
    examples: [Example("fieldvault attach retry", "after the server was repaired")],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let identifier = try context.identifiers("UUID").first
    let vault = try context.openVault()
    let count = try vault.retryTransfers(of: try identifier.map { try vault.attachmentUUID($0) })
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("retried", count)
        json.endObject()
      }
    }
    try context.tell("The next sync retries \(countText(count)) \(count == 1 ? "file" : "files").")
  }
}

/// The form of attachments in output.
enum AttachmentFormat {
  /// Writes an attachment as an object.
  static func write(_ attachment: AttachmentRecord, to json: inout JSONWriter) throws {
    json.beginObject()
    json.member("uuid", attachment.uuid)
    json.member("entityType", attachment.entityType)
    for (column, owner) in attachment.references.sorted(by: { $0.key < $1.key }) { json.member(column, owner) }
    json.member("fileName", attachment.fileName)
    json.member("fileSize", attachment.byteCount.map { Int(clamping: $0) })
    json.member("mimeType", attachment.mimeType)
    json.member("width", attachment.width)
    json.member("height", attachment.height)
    json.member("capturedAt", attachment.capturedAt)
    json.member("contentUuid", attachment.contentUuid)
    json.member("contentDigest", attachment.digest)
    json.member("full", attachment.full)
    json.member("thumbnail", attachment.thumbnail)
    json.member("uploadStatus", attachment.uploadStatus)
    json.member("note", attachment.note)
    json.endObject()
  }

  static func cells(of attachment: AttachmentRecord, _ times: TimeFormat) -> [String] {
    let here =
      switch (attachment.full, attachment.thumbnail) {
      case ("here", _): "yes"
      case (nil, _): "no content"
      case (_, "here"): "thumbnail"
      default: "no"
      }
    // A missing file comes from another device, whose own row has its progress.
    let upload = attachment.full == "absent" ? "elsewhere" : attachment.uploadStatus ?? ""
    return [
      attachment.uuid, attachment.fileName ?? "", attachment.byteCount.map { byteText(Int(clamping: $0)) } ?? "",
      attachment.mimeType ?? "", here, upload, attachment.capturedAt.map(times.text) ?? "",
    ]
  }

  /// Prints a hint if files are about to be evicted.
  static func warnOfLimit(_ usage: AttachmentUsage, _ context: CommandContext) throws {
    guard usage.isNearLimit, usage.contents > 0 else { return }
    let used = "\(byteText(Int(clamping: usage.bytesUsed))) of \(byteText(Int(clamping: usage.limit)))"
    context.hint(
      usage.bytesUsed > usage.limit
        ? "Files use \(used). Files not on the server stay here: run 'fieldvault sync' or raise storage-limit."
        : "Files use \(used). Files that the server has will soon be evicted.")
  }
}
