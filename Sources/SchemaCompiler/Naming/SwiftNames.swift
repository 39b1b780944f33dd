/// How names of SQL become names of Swift.
enum SwiftNames {
  /// `air_mover` and `Air Mover` become `AirMover`.
  static func type(_ name: String) -> String {
    let words = words(in: name)
    let joined = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    return startsWithDigit(joined) ? "_" + joined : joined
  }

  /// `air_mover` and `multi-unit` become `airMover` and `multiUnit`; a name that is one already stays.
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

  /// The name of the nested enumeration of a column; never one that Swift or the generated code has taken.
  static func enumeration(_ column: String) -> String {
    let name = type(column)
    return ["Type", "Protocol", "Self", "Columns", "Key", "ID", "Any"].contains(name) ? name + "Name" : name
  }

  /// Without the prefix that all tables of synced records have.
  static func entity(ofTable table: String) -> String {
    table.hasPrefix("Offline") && table.count > 7 ? type(String(table.dropFirst(7))) : type(table)
  }

  private static let uncountable = ["equipment", "information", "data", "news"]

  private static func words(in name: String) -> [String] {
    name.split { !($0.isLetter || $0.isNumber) }.map(String.init)
  }

  private static func startsWithDigit(_ name: String) -> Bool { name.first?.isNumber ?? false }

  private static func escaped(_ name: String) -> String { reserved.contains(name) ? "`\(name)`" : name }

  private static let reserved: Set<String> = [
    "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do", "else",
    "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in", "init",
    "inout", "internal", "is", "let", "nil", "operator", "private", "protocol", "public", "repeat", "rethrows",
    "return",
    "self", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var",
    "where", "while", "Any", "Self", "Type", "Protocol", "some", "any",
  ]
}
