import CommandLineSupport
import OfflineStore

enum AttachListCommand {
  static func run(_ context: CommandContext) throws {
    let word = context.arguments.value("UUID")
    if context.arguments.value("ENTITY") != nil, word == nil {
      throw context.arguments.mistake("the uuid of the record is missing", about: "UUID")
    }
    let uuid = try word.map { try PutCommand.parseUUID($0, "UUID", context).sqlText }
    let vault = try context.openVault()
    let entity = try context.arguments.value("ENTITY").map { try vault.entities.entity($0) }
    let owner = entity.flatMap { entity in uuid.map { (entity: entity, uuid: $0) } }
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
    let terminal = context.output.terminal
    var table = AttachmentFormat.table(for: terminal)
    var count = 0
    try vault.forEachAttachment(of: owner) { attachment in
      table.add(AttachmentFormat.cells(of: attachment))
      count += 1
      // Aligned up to a few screenfuls, so that a long list needs no long memory.
      guard count % 500 == 0 else { return }
      try context.output.write(table.text(for: terminal))
      table = AttachmentFormat.table(for: terminal)
    }
    if !table.isEmpty { try context.output.write(table.text(for: terminal)) }
    if count == 0 { context.hint("There are no attachments: fieldvault attach add ENTITY UUID FILE") }
  }
}

enum AttachExportCommand {
  static func run(_ context: CommandContext) throws {
    let uuid = try PutCommand.parseUUID(try context.arguments.required("UUID"), "UUID", context)
    let file = try context.arguments.required("FILE")
    let vault = try context.openVault()
    let line = ByteLine("Writing \(escaped(file))", context)
    defer { line.finish() }
    let (path, bytes) = try vault.exportAttachment(
      uuid, context.arguments.flag("thumbnail") ? .thumbnail : .full, to: file,
      overwrites: context.arguments.flag("force")
    ) { line.show($0, of: $1) }
    line.finish()
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("file", path)
        json.member("bytes", bytes)
        json.endObject()
      }
    }
    try context.tell("Wrote \(escaped(path)), \(byteText(bytes)), not encrypted.")
  }
}

enum AttachRemoveCommand {
  static func run(_ context: CommandContext) throws {
    let uuids = try context.arguments.values("UUID").map { try PutCommand.parseUUID($0, "UUID", context) }
    let vault = try context.openVault()
    let count = try vault.removeAttachments(uuids)
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

enum AttachRetryCommand {
  static func run(_ context: CommandContext) throws {
    let uuid = try context.arguments.value("UUID").map { try PutCommand.parseUUID($0, "UUID", context) }
    let vault = try context.openVault()
    let count = try vault.retryTransfers(of: uuid)
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("retried", count)
        json.endObject()
      }
    }
    try context.tell("\(countText(count)) \(count == 1 ? "file is" : "files are") tried again with the next sync.")
  }
}
