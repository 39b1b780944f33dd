import CipherSQL
import TestSupport

/// Properties of a whole schema. Rare features are concentrated in a few schemas, so that the others are checked without
/// their effects.
struct SchemaHabits {
  /// Whether columns of tables that are not STRICT have values of other types than the declared one.
  let mixesStorage: Bool
  /// Whether foreign keys have several columns.
  let hasCompositeKeys: Bool
  /// Whether users change values that other records reference.
  let changesKeys: Bool
  /// Whether unique indexes are partial, or over an expression.
  let hasPartialKeys, hasExpressionKeys: Bool
  /// Whether a CHECK compares columns, so that two valid edits may make an invalid record.
  let hasCrossChecks: Bool

  init(_ random: inout Seeded) {
    mixesStorage = random.chance(0.2)
    hasCompositeKeys = random.chance(0.15)
    changesKeys = random.chance(0.2)
    hasPartialKeys = random.chance(0.3)
    hasExpressionKeys = random.chance(0.12)
    hasCrossChecks = random.chance(0.15)
  }
}

/// Draws the tables of a schema: first their names and properties, then the columns, the references between them, the
/// constraints, the registry and the other objects.
struct SchemaDrawing {
  private(set) var tables: [GeneratedTable] = []
  var features: Set<SchemaFeature> = []
  private var random: Seeded
  private var tableNames: SchemaNames
  private var entityNames: SchemaNames
  /// The names of columns, by table.
  private var columnNames: [SchemaNames] = []
  private let areColumnsDifficult: Bool
  private let habits: SchemaHabits

  /// Names of FieldVault's own tables and views, and of the tables of the server.
  private static let reserved = [
    "entities", "outbox", "attachments", "Setting", "SyncedEntity", "SyncedColumn", "WriteContext", "OfflineSyncQueue",
  ]

  init(_ number: Int) {
    random = Seeded(UInt64(number), "schema", 0)
    tableNames = SchemaNames(areDifficult: random.chance(0.3), reserved: Self.reserved)
    entityNames = SchemaNames(areDifficult: random.chance(0.3), reserved: [])
    areColumnsDifficult = random.chance(0.35)
    habits = SchemaHabits(&random)
    if tableNames.areDifficult { features.insert(.difficultTable) }
    if entityNames.areDifficult { features.insert(.difficultEntity) }
    if areColumnsDifficult { features.insert(.difficultColumn) }
  }

  mutating func draw() {
    // Each trigger costs time when a vault opens, so small schemas are more frequent.
    let count = random.pick([1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6])
    let mayMix = random.chance(0.4)
    let isStrict = random.chance(0.6)
    for _ in 0..<count { addTable(isStrict: mayMix ? random.chance(0.5) : isStrict) }
    if Set(tables.map(\.isStrict)).count == 2 { features.insert(.mixedTables) }
    for index in tables.indices {
      for _ in 0..<random.pick([1, 1, 2, 2, 3, 4]) { addColumn(to: index) }
    }
    for child in tables.indices {
      for _ in 0..<random.pick(count == 1 ? [0, 0, 1] : [0, 1, 1, 2, 2, 3]) { addReference(from: child) }
    }
    noteCycles()
    for index in tables.indices {
      if random.chance(0.45) { addUnique(to: index) }
      if random.chance(0.3) { addDerived(to: index) }
      if habits.hasCrossChecks, random.chance(0.5) { addRange(to: index) }
      addOwners(to: index)
      if random.chance(0.15) { addView(of: index) }
      if random.chance(0.2) { addFullText(of: index) }
    }
  }

  // MARK: Tables and columns

  private mutating func addTable(isStrict: Bool) {
    let policy = random.pick(["manual", "last_write_wins", "server_wins", "client_wins", "merge", "merge"])
    let priority = random.number(0..<4)
    features.formUnion([
      isStrict ? .strictTable : .otherTable, [.priority0, .priority1, .priority2, .priority3][priority],
      ["manual": .manual, "last_write_wins": .lastWriteWins, "server_wins": .serverWins, "client_wins": .clientWins][
        policy] ?? .merge,
    ])
    var names = SchemaNames(areDifficult: areColumnsDifficult, reserved: GeneratedTable.commonNames)
    let entity = entityNames.entity(&random)
    let key = names.free(
      areColumnsDifficult ? random.pick(["id", "Key", "row id", "it's id", "Nº", "key"]) : "recordId")
    var marker = GeneratedColumn(
      name: names.free(areColumnsDifficult ? random.pick(["title", "Títle", "the title", "name"]) : "title"),
      definition: isStrict ? "TEXT" : random.pick(["TEXT", "VARCHAR(200)", "CLOB", ""]))
    marker.isText = true
    if random.chance(0.2) { marker.definition += " NOT NULL DEFAULT ''" }
    if policy == "merge" { marker.ownership = "user" }
    let isSerial = random.chance(0.15)
    let commonFieldsFirst = random.chance(0.25)
    let serverIdType = random.pick(isStrict ? ["INTEGER", "INTEGER", "TEXT", "ANY"] : ["INTEGER", "TEXT", ""])
    if isSerial { features.insert(.hasSerialKey) }
    if commonFieldsFirst { features.insert(.commonFieldsFirst) }
    if serverIdType == "TEXT" { features.insert(.textServerId) }
    tables.append(
      GeneratedTable(
        entity: entity, name: tableNames.table(&random), key: key, marker: marker, isStrict: isStrict, policy: policy,
        priority: priority, keyDefinition: "INTEGER PRIMARY KEY" + (isSerial ? " AUTOINCREMENT" : ""),
        serverIdType: serverIdType, commonFieldsFirst: commonFieldsFirst))
    columnNames.append(names)
  }

  private mutating func addColumn(to index: Int) {
    var drawing = ColumnDrawing(isStrict: tables[index].isStrict, mixesStorage: habits.mixesStorage)
    let name = columnNames[index].column(&random)
    tables[index].columns.append(drawing.column(name, &random))
    features.formUnion(drawing.features)
  }

  /// Adds columns that the database or the registry computes.
  private mutating func addDerived(to index: Int) {
    let source = SchemaNames.sql(tables[index].marker.name)
    let name = columnNames[index].column(&random)
    var column: GeneratedColumn
    switch random.number(0..<4) {
    case 0:
      column = GeneratedColumn(name: name, definition: "INTEGER AS (length(\(source))) VIRTUAL")
      features.insert(.virtualColumn)
    case 1:
      column = GeneratedColumn(name: name, definition: "TEXT GENERATED ALWAYS AS (upper(\(source)) || '!') STORED")
      features.insert(.storedColumn)
    case 2:
      column = GeneratedColumn(name: name, definition: "INTEGER")
      (column.values, column.computedAs) = ([.integer(3), .null], "length(\(source))")
      features.insert(.computed)
    default:
      column = GeneratedColumn(name: name, definition: "TEXT")
      (column.computedAs, column.isAlwaysComputed) = ("substr(\(source), 1, 12)", true)
      features.insert(.alwaysComputed)
    }
    column.isPlain = false
    tables[index].columns.append(column)
  }

  /// Adds two columns that a CHECK of the table compares.
  private mutating func addRange(to index: Int) {
    let columns = (0..<2).map { _ in
      var column = GeneratedColumn(name: columnNames[index].column(&random), definition: "INTEGER")
      column.values = (0..<4).map { .integer($0) } + [.null]
      return column
    }
    let (first, last) = (SchemaNames.sql(columns[0].name), SchemaNames.sql(columns[1].name))
    tables[index].constraints.append("CHECK (\(first) <= \(last))")
    tables[index].columns += columns
    features.insert(.crossCheck)
  }

  /// Distributes the owners of columns under the policy `merge`.
  private mutating func addOwners(to index: Int) {
    guard tables[index].policy == "merge" else { return }
    for number in tables[index].columns.indices where tables[index].columns[number].isPlain && random.chance(0.6) {
      let owner = random.pick(["server", "user", "user_edited"])
      tables[index].columns[number].ownership = owner
      let feature: SchemaFeature =
        owner == "server" ? .ownedByServer : owner == "user" ? .ownedByUser : .ownedByUserAfterEdit
      features.insert(feature)
    }
  }

  // MARK: References

  private mutating func addReference(from child: Int) {
    // A required reference leads to an earlier table, so that each cycle has an optional one.
    let isOptional = child == 0 || random.chance(0.6)
    let parent = isOptional ? random.number(0..<tables.count) : random.number(0..<child)
    features.insert(isOptional ? .optionalReference : .requiredReference)
    if parent == child { features.insert(.selfReference) }
    var drawing = ReferenceDrawing(isOptional: isOptional, isStrict: tables[child].isStrict, habits: habits)
    let target = drawing.target(in: &tables[parent], &columnNames[parent], &random)
    let action = drawing.action(target, &random)
    let columns = target.columns.map { column in
      let name = columnNames[child].column(&random)
      return GeneratedColumn(
        name: name, definition: drawing.definition(of: column, action, usual: target.usual, &random))
    }
    var table = tables[parent].name
    if random.chance(0.1), table.allSatisfy({ $0.isASCII && $0.isLetter }) {
      table = table.uppercased()
      features.insert(.otherCaseOfName)
    }
    let isIndexed = random.chance(0.85)
    if !isIndexed { features.insert(.referenceWithoutIndex) }
    features.formUnion(drawing.features)
    tables[child].references.append(
      GeneratedTable.Reference(
        columns: columns, entity: tables[parent].entity, table: table, targets: target.names,
        named: target.isImplicit ? nil : target.names ?? [tables[parent].key], isOptional: isOptional,
        actions: drawing.clauses(action, target, &random), isIndexed: isIndexed))
    features.formUnion(drawing.features)
  }

  private mutating func noteCycles() {
    let edges = tables.map { table in Set(table.references.map(\.entity)) }
    for (index, table) in tables.enumerated() {
      for (other, targets) in edges.enumerated()
      where other != index && targets.contains(table.entity) && edges[index].contains(tables[other].entity) {
        features.insert(.cycle)
      }
    }
  }

  // MARK: Constraints and other objects

  private mutating func addUnique(to index: Int) {
    let drawn = random.pick(
      [0, 1, 2, 3] + (habits.hasPartialKeys ? [4, 4] : []) + (habits.hasExpressionKeys ? [5, 5] : []))
    let isStrict = tables[index].isStrict
    func name(_ names: inout SchemaNames) -> String { names.column(&random) }
    var column = GeneratedColumn(name: name(&columnNames[index]), definition: "TEXT")
    column.values = ["a", "b", "c"].map { .text($0) } + [.null]
    let sql = SchemaNames.sql(column.name)
    let table = SchemaNames.sql(tables[index].name)
    var swapped = [column.name]
    switch drawn {
    case 0:
      column.definition += " UNIQUE"
      features.insert(.uniqueColumn)
    case 1:
      column.definition += " COLLATE NOCASE UNIQUE"
      column.values = ["a", "A", "b", "B", "ä", "Ä"].map { .text($0) } + [.null]
      features.insert(.uniqueNoCase)
    case 2:
      var other = GeneratedColumn(
        name: name(&columnNames[index]), definition: isStrict ? "INTEGER" : random.pick(["INTEGER", "NUMERIC"]))
      other.values = (1...4).map { .integer($0) } + [.null]
      tables[index].constraints.append("UNIQUE (\(sql), \(SchemaNames.sql(other.name)))")
      tables[index].columns.append(other)
      swapped.append(other.name)
      features.insert(.uniqueColumns)
    case 3:
      guard let reference = tables[index].references.first(where: { $0.columns.count == 1 })?.columns.first else {
        return
      }
      tables[index].constraints.append("UNIQUE (\(SchemaNames.sql(reference.name)), \(sql))")
      swapped.insert(reference.name, at: 0)
      features.insert(.uniqueWithReference)
    case 4:
      let condition = random.pick(["isDeleted = 0", "\(sql) <> 'a'", "isDeleted = 0 AND \(sql) IS NOT NULL"])
      tables[index].statements.append(
        "CREATE UNIQUE INDEX \(SQL.quoted(tables[index].name + " live")) ON \(table) (\(sql)) WHERE \(condition)")
      features.insert(.partialUnique)
    default:
      tables[index].statements.append(
        "CREATE UNIQUE INDEX \(SQL.quoted(tables[index].name + " lower")) ON \(table) (lower(\(sql)))")
      column.values.append(.text("A"))
      features.insert(.uniqueExpression)
    }
    tables[index].columns.append(column)
    tables[index].swapped.append(swapped)
  }

  private mutating func addView(of index: Int) {
    let name = tableNames.table(&random)
    let columns = [tables[index].marker.name] + tables[index].columns.prefix(2).map(\.name)
    let list = columns.map { SchemaNames.sql($0) }.joined(separator: ", ")
    tables[index].statements.append(
      "CREATE VIEW \(SchemaNames.sql(name)) AS SELECT \(list) FROM \(SchemaNames.sql(tables[index].name)) WHERE isDeleted = 0"
    )
    features.insert(.view)
  }

  private mutating func addFullText(of index: Int) {
    let texts = ([tables[index].marker] + tables[index].columns).filter { $0.isText && $0.name.lowercased() != "rank" }
    let list = texts.map { SchemaNames.sql($0.name) }.joined(separator: ", ")
    let name = tableNames.free(tables[index].name + "Search")
    tables[index].statements.append(
      """
      CREATE VIRTUAL TABLE \(SchemaNames.sql(name)) USING fts5(
        \(list), content=\(GeneratedColumn.literal(tables[index].name)), content_rowid=\(GeneratedColumn.literal(tables[index].key)))
      """)
    features.insert(.fullText)
  }
}
