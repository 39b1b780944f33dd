import CipherSQL
import CommandLineKit
import VaultStore

enum DescribeCommand: ProgramCommand {
  static let description = CommandDescription(
    "describe", aliases: ["desc"], group: "Questions", summary: "describe the entities, or the fields of one",
    discussion: """
      Without ENTITY, lists the entities with the number of their fields and the policy that resolves conflicts. With \
      ENTITY, lists its fields with type, unit and rule. The unit is read from the comment of the column in the schema. \
      'set by FieldVault' marks the fields that users cannot set.
      """,
    arguments: [.optional("ENTITY", entityArgument.help, completion: .of(.entity))],
    options: [.flag("vertical", "one property a line")],
    examples: [
      Example("fieldvault describe", "list the entities"),
      Example("fieldvault describe Room", "list the fields of a room"),
      Example("fieldvault describe Room --json", "as a JSON array"),
    ],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault()
    guard let name = context.arguments.value("ENTITY") else { return try list(vault.entities, context) }
    let fields = FieldDescription.fields(of: try vault.entities.entity(name), vault.entities)
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginArray()
        for field in fields { field.write(to: &json) }
        json.endArray()
      }
    }
    let table = TableOutput(TextTable(["field", "type", "unit", "rule"], whole: ["field", "type", "unit"]), context)
    for field in fields { try table.add([field.name, field.type, field.unit ?? "", field.rule]) }
    try table.finish()
  }

  private static func list(_ entities: Entities, _ context: CommandContext) throws {
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginArray()
        for entity in entities.all {
          json.beginObject()
          json.member("entityType", entity.type)
          json.member("table", entity.table.name)
          json.member("fields", entity.fields.count)
          json.member("policy", entity.sync?.rules.policy.rawValue)
          json.member("schema", entity.sync?.schemaName)
          json.endObject()
        }
        json.endArray()
      }
    }
    let table = TableOutput(TextTable(["entity", "table", "fields", "policy"]), context)
    for entity in entities.all {
      let policy = entity.sync.map { $0.rules.policy.rawValue.replacing("_", with: " ") } ?? "not synced"
      try table.add([entity.type, entity.table.name, String(entity.fields.count), policy])
    }
    try table.finish()
    context.hint("To describe the fields of an entity: fieldvault describe ENTITY")
  }
}

/// A field of an entity, for users.
private struct FieldDescription {
  let name: String
  let type: String
  let unit: String?
  let isNotNull: Bool
  /// The entity or table that the field references.
  let reference: String?
  let values: [String]
  let defaultSQL: String?
  let checks: [String]
  /// Whether FieldVault sets the field.
  let isKept: Bool
  let comment: String?

  static func fields(of entity: Entity, _ entities: Entities) -> [FieldDescription] {
    let settable = Set(entity.fields)
    return entity.shownColumns.map { column in
      let reference = entity.reference(of: column.name)
      let values: [String] = if case .enumeration(let words) = column.type { words } else { [] }
      let target = reference.map { key in entities.all.first { $0.table.name == key.table }?.type ?? key.table }
      return FieldDescription(
        name: column.name, type: target == nil ? word(for: column.type) : "reference", unit: Units.unit(of: column),
        isNotNull: column.isNotNull, reference: target, values: values, defaultSQL: column.defaultSQL,
        checks: column.rules.map(oneLine), isKept: !settable.contains(column.name), comment: column.documentation)
    }
  }

  private static func word(for type: Catalog.ColumnType) -> String {
    switch type {
    case .integer: "integer"
    case .real: "number"
    case .text: "text"
    case .blob: "blob"
    case .any: "any"
    case .bool: "bool"
    case .enumeration: "choice"
    case .timestamp: "time"
    case .day: "date"
    case .uuid: "uuid"
    case .json: "json"
    }
  }

  private static func oneLine(_ sql: String) -> String {
    sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  /// The rule as a text: NOT NULL, the referenced entity, the allowed values and the CHECKs.
  var rule: String {
    if isKept { return "set by FieldVault" }
    var parts: [String] = []
    if isNotNull { parts.append("NOT NULL") }
    if let reference { parts.append("references \(reference)") }
    if !values.isEmpty { parts.append("one of \(values.joined(separator: ", "))") }
    // An expression is no value that a user would type.
    if let defaultSQL, !defaultSQL.contains("(") { parts.append("DEFAULT \(defaultSQL)") }
    parts += checks.map { "CHECK (\($0))" }
    return parts.joined(separator: "; ")
  }

  func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("name", name)
    json.member("type", type)
    json.member("unit", unit)
    json.member("rule", rule)
    json.member("notNull", isNotNull)
    json.member("references", reference)
    json.member("values", values)
    json.member("checks", checks)
    json.member("settable", !isKept)
    json.member("comment", comment)
    json.endObject()
  }
}
