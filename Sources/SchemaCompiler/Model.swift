import CipherSQL

/// The catalogue with the Swift names and types of everything in it.
struct Model: Sendable {
  let catalog: Catalog
  /// The entity types of the registry, by table.
  let registeredTypes: [String: String]
  /// `schema/file` that made each table and view.
  let origins: [String: String]
  /// The schema that becomes Swift.
  let emitted: String

  /// The Swift type of a table or view.
  func typeName(of table: Catalog.Table) -> String {
    if let type = registeredTypes[table.name] { return SwiftNames.type(type) }
    return SwiftNames.entity(ofTable: table.name) + (table.kind == .view ? "View" : "")
  }

  /// What a file makes, in the order of the file.
  func tables(of file: MigrationFile, in schema: Schema) -> [Catalog.Table] {
    let origin = schema.name + "/" + file.fileName
    return catalog.tables.filter { $0.kind != .virtual && origins[$0.name] == origin }
  }

  /// True when a table becomes a Swift type in this run.
  func isEmitted(_ table: Catalog.Table) -> Bool {
    table.kind != .virtual && origins[table.name]?.hasPrefix(emitted + "/") == true
  }

  /// The Swift type of a column's values, optionality included.
  func swiftType(of column: Catalog.Column, in table: Catalog.Table, nested: Bool = true) -> String {
    let base = baseType(of: column, in: table, nested: nested)
    return column.isNotNull ? base : base + "?"
  }

  /// The Swift type of a column's values that are not NULL.
  func baseType(of column: Catalog.Column, in table: Catalog.Table, nested: Bool = true) -> String {
    switch column.type {
    case .integer: "Int64"
    case .real: "Double"
    case .text: "String"
    case .blob: "Data"
    case .any: "SQLArgument"
    case .bool: "Bool"
    case .timestamp: "Date"
    case .day: "CalendarDay"
    case .uuid: "UUID"
    case .json: "JSONText"
    case .enumeration: (nested ? "" : typeName(of: table) + ".") + SwiftNames.enumeration(column.name)
    }
  }

  /// A table whose rows are marked instead of removed.
  func marksDeletion(_ table: Catalog.Table) -> Bool {
    table.column("isDeleted").map { $0.type == .bool && $0.isNotNull } ?? false
  }
}
