import CipherSQL
import TestSupport

/// Draws names that differ in every way in which SQLite compares them.
struct SchemaNames {
  /// Whether names need quotes.
  let areDifficult: Bool
  private var used: Set<String>

  /// - Parameter reserved: names that are taken.
  init(areDifficult: Bool, reserved: [String]) {
    self.areDifficult = areDifficult
    used = Set(reserved.map { $0.lowercased() })
  }

  mutating func table(_ random: inout Seeded) -> String {
    draw(areDifficult ? Self.difficultTables : Self.plainTables.map { "Offline" + $0 }, &random)
  }

  mutating func entity(_ random: inout Seeded) -> String {
    draw(areDifficult ? Self.difficultEntities : Self.plainTables, &random)
  }

  mutating func column(_ random: inout Seeded) -> String {
    draw(areDifficult && random.chance(0.6) ? Self.difficultColumns : Self.plainColumns, &random)
  }

  /// Returns the name, with a number if it is taken.
  mutating func free(_ name: String) -> String {
    var (candidate, number) = (name, 2)
    while !used.insert(candidate.lowercased()).inserted {
      candidate = "\(name)\(number)"
      number += 1
    }
    return candidate
  }

  private mutating func draw(_ names: [String], _ random: inout Seeded) -> String { free(random.pick(names)) }

  /// Returns a name for SQL: quoted, or without quotes if it needs none.
  static func sql(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy { (97...122).contains($0) || (65...90).contains($0) || (48...57).contains($0) }
    let isWord = (name.utf8.first.map { $0 > 57 } ?? false) && !keywords.contains(name.lowercased())
    return isPlain && isWord ? name : SQL.quoted(name)
  }

  private static let keywords: Set<String> = [
    "order", "select", "group", "index", "values", "new", "old", "key", "check", "default", "table", "from", "where",
  ]

  private static let plainTables = [
    "Rack", "Crate", "Probe", "Pump", "Visit", "Meter", "Tank", "Valve", "Pallet", "Badge", "Hall", "Route",
  ]
  private static let plainColumns = [
    "note", "shelf", "place", "label", "amount", "level", "depth", "phase", "grade", "code", "site", "unit", "colour",
    "weight", "angle", "batch", "owner", "source", "state", "remark", "height", "slot",
  ]
  private static let difficultTables = [
    "Table key", "order", "T\"3", "it's", "Größen", "値の表", "select", "MixedCASE", "a.b", "semi;colon", "[bracket]",
    "a/b", "`tick`", "back\\slash", "🙂", "-- dash", "record", "parent", "child", "gone", "50%", "Таблица", "?1",
    ":name",
  ]
  private static let difficultEntities = [
    "Two words", "Order", "say \"hi\"", "it's", "Größe", "日本", "Select", "per cent%", "a.b", "🙂",
    "-- dash", "$.path", "[i]", "a&b=c", "x?y#z", "Ёлка", "+plus+", "record", "~tilde",
  ]
  private static let difficultColumns = [
    "order", "Select", "group", "it's", "say \"hi\"", "two words", "Größe", "naïve", "値", "record", "target", "child",
    "parent", "new", "old", "excluded", "value", "key", "name", "fields", "gone", "1st", "a.b", "$.x", "[i]", "🙂",
    "back\\slash", "semi;", "-- dash", "?1", ":p", "@v", "50%", "entityId", "rootId", "mode", "part", "at", "bytes",
    "id", "type", "MixedCase", "`tick`", "check", "default", "_", "c/d\\e", "base64", "deletedWith", "isDirty2", "json",
  ]
}
