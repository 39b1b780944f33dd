import CipherSQL
import Foundation
import OfflineStore

/// Writes as a person's program does: a few statements of SQL in a transaction.
struct Person {
  let vault: Vault
  let journal: Journal
  /// Names the device in its markers.
  let name: String
  /// How wrong the device's clock is, in seconds; nil leaves the times to the database.
  let clockError: Int?
  var random: Seeded
  var transaction: Int

  private struct Step {
    let entry: Journal.Entry
    let sql: SQL
  }

  /// One transaction. What the tables refuse is undone as a whole, and nothing is acknowledged.
  mutating func write() throws {
    transaction += 1
    let count = random.chance(0.25) ? random.number(2..<5) : 1
    let kinds = (0..<count).map { _ in Kind.random(&random) }
    var dice = Seeded(random.next())
    let steps = try vault.database.read { connection in
      try kinds.compactMap { try step($0, connection, &dice) }
    }
    guard !steps.isEmpty else { return }
    journal.intend(transaction, steps.map(\.entry))
    do {
      try vault.database.write { connection in for step in steps { _ = try connection.execute(step.sql) } }
    } catch let error as SQLError where error.code == .constraint {
      return
    }
    journal.acknowledge(transaction)
  }

  private func step(_ kind: Kind, _ connection: Connection, _ dice: inout Seeded) throws -> Step? {
    let table = kind.table
    let live =
      try connection.fetchOne(
        "SELECT count(*) FROM \(identifier: table) WHERE isDeleted = 0", as: Int.self) ?? 0
    if live == 0 || live < 25 && dice.chance(0.4) || dice.chance(0.05) { return try creation(kind, connection, &dice) }
    if dice.chance(0.06) { return try revival(kind, connection, &dice) }
    guard let (key, uuid) = try anyone(kind, connection, &dice) else { return nil }
    let isProject = kind.entity == "Project"
    if dice.chance(isProject ? 0.06 : 0.14) {
      let sql: SQL =
        dice.chance(0.5)
        ? "DELETE FROM \(identifier: table) WHERE \(identifier: kind.key) = \(key)"
        : "UPDATE \(identifier: table) SET isDeleted = 1 WHERE \(identifier: kind.key) = \(key)"
      return Step(entry: entry(.delete, kind, uuid, ""), sql: sql)
    }
    if !kind.references.isEmpty, dice.chance(0.2), let sql = try move(kind, key, connection, &dice) {
      return Step(entry: entry(.touch, kind, uuid, ""), sql: sql)
    }
    return edit(kind, key, uuid, &dice)
  }

  // MARK: The statements

  private func creation(_ kind: Kind, _ connection: Connection, _ dice: inout Seeded) throws -> Step? {
    let uuid = UUID.version7().sqlText
    let marker = marker(&dice)
    var columns: [(name: String, value: SQLArgument)] = [("uuid", .text(uuid)), (kind.marker, .text(marker))]
    columns += kind.required.map { ($0.column, $0.value) }
    for reference in kind.references where !reference.isOptional || dice.chance(0.6) {
      guard let target = Kind.named(reference.entity), let parent = try anyone(target, connection, &dice) else {
        if reference.isOptional { continue }
        return nil
      }
      columns.append((reference.column, .integer(parent.key)))
    }
    if let time = time(&dice) { columns.append(("updatedAt", .text(time))) }
    let names = columns.map { "\"\($0.name)\"" }.joined(separator: ", ")
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    return Step(
      entry: entry(.mark, kind, uuid, marker),
      sql: SQL(raw: "INSERT INTO \(kind.table) (\(names)) VALUES (\(marks))", arguments: columns.map(\.value)))
  }

  private func edit(_ kind: Kind, _ key: Int64, _ uuid: String, _ dice: inout Seeded) -> Step {
    let marker = marker(&dice)
    var assignments: [(String, SQLArgument)] = []
    let isMarked = dice.chance(0.7)
    if isMarked { assignments.append((kind.marker, .text(marker))) }
    if !isMarked || dice.chance(0.3) {
      assignments.append((kind.other, kind.values[dice.number(0..<kind.values.count)]))
    }
    if let time = time(&dice) { assignments.append(("updatedAt", .text(time))) }
    let text = assignments.map { "\($0.0) = ?" }.joined(separator: ", ")
    return Step(
      entry: entry(isMarked ? .mark : .touch, kind, uuid, isMarked ? marker : ""),
      sql: SQL(
        raw: "UPDATE \(kind.table) SET \(text) WHERE \(kind.key) = ?", arguments: assignments.map(\.1) + [.integer(key)]
      ))
  }

  private func move(_ kind: Kind, _ key: Int64, _ connection: Connection, _ dice: inout Seeded) throws -> SQL? {
    let reference = kind.references[dice.number(0..<kind.references.count)]
    guard let target = Kind.named(reference.entity) else { return nil }
    let parent = try anyone(target, connection, &dice)
    let value: SQLArgument =
      reference.isOptional && dice.chance(0.25) ? .null : parent.map { .integer($0.key) } ?? .null
    return SQL(
      raw: "UPDATE \(kind.table) SET \(reference.column) = ? WHERE \(kind.key) = ?", arguments: [value, .integer(key)])
  }

  private func revival(_ kind: Kind, _ connection: Connection, _ dice: inout Seeded) throws -> Step? {
    guard let (key, uuid) = try anyone(kind, connection, &dice, isDeleted: true) else { return nil }
    return Step(
      entry: entry(.revive, kind, uuid, ""),
      sql: "UPDATE \(identifier: kind.table) SET isDeleted = 0 WHERE \(identifier: kind.key) = \(key)")
  }

  private func anyone(
    _ kind: Kind, _ connection: Connection, _ dice: inout Seeded, isDeleted: Bool = false
  ) throws -> (key: Int64, uuid: String)? {
    let count: SQL = "SELECT count(*) FROM \(identifier: kind.table) WHERE isDeleted = \(isDeleted)"
    guard let count = try connection.fetchOne(count, as: Int.self), count > 0 else { return nil }
    return try connection.fetchRows(
      """
      SELECT \(identifier: kind.key), uuid FROM \(identifier: kind.table) WHERE isDeleted = \(isDeleted)
      ORDER BY uuid LIMIT 1 OFFSET \(dice.number(0..<count))
      """, as: Int64.self, String.self
    ).first.map { (key: $0.0, uuid: $0.1) }
  }

  private func entry(_ kind: Journal.Kind, _ of: Kind, _ uuid: String, _ marker: String) -> Journal.Entry {
    Journal.Entry(transaction: transaction, kind: kind, entity: of.entity, uuid: uuid, marker: marker)
  }

  /// A text that no other write has.
  private func marker(_ dice: inout Seeded) -> String {
    "\(Self.markerPrefix)\(name)-\(transaction)-\(String(dice.next(), radix: 36))"
  }

  static let markerPrefix = "SIMULATED-"

  private func time(_ dice: inout Seeded) -> String? {
    guard let clockError, dice.chance(0.7) else { return nil }
    return Date(timeIntervalSinceNow: Double(clockError)).sqlText
  }
}
