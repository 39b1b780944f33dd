import CommandLineKit
import SchemaModel
import VaultStore

/// The kinds of values that the completion scripts ask for.
enum CompletionValues: String {
  /// The entities.
  case entity
  /// The fields of the entity on the line.
  case field
  /// Several fields of the entity on the line, with commas.
  case fields
  /// The fields that a user writes, each with an equals sign.
  case assignment
  /// The records of the entity on the line.
  case record
  /// The deleted records of the entity on the line.
  case deletedRecord
  case attachment
  /// The operations of the outbox.
  case operation
  case conflict
  /// The slots of the keyring.
  case slot
}

extension Completion {
  /// The values of a kind.
  static func of(_ values: CompletionValues) -> Self { .values(values.rawValue) }
}

enum CompleteCommand: ProgramCommand {
  static let description = CommandDescription.completionValues()

  /// The greatest number of ids that are offered.
  private static let limit = 100

  /// The greatest number of characters of a description.
  private static let width = 60

  static func run(_ context: CommandContext) throws {
    guard let kind = try context.arguments.value("KIND", as: CompletionValues.self) else { return }
    let prefix = try context.arguments.required("PREFIX")
    let line = ArgumentParser(FieldVaultProgram.program).parseBeginning(context.arguments.values("WORD"))
    for value in try values(of: kind, prefix, CommandContext(line)) {
      // A shell reads a line and a tab, and a value with a space would need quotes.
      guard value.id.hasPrefix(prefix), !value.id.contains(where: \.isWhitespace), escaped(value.id) == value.id else {
        continue
      }
      let text = escaped(String(value.text.prefix(width)))
      // As bytes, because text is written with its tabs escaped.
      try context.output.write((text.isEmpty ? "\(value.id)\n" : "\(value.id)\t\(text)\n").utf8)
    }
  }

  private static func values(
    of kind: CompletionValues, _ prefix: String, _ line: CommandContext
  ) throws -> [NamedIdentifier] {
    switch (kind, kind == .slot ? nil : try line.openVaultUnasked()) {
    case (.slot, _):
      return try Vault.keyring(at: try line.vaultPath()).slots.map {
        NamedIdentifier($0.id, $0.label.isEmpty ? $0.kind.rawValue : "\($0.kind.rawValue), \($0.label)")
      }
    case (_, nil): return []
    case (.entity, let vault?): return vault.entities.all.map { NamedIdentifier($0.type) }
    case (.field, let vault?): return try entity(line, vault)?.shownColumns.map { NamedIdentifier($0.name) } ?? []
    case (.fields, let vault?):
      let chosen = prefix.lastIndex(of: ",").map { prefix[...$0] } ?? ""
      return try entity(line, vault)?.shownColumns.map { NamedIdentifier("\(chosen)\($0.name)") } ?? []
    case (.assignment, let vault?):
      // The uuid has an option.
      return try entity(line, vault)?.fields.filter { $0 != "uuid" }.map { NamedIdentifier("\($0)=") } ?? []
    case (.record, let vault?), (.deletedRecord, let vault?):
      guard let entity = try entity(line, vault) else { return [] }
      return try vault.records(
        beginningWith: prefix, of: entity, among: kind == .record ? .live : .deleted, limit: limit)
    case (.attachment, let vault?): return try vault.attachments(beginningWith: prefix, limit: limit)
    case (.operation, let vault?): return try vault.operations(beginningWith: prefix, limit: limit)
    case (.conflict, let vault?): return try vault.conflicts(beginningWith: prefix, limit: limit)
    }
  }

  /// Returns the entity that the line names; `nil` before it does.
  private static func entity(_ line: CommandContext, _ vault: Vault) throws -> Entity? {
    guard line.arguments.isDeclared("ENTITY") else { return nil }
    return try line.arguments.value("ENTITY").map { try vault.entities.entity($0) }
  }
}
