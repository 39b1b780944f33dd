import CipherSQL
import CommandLineSupport
import OfflineStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What the commands that remove or restore records have in common.
private struct NamedRecords {
  let vault: Vault
  let entity: Entity
  /// Each once.
  let uuids: [UUID]

  init(_ context: CommandContext) throws {
    var uuids: [UUID] = []
    for word in context.arguments.values("UUID") {
      let uuid = try PutCommand.parseUUID(word, "UUID", context)
      if !uuids.contains(uuid) { uuids.append(uuid) }
    }
    self.uuids = uuids
    vault = try context.openVault()
    entity = try vault.entities.entity(try context.arguments.required("ENTITY"))
  }

  /// Such as `1 Room and 4 dependents`.
  func text(_ count: Int) -> String {
    let dependents = count - uuids.count
    let named = "\(countText(uuids.count)) \(entity.type)"
    if dependents <= 0 { return named }
    return "\(named) and \(countText(dependents)) \(dependents == 1 ? "dependent" : "dependents")"
  }

  func tell(_ key: String, _ count: Int, _ sentence: String, _ context: CommandContext) throws {
    guard context.isJSON else { return try context.tell(sentence) }
    try context.writeJSON { json in
      json.beginObject()
      json.member(key, count)
      json.endObject()
    }
  }
}

enum DeleteCommand {
  static func run(_ context: CommandContext) throws {
    let records = try NamedRecords(context)
    let planned = try records.vault.countDeletion(of: records.entity, records.uuids)
    if context.arguments.flag("dry-run") {
      return try records.tell("deleted", planned, "Would delete \(records.text(planned)).", context)
    }
    if planned > 1, context.canAsk, !context.arguments.flag("yes") {
      guard try context.confirms("Delete \(records.text(planned))?") else {
        context.exitCode = .failed
        return context.hint("Nothing was deleted.")
      }
    }
    let count = try records.vault.delete(records.entity, records.uuids)
    try records.tell("deleted", count, "Deleted \(records.text(count)).", context)
    let uuids = records.uuids.map(\.sqlText).joined(separator: " ")
    if records.entity.marksDeletion { context.hint("To restore: fieldvault undelete \(records.entity.type) \(uuids)") }
  }
}

enum UndeleteCommand {
  static func run(_ context: CommandContext) throws {
    let records = try NamedRecords(context)
    let count = try records.vault.undelete(records.entity, records.uuids)
    try records.tell("restored", count, "Restored \(records.text(count)).", context)
  }
}

enum PurgeCommand {
  static func run(_ context: CommandContext) throws {
    let records = try NamedRecords(context)
    if context.canAsk, !context.arguments.flag("yes") {
      guard try context.confirms("Remove \(records.text(records.uuids.count)) with dependents for good?") else {
        context.exitCode = .failed
        return context.hint("Nothing was removed.")
      }
    }
    let count = try records.vault.purge(records.entity, records.uuids)
    try records.tell("purged", count, "Removed \(records.text(count)) for good.", context)
  }
}
