import CipherSQL
import Foundation
import GeneratedSchemas
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
  /// The seed of the forms in which the program creates records.
  let forms: UInt64
  var random: Seeded
  var transaction: Int
  /// Called before each statement, for the log of a replay.
  var executes: (SQL) -> Void = { _ in }

  struct Step {
    let entries: [Journal.Entry]
    var statements: [SQL] = []
    /// What the program does by calls of the library, after the statements.
    var call: ((WriteConnection) throws -> Void)?

    init(entry: Journal.Entry, sql: SQL) { (entries, statements) = ([entry], [sql]) }

    init(entries: [Journal.Entry], statements: [SQL]) { (self.entries, self.statements) = (entries, statements) }

    init(entry: Journal.Entry, call: @escaping (WriteConnection) throws -> Void) {
      (entries, self.call) = ([entry], call)
    }
  }

  /// One transaction. If the tables refuse it, all of it is rolled back, and nothing is acknowledged.
  mutating func write() throws {
    let work = plan()
    do {
      guard try vault.database.write({ try work($0) }) else { return }
    } catch let error where Self.isRefusal(error) {
      return
    }
    journal.acknowledge(transaction)
  }

  /// Begins a transaction.
  /// - Returns: what it does in the database. The result is whether there was anything to do.
  mutating func plan() -> (WriteConnection) throws -> Bool {
    transaction += 1
    let count = random.chance(0.5) ? random.number(2..<7) : 1
    let kinds = (0..<count).map { _ in workload.random(&random) }
    let (person, dice) = (self, Seeded(random.next()))
    return { try person.work(kinds, $0, dice) }
  }

  private func work(_ kinds: [Kind], _ connection: WriteConnection, _ dice: Seeded) throws -> Bool {
    var dice = dice
    // Chosen in the same transaction: a sync round may remove a record between two.
    let steps = try kinds.compactMap { try step($0, connection, &dice) }
    guard !steps.isEmpty else { return false }
    journal.intend(transaction, steps.flatMap(\.entries))
    let restored = Set(steps.flatMap(\.entries).filter { $0.kind == .revive }.map(\.uuid))
    let deleted = try restored.isEmpty ? [] : deletedByUsers(connection)
    // A program may have triggers of its own for a while.
    let trigger = dice.chance(0.01) ? trigger(on: kinds[0]) : nil
    if let trigger { try connection.execute(trigger.create) }
    for step in steps {
      for statement in step.statements {
        executes(statement)
        _ = try connection.execute(statement)
      }
      try step.call?(connection)
    }
    if let trigger { try connection.execute(trigger.drop) }
    guard try restored.isEmpty || deleted.subtracting(restored).isSubset(of: deletedByUsers(connection)) else {
      throw Violation(
        6, ["on \(name), a restoration restores a record that was deleted on its own:"] + restored.sorted())
    }
    return true
  }

  /// Whether the tables or the library refuse a write of the user. It changes nothing then.
  static func isRefusal(_ error: any Error) -> Bool {
    switch error {
    case let error as SQLError: error.code == .constraint
    case let error as VaultError: [.refused, .noSuchRecord].contains(error.code)
    default: false
    }
  }

  private func step(_ kind: Kind, _ connection: Connection, _ dice: inout Seeded) throws -> Step? {
    let table = kind.table
    let live =
      try connection.fetchOne(
        "SELECT count(*) FROM \(identifier: table) WHERE isDeleted = 0", as: Int.self) ?? 0
    if live == 0 || live < 25 && dice.chance(0.4) || dice.chance(0.05) { return try creation(kind, connection, &dice) }
    if dice.chance(0.06) { return try revival(kind, connection, &dice) }
    if dice.chance(0.04) { return try severalRows(kind, connection, &dice) }
    if dice.chance(0.05), let step = try relocation(kind, connection, &dice) { return step }
    guard let (key, uuid) = try anyone(kind, connection, &dice) else { return nil }
    // A deletion of the first kind takes the most along.
    let isFirst = kind.entity == workload.kinds[0].entity
    if dice.chance(isFirst ? 0.06 : 0.14) {
      if let call = try deletion(kind, uuid, &dice) { return Step(entry: entry(.delete, kind, uuid, ""), call: call) }
      let sql: SQL =
        dice.chance(0.5)
        ? "DELETE FROM \(identifier: table) WHERE \(identifier: kind.key) = \(key)"
        : "UPDATE \(identifier: table) SET isDeleted = 1 WHERE \(identifier: kind.key) = \(key)"
      return Step(entry: entry(.delete, kind, uuid, ""), sql: sql)
    }
    if !kind.renewed.isEmpty, dice.chance(0.15) { return renewal(kind, key, uuid, &dice) }
    if !kind.swapped.isEmpty, dice.chance(0.35) { return try swap(kind, key, uuid, connection, &dice) }
    if !kind.references.isEmpty, dice.chance(0.2), let sql = try move(kind, key, connection, &dice) {
      return Step(entry: entry(.touch, kind, uuid, ""), sql: sql)
    }
    if dice.chance(0.03) { return try replacement(kind, key, uuid, connection, &dice) }
    return try edit(kind, key, uuid, connection, &dice)
  }

  /// The records that users of this device have deleted, without those that were deleted with another record.
  private func deletedByUsers(_ connection: Connection) throws -> Set<String> {
    var uuids: Set<String> = []
    for kind in workload.kinds {
      uuids.formUnion(
        try connection.fetch(
          """
          SELECT uuid FROM \(identifier: kind.table) AS record WHERE isDeleted = 1 AND NOT EXISTS (SELECT 1 FROM SyncCascade
            WHERE entityType = \(kind.entity) AND entityId = record.\(identifier: kind.key))
          """, as: String.self))
    }
    return uuids
  }

  // MARK: Parts

  /// A UUID of version 7 in its form; all of it is drawn, so that it follows the seed.
  static func uuid(_ dice: inout Seeded) -> String {
    let (high, low) = (dice.next(), dice.next())
    return String(
      format: "%08x-%04x-7%03x-%04x-%012lx", UInt32(high >> 32), UInt32(high >> 16 & 0xffff), UInt32(high & 0xfff),
      UInt32(0x8000 | (low >> 48 & 0x3fff)), UInt(low & 0xffff_ffff_ffff))
  }

  func entry(_ kind: Journal.Kind, _ of: Kind, _ uuid: String, _ marker: String) -> Journal.Entry {
    Journal.Entry(transaction: transaction, kind: kind, entity: of.entity, uuid: uuid, marker: marker)
  }

  /// A text that no other write has.
  func marker(_ dice: inout Seeded) -> String {
    "\(Self.markerPrefix)\(name)-\(transaction)-\(String(dice.next(), radix: 36))"
  }

  static let markerPrefix = "SIMULATED-"

  func time(_ dice: inout Seeded) -> String? {
    guard let clockError, dice.chance(0.7) else { return nil }
    return Date(timeInterval: Double(clockError), since: vault.environment.date).sqlText
  }
}
