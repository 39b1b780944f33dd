import Platform
import CipherSQL
import CommandLineKit
import VaultStore
import SyncEngine
import HTTPClient

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The common parts of the commands that remove or restore records.
private struct NamedRecords {
  let vault: Vault
  let entity: Entity
  /// Each once.
  let uuids: [UUID]

  init(_ context: CommandContext, among standing: RecordStanding) throws {
    let identifiers = try context.identifiers("UUID")
    vault = try context.openVault()
    entity = try vault.entities.entity(try context.arguments.required("ENTITY"))
    var uuids: [UUID] = []
    for identifier in identifiers {
      let uuid = try vault.uuid(identifier, of: entity, among: standing)
      if !uuids.contains(uuid) { uuids.append(uuid) }
    }
    self.uuids = uuids
  }

  /// Such as `1 Room and 4 dependents`.
  func text(_ count: Int) -> String {
    let dependents = count - uuids.count
    let named = "\(countText(uuids.count)) \(entity.type)"
    if dependents <= 0 { return named }
    return "\(named) and \(countText(dependents)) \(dependents == 1 ? "dependent" : "dependents")"
  }

  func tell(
    _ key: String, _ count: Int, _ sentence: String, _ context: CommandContext,
    more: (inout JSONWriter) -> Void = { _ in }
  ) throws {
    guard context.isJSON else { return try context.tell(sentence) }
    try context.writeJSON { json in
      json.beginObject()
      json.member(key, count)
      more(&json)
      json.endObject()
    }
  }
}

enum DeleteCommand: ProgramCommand {
  static let description = CommandDescription(
    "delete", aliases: ["rm"], group: "Records", summary: "delete records and their dependents",
    discussion: """
      Marks the records as deleted. Sync removes them from the vault once the server has acknowledged the deletion; \
      'undelete' restores them before and after that. Records that the server never had are removed for good. The \
      command asks on a terminal if more than one record is deleted, dependents included.
      """,
    arguments: [entityArgument, .oneOrMore("UUID", recordHelp, completion: .of(.record))],
    options: [
      .flag("yes", short: "y", "do not ask"),
      .flag("dry-run", "show how many records would be deleted"),
    ],
    examples: [
      Example("fieldvault delete Room 0193...", "delete a room with its logs and photos"),
      Example("fieldvault delete Room 0193... --dry-run", "count the records"),
    ],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    let records = try NamedRecords(context, among: .live)
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
    if records.entity.marksDeletion {
      let undo = "fieldvault undelete \(records.entity.type) \(uuids)"
      context.hint("To restore\(try hasUnsent(records) ? ", before the next sync" : ""): \(undo)")
    }
  }
}

extension DeleteCommand {
  /// Whether the next sync removes records that the server does not have, so that nothing can restore them.
  private static func hasUnsent(_ records: NamedRecords) throws -> Bool {
    guard try records.vault.remote() != nil else { return false }
    return try records.vault.hasUnsentDeletion(of: records.entity, records.uuids)
  }
}

enum UndeleteCommand: ProgramCommand {
  static let description = CommandDescription(
    "undelete", group: "Records", summary: "restore deleted records and the dependents deleted with them",
    discussion: """
      If the deletion has not been sent, it is cancelled without a network. Otherwise the server restores the \
      dependents, and the next sync fetches them. A record that sync has removed from the vault is fetched from the \
      FieldVault server, which keeps deletions for 90 days by default. Either all records are restored or none.
      """,
    arguments: [entityArgument, .oneOrMore("UUID", recordHelp, completion: .of(.deletedRecord))],
    examples: [Example("fieldvault undelete Room 0193...", "restore a room with its logs and photos")],
    exitCodes: usual + [.offline, .refused, .credentials])

  static func run(_ context: CommandContext) throws {
    let records = try NamedRecords(context, among: .deleted)
    let result = try restore(records)
    try records.tell("restored", result.restored, "Restored \(records.text(result.restored)).", context) { json in
      json.member("fetched", result.fetched)
      json.member("dependentsFollow", result.dependentsFollow)
    }
    if result.dependentsFollow {
      context.hint(
        "The next sync restores the dependents that were deleted with \(records.uuids.count == 1 ? "it" : "them").")
    }
  }

  /// Restores records of the vault without a network, and fetches the others.
  private static func restore(_ records: NamedRecords) throws -> Restoration {
    let (vault, entity, uuids) = (records.vault, records.entity, records.uuids)
    guard let absent = try vault.absentRecords(entity, uuids).first else { return try vault.undelete(entity, uuids) }
    guard entity.sync != nil, let settings = try vault.remote() else {
      throw VaultError(
        .noSuchRecord,
        "no \(entity.type) \(absent.sqlText) in this vault"
          + (entity.sync == nil ? "" : ", and no server to fetch it from"),
        hint: "to list deleted records: fieldvault list \(entity.type) --deleted")
    }
    guard settings.hasCredentials else { throw RemoteFailure.noToken(for: settings.url) }
    let server = try Server(of: vault, limits: Server.limitsOfQuestion)
    return try Waiting.run(isStoppable: true, taking: { (_: Never) in }) { _ in
      try await SyncWorker(vault: vault, remote: server.remote, monitor: server.monitor).undelete(entity, uuids)
    }
  }
}

enum PurgeCommand: ProgramCommand {
  static let description = CommandDescription(
    "purge", group: "Records", summary: "remove deleted records for good",
    discussion: """
      Removes the rows of deleted records and their dependents, and the keys of their files. The command fails if the \
      server has not acknowledged a deletion. Sync purges acknowledged deletions automatically. Asks on a terminal.
      """,
    arguments: [entityArgument, .oneOrMore("UUID", recordHelp, completion: .of(.deletedRecord))],
    options: [.flag("yes", short: "y", "do not ask")],
    examples: [Example("fieldvault purge Room 0193...", "remove a deleted room for good")],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    let records = try NamedRecords(context, among: .deleted)
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
