import CipherSQL
import Foundation
import TestSupport
import VaultStore

/// Writes as a person's program does: a few statements of SQL in a transaction.
struct Person {
  let vault: Vault
  let workload: Workload
  let journal: any Recorder
  /// Names the device in its markers.
  let name: String
  /// How wrong the device's clock is, in seconds; nil leaves the times to the database.
  let clockError: Int?
  var random: Seeded
  var transaction: Int
  /// Called before each statement, for the log of a replay.
  var executes: (SQL) -> Void = { _ in }

  private struct Step {
    let entries: [Journal.Entry]
    let statements: [SQL]

    init(entry: Journal.Entry, sql: SQL) { (entries, statements) = ([entry], [sql]) }

    init(entries: [Journal.Entry], statements: [SQL]) { (self.entries, self.statements) = (entries, statements) }
  }

  /// One transaction. If the tables refuse it, all of it is rolled back, and nothing is acknowledged.
  mutating func write() throws {
    transaction += 1
    let count = random.chance(0.25) ? random.number(2..<5) : 1
    let kinds = (0..<count).map { _ in workload.random(&random) }
    var dice = Seeded(random.next())
    do {
      let isDone = try vault.database.write { connection in
        // Chosen in the same transaction: a sync round may remove a record between two.
        let steps = try kinds.compactMap { try step($0, connection, &dice) }
        guard !steps.isEmpty else { return false }
        journal.intend(transaction, steps.flatMap(\.entries))
        for statement in steps.flatMap(\.statements) {
          executes(statement)
          _ = try connection.execute(statement)
        }
        return true
      }
      guard isDone else { return }
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
    // A deletion of the first kind takes the most along.
    let isFirst = kind.entity == workload.kinds[0].entity
    if dice.chance(isFirst ? 0.06 : 0.14) {
      let sql: SQL =
        dice.chance(0.5)
        ? "DELETE FROM \(identifier: table) WHERE \(identifier: kind.key) = \(key)"
        : "UPDATE \(identifier: table) SET isDeleted = 1 WHERE \(identifier: kind.key) = \(key)"
      return Step(entry: entry(.delete, kind, uuid, ""), sql: sql)
    }
    if !kind.swapped.isEmpty, dice.chance(0.35) { return try swap(kind, key, uuid, connection, &dice) }
    if !kind.references.isEmpty, dice.chance(0.2), let sql = try move(kind, key, connection, &dice) {
      return Step(entry: entry(.touch, kind, uuid, ""), sql: sql)
    }
    return edit(kind, key, uuid, &dice)
  }

  // MARK: The statements

  private func creation(_ kind: Kind, _ connection: Connection, _ dice: inout Seeded) throws -> Step? {
    let uuid = Self.uuid(&dice)
    let marker = marker(&dice)
    var columns: [(name: String, value: SQLArgument)] = [("uuid", .text(uuid)), (kind.marker, .text(marker))]
    for required in kind.required {
      switch required.value {
      case .fixed(let value): columns.append((required.column, value))
      case .uniqueText: columns.append((required.column, .text(String(dice.next(), radix: 36))))
      case .uniqueInteger: columns.append((required.column, .integer(Int64(bitPattern: dice.next()))))
      }
    }
    for (name, values) in kind.others where dice.chance(0.3) {
      columns.append((name, values[dice.number(0..<values.count)]))
    }
    for reference in kind.references where !reference.isOptional || dice.chance(0.6) {
      guard let parent = try anyValue(reference, connection, &dice) else {
        if reference.isOptional { continue }
        return nil
      }
      columns.append((reference.column, parent))
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
      let (name, values) = kind.others[dice.number(0..<kind.others.count)]
      assignments.append((name, values[dice.number(0..<values.count)]))
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
    let parent = try anyValue(reference, connection, &dice)
    let value: SQLArgument = reference.isOptional && dice.chance(0.25) ? .null : parent ?? .null
    return SQL(
      raw: "UPDATE \(kind.table) SET \(reference.column) = ? WHERE \(kind.key) = ?", arguments: [value, .integer(key)])
  }

  /// Swaps the values of a UNIQUE constraint between two records; the last column is empty in between.
  private func swap(
    _ kind: Kind, _ key: Int64, _ uuid: String, _ connection: Connection, _ dice: inout Seeded
  ) throws -> Step? {
    let columns = kind.swapped[dice.number(0..<kind.swapped.count)]
    guard let last = columns.last, let other = try anyone(kind, connection, &dice), other.key != key else { return nil }
    func values(_ key: Int64) throws -> [SQLArgument] {
      try columns.map { column in
        try connection.fetchOne(
          "SELECT \(identifier: column) FROM \(identifier: kind.table) WHERE \(identifier: kind.key) = \(key)",
          as: SQLArgument.self) ?? .null
      }
    }
    func assignment(_ key: Int64, _ values: [SQLArgument]) -> SQL {
      SQL(
        raw: "UPDATE \(kind.table) SET \(columns.map { "\($0) = ?" }.joined(separator: ", ")) WHERE \(kind.key) = ?",
        arguments: values + [.integer(key)])
    }
    let (first, second) = (try values(key), try values(other.key))
    return Step(
      entries: [entry(.touch, kind, uuid, ""), entry(.touch, kind, other.uuid, "")],
      statements: [
        SQL(raw: "UPDATE \(kind.table) SET \(last) = NULL WHERE \(kind.key) = ?", arguments: [.integer(key)]),
        assignment(other.key, first), assignment(key, second),
      ])
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

  /// A value to refer to any record of a kind.
  private func anyValue(
    _ reference: Kind.Reference, _ connection: Connection, _ dice: inout Seeded
  ) throws -> SQLArgument? {
    guard let kind = workload.kind(reference.entity), let parent = try anyone(kind, connection, &dice) else {
      return nil
    }
    guard let target = reference.target else { return .integer(parent.key) }
    return try connection.fetchOne(
      "SELECT \(identifier: target) FROM \(identifier: kind.table) WHERE \(identifier: kind.key) = \(parent.key)",
      as: SQLArgument.self)
  }

  /// A UUID of version 7 in its form; all of it is drawn, so that it follows the seed.
  private static func uuid(_ dice: inout Seeded) -> String {
    let (high, low) = (dice.next(), dice.next())
    return String(
      format: "%08x-%04x-7%03x-%04x-%012lx", UInt32(high >> 32), UInt32(high >> 16 & 0xffff), UInt32(high & 0xfff),
      UInt32(0x8000 | (low >> 48 & 0x3fff)), UInt(low & 0xffff_ffff_ffff))
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
    return Date(timeInterval: Double(clockError), since: vault.environment.date).sqlText
  }
}
