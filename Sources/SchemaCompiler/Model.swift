import CipherSQL

/// The catalogue with the Swift names and types of everything in it.
struct Model: Sendable {
  let catalog: Catalog
  /// The `schema/file` that created each table and view.
  let origins: [String: String]
  /// The schema that becomes Swift.
  let emitted: String
  /// The Swift types, by table.
  private let types: [String: String]
  /// The Swift names of the columns and of their enumerations, by table and column.
  private let members: [String: [String: String]]
  private let enumerations: [String: [String: String]]

  /// - Parameter registeredTypes: the entity types of the registry, by table.
  init(catalog: Catalog, registeredTypes: [String: String], origins: [String: String], emitted: String) {
    (self.catalog, self.origins, self.emitted) = (catalog, origins, emitted)
    let tables = catalog.tables.filter { $0.kind != .virtual }
    let views = Set(tables.filter { $0.kind == .view }.map(\.name))
    let schema = SwiftNames.type(emitted)
    types = SwiftNames.unique(
      tables.map(\.name), taken: SwiftNames.usedTypes.union([schema + "Schema", schema + "Queries"]), ending: "Record"
    ) { name in
      if let type = registeredTypes[name] { return SwiftNames.type(type) }
      return SwiftNames.entity(ofTable: name) + (views.contains(name) ? "View" : "")
    }
    var (members, enumerations) = ([String: [String: String]](), [String: [String: String]]())
    for table in tables {
      let columns = table.columns.map(\.name)
      let isKeyed = table.kind == .table && table.hasSwiftKey
      members[table.name] = SwiftNames.unique(
        columns, taken: Self.takenMembers.union(isKeyed ? ["key"] : []), ending: "Value", SwiftNames.member)
      enumerations[table.name] = SwiftNames.unique(
        columns, taken: SwiftNames.usedTypes, ending: "Name", SwiftNames.type)
    }
    (self.members, self.enumerations) = (members, enumerations)
  }

  /// The members of every generated type or its columns, and a word that cannot be a member.
  private static let takenMembers: Set<String> = ["hashValue", "qualifier", "self"]

  /// The Swift type of a table or view.
  func typeName(of table: Catalog.Table) -> String { types[table.name] ?? SwiftNames.type(table.name) }

  /// The Swift property of a column.
  func member(_ column: Catalog.Column, of table: Catalog.Table) -> String {
    members[table.name]?[column.name] ?? SwiftNames.member(column.name)
  }

  /// The nested enumeration of a column.
  func enumeration(_ column: Catalog.Column, of table: Catalog.Table) -> String {
    enumerations[table.name]?[column.name] ?? SwiftNames.type(column.name)
  }

  /// The Swift cases of an enumeration, by their values.
  static func cases(_ values: [String]) -> [String: String] {
    SwiftNames.unique(values, taken: ["allCases", "self"], ending: "Value", SwiftNames.member)
  }

  /// The types of a file, in the order of the file.
  func tables(of file: MigrationFile, in schema: Schema) -> [Catalog.Table] {
    let origin = schema.name + "/" + file.fileName
    return catalog.tables.filter { $0.kind != .virtual && origins[$0.name] == origin }
  }

  /// Returns whether a table becomes a Swift type in this run.
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
    case .enumeration: (nested ? "" : typeName(of: table) + ".") + enumeration(column, of: table)
    }
  }

  /// Returns whether the rows of a table are marked as deleted instead of removed.
  func marksDeletion(_ table: Catalog.Table) -> Bool {
    table.column("isDeleted").map { $0.type == .bool && $0.isNotNull } ?? false
  }
}

extension Catalog.Table {
  /// Whether each row can be found by its primary key. A key of one column that may be NULL finds no such row.
  var hasSwiftKey: Bool {
    let key = primaryKey
    return key.count > 1 || key.first?.isNotNull == true
  }
}
