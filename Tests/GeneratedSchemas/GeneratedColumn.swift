import CipherSQL
import TestSupport

/// A column of a generated table: its SQL, its row in the registry, and the values that users write.
struct GeneratedColumn {
  let name: String
  /// The declared type and the constraints.
  var definition: String
  /// The values of users; empty for a column that users do not write.
  var values: [SQLArgument] = []
  /// The value of a column without which no record can be created.
  var required: Kind.Required.Value?
  /// Whether users change the required value.
  var isRenewed = false
  /// Whether full-text search can index the column.
  var isText = false
  /// Whether the column has a row in the registry that excludes ownership.
  var isPlain = true

  // The row of `SyncedColumn`.
  var ownership: String?
  var isLocalOnly = false
  var computedAs: String?
  var isAlwaysComputed = false
  var mergesAsSet = false

  /// The column in CREATE TABLE.
  var sql: String { definition.isEmpty ? SchemaNames.sql(name) : "\(SchemaNames.sql(name)) \(definition)" }

  /// The row of `SyncedColumn`; `nil` for a column without special rules.
  func registryRow(of entity: String) -> String? {
    guard ownership != nil || isLocalOnly || computedAs != nil || mergesAsSet else { return nil }
    let owner = ownership.map(Self.literal) ?? "NULL"
    let expression = computedAs.map(Self.literal) ?? "NULL"
    return "(\(Self.literal(entity)), \(Self.literal(name)), \(owner), \(isLocalOnly ? 1 : 0), \(expression), "
      + "\(isAlwaysComputed ? 1 : 0), \(mergesAsSet ? 1 : 0))"
  }

  /// Returns a text as SQL.
  static func literal(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }
}

/// Draws the columns of one table.
struct ColumnDrawing {
  let isStrict: Bool
  let mixesStorage: Bool
  var features: Set<SchemaFeature> = []

  private static let strictKinds: [SchemaFeature] = [
    .integer, .real, .text, .blob, .any, .bool, .listedEnumeration, .comparedEnumeration, .timestamp, .day, .uuid,
    .json, .set, .bounded,
  ]

  /// Draws a column that users write.
  mutating func column(_ name: String, _ random: inout Seeded) -> GeneratedColumn {
    let kind = !isStrict && random.chance(0.5) ? .freeType : random.pick(Self.strictKinds)
    features.insert(kind)
    var column = kind == .freeType ? free(name, &random) : typed(kind, name, &random)
    if kind != .set, random.chance(0.15) {
      column.isLocalOnly = true
      column.isPlain = false
      features.insert(.localOnly)
    } else if random.chance(0.3) {
      constrain(&column, kind, &random)
    }
    return column
  }

  /// A column of a type that the conventions have.
  private func typed(_ kind: SchemaFeature, _ name: String, _ random: inout Seeded) -> GeneratedColumn {
    let column = SchemaNames.sql(name)
    func make(_ definition: String, _ values: [SQLArgument], isText: Bool = false) -> GeneratedColumn {
      var made = GeneratedColumn(name: name, definition: definition)
      (made.values, made.isText) = (values + (values.contains(.null) ? [] : [.null]), isText)
      return made
    }
    switch kind {
    case .integer: return make("INTEGER", EdgeValues.integers)
    case .real: return make("REAL", EdgeValues.reals)
    case .blob: return make("BLOB", EdgeValues.blobs)
    case .any:
      let values = EdgeValues.integers + EdgeValues.reals + EdgeValues.texts + EdgeValues.blobs
      return make(isStrict ? "ANY" : "", values)
    case .bool: return make("INTEGER CHECK (\(column) IN (0, 1))", EdgeValues.flags)
    case .listedEnumeration:
      return make("TEXT CHECK (\(column) IN ('open', 'it''s', ''))", ["open", "it's", ""].map { .text($0) })
    case .comparedEnumeration:
      return make("TEXT CHECK (\(column) = 'low' OR \(column) = 'high')", ["low", "high"].map { .text($0) })
    case .timestamp:
      return make("TEXT CHECK (\(column) IS strftime('%Y-%m-%dT%H:%M:%fZ', \(column)))", EdgeValues.timestamps)
    case .day: return make("TEXT CHECK (\(column) IS date(\(column)))", EdgeValues.days)
    case .uuid:
      let check = """
        TEXT CHECK (\(column) GLOB '????????-????-????-????-????????????' AND ifnull(length(unhex(\(column), '-')) = 16, \
        \(column) IS NULL) AND \(column) = lower(\(column)))
        """
      return make(check, EdgeValues.uuids)
    case .json: return make("TEXT CHECK (json_valid(\(column)))", EdgeValues.documents)
    case .set:
      var set = GeneratedColumn(name: name, definition: "TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(\(column)))")
      (set.values, set.mergesAsSet, set.isPlain) = (EdgeValues.sets, true, false)
      return set
    case .bounded:
      let type = random.pick(["INTEGER", "REAL"])
      let values: [SQLArgument] =
        type == "REAL" ? [.real(-5.5), .real(0), .real(1e-7), .real(5.5)] : [-5, 0, 4, 5].map { .integer($0) }
      return make("\(type) CHECK (\(column) BETWEEN -6 AND 6)", values)
    default: return make("TEXT", EdgeValues.texts, isText: true)
    }
  }

  /// A column of a type that only a table that is not STRICT can have.
  private mutating func free(_ name: String, _ random: inout Seeded) -> GeneratedColumn {
    let (type, values, isText): (String, [SQLArgument], Bool) = random.pick([
      ("VARCHAR(20)", EdgeValues.texts, true), ("CHAR(3)", EdgeValues.texts, true), ("CLOB", EdgeValues.texts, true),
      ("NATIVE CHARACTER(70)", EdgeValues.texts, true), ("NUMERIC", Self.numbers, false),
      ("DECIMAL(10, 2)", Self.numbers, false), ("BOOLEAN", EdgeValues.flags, false),
      ("DATETIME", EdgeValues.timestamps, false), ("DATE", EdgeValues.days, false),
      ("DOUBLE PRECISION", EdgeValues.reals, false), ("FLOAT", EdgeValues.reals, false),
      ("BIGINT", EdgeValues.integers, false), ("INT", EdgeValues.integers, false),
      ("UNSIGNED BIG INT", EdgeValues.integers, false), ("STRING", Self.numbers, false),
      ("INTEGER", EdgeValues.integers, false),
      ("", EdgeValues.texts + EdgeValues.integers, false),
    ])
    var column = GeneratedColumn(name: name, definition: type)
    (column.values, column.isText) = (values + [.null], isText)
    if mixesStorage, random.chance(0.6) {
      // Any column of such a table takes values of any type.
      column.values += [.text("many"), .integer(7), .real(0.1 + 0.2), .blob([0xff, 0xfe, 0]), .blob([])]
      features.insert(.mixedStorage)
    }
    return column
  }

  private static let numbers: [SQLArgument] = [.integer(5), .real(0.1 + 0.2), .integer(Int64.max), .real(2.5)]

  /// Adds NOT NULL, a DEFAULT or a collation.
  private mutating func constrain(_ column: inout GeneratedColumn, _ kind: SchemaFeature, _ random: inout Seeded) {
    let values = column.values.filter { $0 != .null }
    guard kind != .set, let first = values.first else { return }
    if column.isText, random.chance(0.3) {
      column.definition += " COLLATE NOCASE"
      features.insert(.collation)
    }
    if random.chance(0.3) {
      column.definition += " NOT NULL"
      (column.values, column.required) = (values, .oneOf(values))
      features.insert(.requiredWithoutDefault)
    } else if kind == .text, random.chance(0.5) {
      column.definition += " NOT NULL DEFAULT (lower(hex(randomblob(4))))"
      column.values = values
      features.insert(.expressionDefault)
    } else {
      column.definition += " NOT NULL DEFAULT \(Self.sql(kind == .json ? .text("{}") : first))"
      column.values = values
      features.insert(.notNullWithDefault)
    }
  }

  /// Returns a value as SQL.
  static func sql(_ value: SQLArgument) -> String {
    switch value {
    case .null: "NULL"
    // The smallest integer has no literal.
    case .integer(let number): number == Int64.min ? "-9223372036854775807" : "\(number)"
    case .real(let number): number == 0 || abs(number) < 1e-300 ? "0.5" : "\(number)"
    case .text(let text): GeneratedColumn.literal(text.contains("\u{0}") ? "" : text)
    case .blob(let bytes):
      "x'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
    }
  }
}
