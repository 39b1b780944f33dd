/// Converts names of SQL to names of Swift.
enum SwiftNames {
  /// Returns a type name: `air_mover` and `Air Mover` become `AirMover`.
  static func type(_ name: String) -> String {
    let words = words(in: name)
    let joined = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    if joined.isEmpty { return "Unnamed" }
    return startsWithDigit(joined) ? "_" + joined : joined
  }

  /// Returns a member name: `air_mover` and `multi-unit` become `airMover` and `multiUnit`. A valid name stays.
  static func member(_ name: String) -> String {
    let words = words(in: name)
    guard let first = words.first else { return "empty" }
    let lowered =
      first.allSatisfy { $0.isUppercase } ? first.lowercased() : first.prefix(1).lowercased() + first.dropFirst()
    let joined = lowered + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    return escaped(startsWithDigit(joined) ? "_" + joined : joined)
  }

  /// The plural of a type's name as a member: `Company` becomes `companies`.
  static func plural(_ type: String) -> String {
    let name = type.prefix(1).lowercased() + type.dropFirst()
    if uncountable.contains(where: { name.lowercased().hasSuffix($0) }) { return name }
    if name.hasSuffix("y"), let before = name.dropLast().last, !"aeiou".contains(before) {
      return name.dropLast() + "ies"
    }
    if ["s", "x", "ch", "sh", "z"].contains(where: name.hasSuffix) { return name + "es" }
    return name + "s"
  }

  /// A reference's name without the `Id` of its column: `parentLocationId` becomes `parentLocation`.
  static func reference(_ column: String) -> String {
    for ending in ["_id", "Id", "ID", "_uuid", "Uuid"] where column.hasSuffix(ending) && column.count > ending.count {
      return member(String(column.dropLast(ending.count)))
    }
    return member(column) + "Record"
  }

  /// Assigns a unique Swift name to each name. A reserved name gets a suffix, and a duplicate gets a number.
  static func unique(
    _ names: [String], taken: Set<String>, ending: String, _ swiftName: (String) -> String
  ) -> [String: String] {
    var used: Set<String> = []
    var result: [String: String] = [:]
    for name in names where result[name] == nil {
      let wanted = swiftName(name).filter { $0 != "`" }
      let base = taken.contains(wanted) ? wanted + ending : wanted
      var candidate = base
      var number = 2
      while !used.insert(candidate).inserted || taken.contains(candidate) {
        candidate = base + String(number)
        number += 1
      }
      result[name] = escaped(candidate)
    }
    return result
  }

  /// The names of types that the generated code uses. A type of the schema with such a name would hide it.
  static let usedTypes: Set<String> = [
    "Any", "Bool", "CalendarDay", "Codable", "CodingKey", "CodingKeys", "Column", "Columns", "Connection", "Data",
    "Date", "Double", "Hashable", "ID", "Identifiable", "InsertableRecord", "Int", "Int64", "JSONText", "Key",
    "KeyedRecord", "MigrationFile", "Optional", "Protocol", "Record", "RecordColumns", "RecordKey", "Row",
    "SQLArgument", "SQLEnumeration", "SQLError", "Schema", "Self", "Sendable", "SoftDeletable", "Statement",
    "StaticString", "String", "ToMany", "ToOne", "Type", "UUID", "Void", "WriteConnection",
  ]

  /// Returns a table name without the prefix that all tables of synced records have.
  static func entity(ofTable table: String) -> String {
    table.hasPrefix("Offline") && table.count > 7 ? type(String(table.dropFirst(7))) : type(table)
  }

  private static let uncountable = ["equipment", "information", "data", "news"]

  private static func words(in name: String) -> [String] {
    name.split { !($0.isLetter || ($0.isASCII && $0.isNumber)) }.map(String.init)
  }

  private static func startsWithDigit(_ name: String) -> Bool { name.first?.isNumber ?? false }

  /// Returns a name in backticks if it is a keyword of Swift.
  static func escaped(_ name: String) -> String { reserved.contains(name) ? "`\(name)`" : name }

  private static let reserved: Set<String> = [
    "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do", "else",
    "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in", "init",
    "inout", "internal", "is", "let", "nil", "operator", "private", "protocol", "public", "repeat", "rethrows",
    "return",
    "self", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var",
    "where", "while", "Any", "Self", "Type", "Protocol", "some", "any",
  ]
}
