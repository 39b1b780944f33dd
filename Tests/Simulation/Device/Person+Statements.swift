import CipherSQL
import GeneratedSchemas
import TestSupport
import VaultStore

/// The statements of a user's program.
extension Person {
  /// A value by its column.
  typealias Assignment = (column: String, value: SQLArgument)

  /// A new record. Its statement may name another record that it would replace.
  func creation(
    _ kind: Kind, replacing other: Int64? = nil, _ connection: Connection, _ dice: inout Seeded
  ) throws -> Step? {
    let uuid = Self.uuid(&dice)
    let marker = marker(&dice)
    let replaces = other != nil || dice.chance(0.05)
    // A program has few forms to create a record, so that its statements repeat and SQLite need not compile each. The
    // triggers make a statement with OR REPLACE long.
    var form = Seeded(forms, kind.entity, replaces ? 0 : dice.number(0..<3))
    var values: [Assignment] = [("uuid", .text(uuid)), (kind.marker, .text(marker))]
    if let other { values.append((kind.key, .integer(other))) }
    for required in kind.required { values.append((required.column, Self.value(required.value, &dice))) }
    for (name, others) in kind.others where form.chance(0.3) && !values.contains(where: { $0.column == name }) {
      values.append((name, dice.pick(others)))
    }
    for reference in kind.references {
      guard !reference.isOptional || form.chance(0.6) else {
        // Without the columns, the record gets their defaults.
        if form.chance(0.5) { values += reference.columns.map { ($0, .null) } }
        continue
      }
      guard let parent = try anyTarget(reference, connection, &dice) else {
        if reference.isOptional { continue }
        return nil
      }
      values += parent
    }
    if let time = time(&dice) { values.append(("updatedAt", .text(time))) }
    let clause = replaces ? "INSERT OR REPLACE" : "INSERT"
    let names = values.map { SQL.quoted($0.column) }.joined(separator: ", ")
    let marks = values.map { _ in "?" }.joined(separator: ", ")
    var text = "\(clause) INTO \(SQL.quoted(kind.table)) (\(names)) VALUES (\(marks))"
    if !replaces, dice.chance(0.05) {
      text += " ON CONFLICT (uuid) DO UPDATE SET \(SQL.quoted(kind.marker)) = excluded.\(SQL.quoted(kind.marker))"
    }
    return Step(
      entry: entry(.mark, kind, uuid, marker), sql: SQL(raw: text, arguments: values.map(\.value)))
  }

  /// A statement with OR REPLACE that would remove another record without a trigger. The store has to refuse it.
  func replacement(_ kind: Kind, _ key: Int64, _ uuid: String, _ connection: Connection, _ dice: inout Seeded) throws
    -> Step?
  {
    guard !kind.swapped.isEmpty, dice.chance(0.5), let other = try anyone(kind, connection, &dice), other.key != key
    else { return try creation(kind, replacing: key, connection, &dice) }
    let values = try dice.pick(kind.swapped).map { column in
      (column: column, value: try value(of: column, kind, other.key, connection))
    }
    return Step(entry: entry(.touch, kind, uuid, ""), sql: Self.update(kind, "OR REPLACE ", values, key))
  }

  func edit(_ kind: Kind, _ key: Int64, _ uuid: String, _ connection: Connection, _ dice: inout Seeded) throws -> Step {
    let marker = marker(&dice)
    var assignments: [Assignment] = []
    // As for creations, a program has few forms.
    var form = Seeded(forms, "edit \(kind.entity)", dice.number(0..<4))
    let isMarked = kind.others.isEmpty || form.chance(0.7)
    if isMarked { assignments.append((kind.marker, .text(marker))) }
    if !isMarked || form.chance(0.3), !kind.others.isEmpty {
      let (name, values) = form.pick(kind.others)
      assignments.append((name, dice.pick(values)))
    }
    if let time = time(&dice) { assignments.append(("updatedAt", .text(time))) }
    // OR IGNORE may leave the row as it is.
    let clause = dice.chance(0.05) ? "OR REPLACE " : !isMarked && ignores(&dice) ? "OR IGNORE " : ""
    var entry = entry(isMarked ? .mark : .touch, kind, uuid, isMarked ? marker : "")
    if isMarked, case .text(let seen) = try value(of: kind.marker, kind, key, connection) { entry.seen = seen }
    return Step(entry: entry, sql: Self.update(kind, clause, assignments, key))
  }

  /// Gives a record another value of a key, which other records may reference.
  func renewal(_ kind: Kind, _ key: Int64, _ uuid: String, _ dice: inout Seeded) -> Step {
    let renewed = dice.pick(kind.renewed)
    return Step(
      entry: entry(.touch, kind, uuid, ""),
      sql: Self.update(kind, "", [(renewed.column, Self.value(renewed.value, &dice))], key))
  }

  func move(_ kind: Kind, _ key: Int64, _ connection: Connection, _ dice: inout Seeded) throws -> SQL? {
    let reference = dice.pick(kind.references)
    let target = try anyTarget(reference, connection, &dice)
    let nothing: [Assignment] = reference.columns.map { ($0, .null) }
    return Self.update(kind, "", reference.isOptional && dice.chance(0.25) ? nothing : target ?? nothing, key)
  }

  /// Moves dependents of a record to another one, as users do who divide their work anew.
  func relocation(_ kind: Kind, _ connection: Connection, _ dice: inout Seeded) throws -> Step? {
    let ways = workload.kinds.flatMap { child in
      child.references.filter { $0.entity == kind.entity }.map { (child: child, reference: $0) }
    }
    guard !ways.isEmpty, let old = try anyone(kind, connection, &dice), let new = try anyone(kind, connection, &dice),
      old.key != new.key
    else { return nil }
    let (child, reference) = dice.pick(ways)
    guard let from = try target(reference, old.uuid, connection), let to = try target(reference, new.uuid, connection)
    else { return nil }
    let condition = from.map { "\(SQL.quoted($0.column)) = ?" }.joined(separator: " AND ")
    let moved = try connection.fetchRows(
      SQL(
        raw: "SELECT \(SQL.quoted(child.key)), uuid FROM \(SQL.quoted(child.table)) WHERE \(condition) "
          + "AND isDeleted = 0 ORDER BY uuid LIMIT 6", arguments: from.map(\.value)), as: Int64.self, String.self)
    guard !moved.isEmpty else { return nil }
    return Step(
      entries: moved.map { entry(.touch, child, $0.1, "") }, statements: moved.map { Self.update(child, "", to, $0.0) })
  }

  /// Swaps the values of a UNIQUE constraint between two records; the last column is empty in between.
  func swap(_ kind: Kind, _ key: Int64, _ uuid: String, _ connection: Connection, _ dice: inout Seeded) throws -> Step?
  {
    let columns = dice.pick(kind.swapped)
    guard let last = columns.last, let other = try anyone(kind, connection, &dice), other.key != key else { return nil }
    func assignments(_ key: Int64) throws -> [Assignment] {
      try columns.map { ($0, try value(of: $0, kind, key, connection)) }
    }
    let (first, second) = (try assignments(key), try assignments(other.key))
    return Step(
      entries: [entry(.touch, kind, uuid, ""), entry(.touch, kind, other.uuid, "")],
      statements: [
        Self.update(kind, "", [(last, .null)], key), Self.update(kind, "", first, other.key),
        Self.update(kind, "", second, key),
      ])
  }

  /// Changes or deletes several records with one statement.
  func severalRows(_ kind: Kind, _ connection: Connection, _ dice: inout Seeded) throws -> Step? {
    let (divisor, remainder) = (dice.number(4..<12), dice.number(0..<4))
    let isDeletion = kind.others.isEmpty || dice.chance(0.15)
    let condition = "isDeleted = 0 AND \(SQL.quoted(kind.key)) % \(divisor) = \(remainder)"
    let table = SQL.quoted(kind.table)
    let uuids = try connection.fetch(
      SQL(raw: "SELECT uuid FROM \(table) WHERE \(condition) ORDER BY uuid"), as: String.self)
    guard !uuids.isEmpty else { return nil }
    let sql: SQL
    if isDeletion {
      sql = SQL(raw: "DELETE FROM \(table) WHERE \(condition)")
    } else {
      let (name, values) = dice.pick(kind.others)
      sql = SQL(
        raw: "UPDATE \(ignores(&dice) ? "OR IGNORE " : "")\(table) SET \(SQL.quoted(name)) = ? WHERE \(condition)",
        arguments: [dice.pick(values)])
    }
    return Step(entries: uuids.map { entry(isDeletion ? .delete : .touch, kind, $0, "") }, statements: [sql])
  }

  func revival(_ kind: Kind, _ connection: Connection, _ dice: inout Seeded) throws -> Step? {
    guard let (key, uuid) = try anyone(kind, connection, &dice, isDeleted: true) else { return nil }
    return Step(
      entry: entry(.revive, kind, uuid, ""),
      sql: "UPDATE \(identifier: kind.table) SET isDeleted = 0 WHERE \(identifier: kind.key) = \(key)")
  }

  /// Returns a TEMP trigger that changes another column of the record whose marker changes; `nil` for a kind without such a
  /// column.
  func trigger(on kind: Kind) -> (create: SQL, drop: SQL)? {
    guard let (column, values) = kind.others.first else { return nil }
    let texts: [String] = values.compactMap { value in
      switch value {
      case .integer(let number): "\(number)"
      case .text(let text): "'\(text.replacing("'", with: "''"))'"
      default: nil
      }
    }
    guard let value = texts.first else { return nil }
    let (table, key) = (SQL.quoted(kind.table), SQL.quoted(kind.key))
    let create: SQL = """
      CREATE TEMP TRIGGER "of the program" AFTER UPDATE OF \(identifier: kind.marker) ON \(raw: table)
      BEGIN UPDATE \(raw: table) SET \(identifier: column) = \(raw: value) WHERE \(raw: key) = NEW.\(raw: key); END
      """
    return (create, "DROP TRIGGER temp.\"of the program\"")
  }

  // MARK: Parts

  private func ignores(_ dice: inout Seeded) -> Bool { workload.writesOrIgnore && dice.chance(0.2) }

  private static func update(_ kind: Kind, _ clause: String, _ assignments: [Assignment], _ key: Int64) -> SQL {
    let text = assignments.map { "\(SQL.quoted($0.column)) = ?" }.joined(separator: ", ")
    return SQL(
      raw: "UPDATE \(clause)\(SQL.quoted(kind.table)) SET \(text) WHERE \(SQL.quoted(kind.key)) = ?",
      arguments: assignments.map(\.value) + [.integer(key)])
  }

  static func value(_ value: Kind.Required.Value, _ dice: inout Seeded) -> SQLArgument {
    switch value {
    case .fixed(let value): value
    case .oneOf(let values): dice.pick(values)
    case .uniqueText: .text(String(dice.next(), radix: 36))
    case .uniqueInteger: .integer(Int64(bitPattern: dice.next()))
    }
  }

  private func value(of column: String, _ kind: Kind, _ key: Int64, _ connection: Connection) throws -> SQLArgument {
    try connection.fetchOne(
      "SELECT \(identifier: column) FROM \(identifier: kind.table) WHERE \(identifier: kind.key) = \(key)",
      as: SQLArgument.self) ?? .null
  }

  /// Any record of a kind. Users often work on the same few records, which are the first ones on every device.
  func anyone(
    _ kind: Kind, _ connection: Connection, _ dice: inout Seeded, isDeleted: Bool = false
  ) throws -> (key: Int64, uuid: String)? {
    let count: SQL = "SELECT count(*) FROM \(identifier: kind.table) WHERE isDeleted = \(isDeleted)"
    guard let count = try connection.fetchOne(count, as: Int.self), count > 0 else { return nil }
    let place = dice.number(0..<(dice.chance(0.45) ? min(count, 3) : count))
    return try connection.fetchRows(
      """
      SELECT \(identifier: kind.key), uuid FROM \(identifier: kind.table) WHERE isDeleted = \(isDeleted)
      ORDER BY uuid LIMIT 1 OFFSET \(place)
      """, as: Int64.self, String.self
    ).first.map { (key: $0.0, uuid: $0.1) }
  }

  /// The values of referencing columns for any record of the referenced kind; `nil` if a record has no complete key.
  func anyTarget(
    _ reference: Kind.Reference, _ connection: Connection, _ dice: inout Seeded
  ) throws -> [Assignment]? {
    guard let kind = workload.kind(reference.entity), let parent = try anyone(kind, connection, &dice) else {
      return nil
    }
    return try target(reference, parent.uuid, connection)
  }

  /// The values of referencing columns for a record of the referenced kind; `nil` if it has no complete key.
  func target(_ reference: Kind.Reference, _ uuid: String, _ connection: Connection) throws -> [Assignment]? {
    guard let kind = workload.kind(reference.entity) else { return nil }
    let targets = reference.targets ?? [kind.key]
    let values = try zip(reference.columns, targets).map { column, target in
      let sql: SQL = "SELECT \(identifier: target) FROM \(identifier: kind.table) WHERE uuid = \(uuid)"
      return (column: column, value: try connection.fetchOne(sql, as: SQLArgument.self) ?? .null)
    }
    return values.contains { $0.value == .null } ? nil : values
  }
}
