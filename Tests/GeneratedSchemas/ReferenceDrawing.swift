import CipherSQL
import TestSupport

/// Draws one foreign key.
struct ReferenceDrawing {
  /// The referenced columns.
  struct Target {
    /// Their types, for the referencing columns.
    var columns: [(type: String, collation: String)]
    /// `nil` for the primary key.
    var names: [String]?
    /// Whether the constraint leaves the primary key unnamed.
    var isImplicit = false
    /// A value that a referenced record may have.
    var usual: String?
    /// Whether users change the referenced values.
    var isRenewed = false
  }

  /// ON DELETE.
  enum Action: String {
    case cascade = "CASCADE"
    case setNull = "SET NULL"
    case setDefault = "SET DEFAULT"
    case restrict = "RESTRICT"
    case noAction = "NO ACTION"
  }

  let isOptional: Bool
  let isStrict: Bool
  let habits: SchemaHabits
  var features: Set<SchemaFeature> = []

  /// The values of a key that several records want.
  private static let wanted = (0..<40).map { "c\($0)" }

  /// Draws the referenced columns, which may be new columns of the table.
  mutating func target(
    in table: inout GeneratedTable, _ names: inout SchemaNames, _ random: inout Seeded
  ) -> Target {
    switch random.number(0..<(habits.hasCompositeKeys ? 12 : 8)) {
    case 0, 1, 2:
      features.insert(.toPrimaryKey)
      return Target(columns: [("INTEGER", "")])
    case 3:
      features.insert(.toImplicitKey)
      return Target(columns: [("INTEGER", "")], isImplicit: true)
    case 4:
      features.insert(.toUUID)
      return Target(columns: [("TEXT", "")], names: ["uuid"])
    case 5, 6, 7:
      features.insert(.toUniqueColumn)
      return uniqueColumn(in: &table, &names, &random)
    default:
      features.insert(.toSeveralColumns)
      return severalColumns(in: &table, &names, &random)
    }
  }

  private mutating func uniqueColumn(
    in table: inout GeneratedTable, _ names: inout SchemaNames, _ random: inout Seeded
  ) -> Target {
    let isText = random.chance(0.6)
    let isWanted = isText && random.chance(0.4)
    let collation = isText && random.chance(0.3) ? " COLLATE NOCASE" : ""
    let isRequired = !habits.changesKeys || random.chance(0.7)
    let type = isText ? table.isStrict ? "TEXT" : random.pick(["TEXT", "VARCHAR(40)"]) : "INTEGER"
    var column = GeneratedColumn(name: names.column(&random), definition: type + collation)
    if isRequired { column.definition += " NOT NULL" }
    let isConstraint = random.chance(0.6)
    if isConstraint {
      column.definition += " UNIQUE"
    } else {
      table.statements.append(
        "CREATE UNIQUE INDEX \(SQL.quoted("\(table.name) by \(column.name)")) ON \(SchemaNames.sql(table.name)) (\(SchemaNames.sql(column.name)))"
      )
    }
    if !collation.isEmpty { features.insert(.toNoCaseColumn) }
    if isRequired {
      column.required = isWanted ? .oneOf(Self.wanted.map { .text($0) }) : isText ? .uniqueText : .uniqueInteger
      column.isRenewed = habits.changesKeys && random.chance(0.7)
      features.insert(.uniqueRequired)
    } else {
      column.values = (isText ? Self.wanted.map { .text($0) } : (1...40).map { .integer($0) }) + [.null]
    }
    if column.isRenewed || !isRequired { features.insert(.changingKey) }
    column.isPlain = false
    table.columns.append(column)
    return Target(
      columns: [(isText ? "TEXT" : "INTEGER", collation)], names: [column.name],
      usual: isRequired && !isWanted ? nil : isText ? "'c1'" : "1", isRenewed: column.isRenewed || !isRequired)
  }

  private mutating func severalColumns(
    in table: inout GeneratedTable, _ names: inout SchemaNames, _ random: inout Seeded
  ) -> Target {
    var (first, second) = (
      GeneratedColumn(name: names.column(&random), definition: "TEXT NOT NULL"),
      GeneratedColumn(name: names.column(&random), definition: "INTEGER NOT NULL")
    )
    first.required = .oneOf(["x", "y"].map { .text($0) })
    second.required = random.chance(0.5) ? .uniqueInteger : .oneOf((1...30).map { .integer($0) })
    second.isRenewed = habits.changesKeys && random.chance(0.6)
    if second.isRenewed { features.insert(.changingKey) }
    (first.isPlain, second.isPlain) = (false, false)
    table.columns += [first, second]
    table.constraints.append("UNIQUE (\(SchemaNames.sql(first.name)), \(SchemaNames.sql(second.name)))")
    return Target(
      columns: [("TEXT", ""), ("INTEGER", "")], names: [first.name, second.name], isRenewed: second.isRenewed)
  }

  mutating func action(_ target: Target, _ random: inout Seeded) -> Action {
    var actions: [Action] = [.cascade, .cascade, .cascade, .restrict, .noAction]
    if isOptional { actions += [.setNull, .setNull, .setDefault, .setDefault] }
    if !isOptional, target.usual != nil { actions += [.setDefault, .setDefault] }
    let action = random.pick(actions)
    let feature: SchemaFeature =
      switch action {
      case .cascade: .cascade
      case .setNull: .setNull
      case .setDefault: .setDefault
      case .restrict: .restrict
      case .noAction: .noAction
      }
    features.insert(feature)
    return action
  }

  /// Returns the definition of a referencing column.
  mutating func definition(
    of target: (type: String, collation: String), _ action: Action, usual: String?, _ random: inout Seeded
  ) -> String {
    var text = target.type
    if !isStrict, target.type == "INTEGER", random.chance(0.3) { text = random.pick(["BIGINT", "INT", "NUMERIC"]) }
    text += random.chance(0.5) ? target.collation : ""
    if !isOptional { text += " NOT NULL" }
    if action == .setDefault, let usual, !isOptional || random.chance(0.6) {
      text += " DEFAULT \(usual)"
      features.insert(.setDefaultValue)
    }
    return text
  }

  /// Returns the actions and the time of the check.
  mutating func clauses(_ action: Action, _ target: Target, _ random: inout Seeded) -> String {
    var clauses = action == .noAction && random.chance(0.5) ? [] : ["ON DELETE \(action.rawValue)"]
    if target.isRenewed, random.chance(0.6) {
      clauses.append("ON UPDATE CASCADE")
      features.insert(.updateCascade)
    }
    switch random.number(0..<6) {
    case 0:
      clauses.append("DEFERRABLE INITIALLY DEFERRED")
      features.insert(.deferred)
    case 1:
      clauses.append(
        random.pick(["DEFERRABLE", "DEFERRABLE INITIALLY IMMEDIATE", "NOT DEFERRABLE INITIALLY IMMEDIATE"]))
      features.insert(.deferrable)
    default: break
    }
    return clauses.joined(separator: " ")
  }
}
