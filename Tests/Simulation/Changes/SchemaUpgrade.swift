import CipherSQL
import GeneratedSchemas
import TestSupport

/// Draws the next version of a schema: columns are added and renamed, and a table is added.
struct SchemaUpgrade {
  private var sql: [String] = []
  private var kinds: [Kind]
  /// Whether a device without the upgrade cannot agree with the server: a column has another name, or there is a new table.
  private(set) var isForAll = false

  /// An added column: its definition, and the values of users.
  private static let added: [(definition: String, values: [SQLArgument])] = [
    ("INTEGER", [.integer(3), .integer(Int64.max), .null]),
    ("INTEGER NOT NULL DEFAULT 7", [.integer(7), .integer(-1)]),
    ("REAL NOT NULL DEFAULT 0.5", [.real(0.5), .real(1e-7), .real(2)]),
    ("TEXT", [.text(""), .text("it's"), .null]),
    ("TEXT NOT NULL DEFAULT ''", [.text(""), .text("x")]),
    ("TEXT NOT NULL DEFAULT 'open' CHECK (COLUMN IN ('open', 'done'))", [.text("open"), .text("done")]),
    ("BLOB", [.blob([]), .blob([0, 255]), .null]),
    ("TEXT DEFAULT '{}' CHECK (json_valid(COLUMN))", [.text("{}"), .text("[1, 2]"), .null]),
  ]

  /// - Returns: the workload with the next version of its schema, and whether all devices need it in the end.
  static func draw(for workload: Workload, _ random: inout Seeded) throws -> (workload: Workload, isForAll: Bool) {
    let schema = try workload.schema().schema
    var upgrade = SchemaUpgrade(kinds: workload.kinds)
    let number = schema.migrations.count + 1
    // At least one table changes.
    let first = random.number(0..<workload.kinds.count)
    let mayRename = workload.allowsRenames && random.chance(0.5)
    for index in workload.kinds.indices where index == first || random.chance(0.5) {
      upgrade.add(to: index, number, &random)
      if mayRename, random.chance(0.7) { upgrade.rename(in: index, number, &random) }
    }
    var sql = upgrade.sql.map { $0 + ";\n" }.joined()
    if random.chance(0.3) {
      let table = AddedTable(
        "Added\(number)", below: random.pick(workload.kinds), cascades: random.chance(0.5), schemaName: schema.name)
      sql += table.sql
      upgrade.kinds.append(table.kind)
      upgrade.isForAll = true
    }
    let file = MigrationFile(version: number, name: "upgrade", sql: sql)
    let later = Schema(name: schema.name, migrations: schema.migrations + [file])
    return (Workload(workload, later, upgrade.kinds), upgrade.isForAll)
  }

  private init(kinds: [Kind]) { self.kinds = kinds }

  private mutating func add(to index: Int, _ version: Int, _ random: inout Seeded) {
    let kind = kinds[index]
    var (others, references) = (kind.others, kind.references)
    for number in 1...random.number(1..<3) {
      let name = random.pick(["added \(version)-\(number)", "added_\(version)_\(number)"])
      let column = SQL.quoted(name)
      if random.chance(0.2) {
        let parent = random.pick(kinds)
        sql.append(
          "ALTER TABLE \(SQL.quoted(kind.table)) ADD COLUMN \(column) INTEGER REFERENCES \(SQL.quoted(parent.table)) "
            + "(\(SQL.quoted(parent.key))) ON DELETE SET NULL")
        references.append(Kind.Reference([name], parent.entity, isOptional: true))
      } else {
        let (definition, values) = random.pick(Self.added)
        sql.append(
          "ALTER TABLE \(SQL.quoted(kind.table)) ADD COLUMN \(column) \(definition.replacing("COLUMN", with: column))")
        others.append((name, values))
      }
    }
    kinds[index] = kind.with(marker: kind.marker, others: others, references: references)
  }

  /// Renames a column that users change, if none of its constraints makes it special for them.
  private mutating func rename(in index: Int, _ version: Int, _ random: inout Seeded) {
    let kind = kinds[index]
    let special = Set(
      kind.required.map(\.column) + kind.renewed.map(\.column) + kind.swapped.joined()
        + kind.references.flatMap(\.columns))
    let places = kind.others.indices.filter { !special.contains(kind.others[$0].column) }
    let place = random.chance(0.6) || places.isEmpty ? nil : random.pick(places)
    let (old, new) = (place.map { kind.others[$0].column } ?? kind.marker, "renamed \(version)")
    // A column of this upgrade does not get another name at once.
    guard !old.hasPrefix("added"), !special.contains(old) else { return }
    var others = kind.others
    if let place { others[place].column = new }
    let entity = kind.entity.replacing("'", with: "''")
    sql.append("ALTER TABLE \(SQL.quoted(kind.table)) RENAME COLUMN \(SQL.quoted(old)) TO \(SQL.quoted(new))")
    sql.append(
      "UPDATE SyncedColumn SET columnName = '\(new)' WHERE entityType = '\(entity)' "
        + "AND columnName = '\(old.replacing("'", with: "''"))'")
    kinds[index] = kind.with(
      marker: place == nil ? new : kind.marker, others: others, references: kind.references)
    isForAll = true
  }
}

extension Kind {
  /// Returns this kind with other columns.
  fileprivate func with(
    marker: String, others: [(column: String, values: [SQLArgument])], references: [Reference]
  ) -> Kind {
    Kind(
      entity: entity, table: table, key: key, marker: marker, others: others, references: references, weight: weight,
      required: required, swapped: swapped, renewed: renewed)
  }
}
