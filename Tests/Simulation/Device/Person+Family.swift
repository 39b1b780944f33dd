import CipherSQL
import GeneratedSchemas
import TestSupport
import VaultStore

/// A record with hundreds of dependents, as an import makes it.
struct Family {
  /// The kind of the record.
  let parent: Kind
  /// The UUID of the record.
  let uuid: String
  /// The values of the record that no other record may have, by their columns.
  let uniqueValues: [Person.Assignment]
}

extension Person {
  /// The most dependents that one transaction adds.
  private static let dependentsAtOnce = 200

  /// Creates a record with dependents of any kind. Returns `nil` if no kind references another kind, or if the tables refuse
  /// the dependents of each kind.
  /// - Parameter isUnique: whether records with values that no other record may have are preferred, and otherwise those that
  ///   dependents need.
  mutating func raiseFamily(of count: Int, isUnique: Bool) throws -> Family? {
    let choices = workload.kinds.filter { $0.weight > 0 }.flatMap { kind in
      kind.references.filter { $0.entity != kind.entity }.compactMap { reference in
        workload.kind(reference.entity).map { (kind: kind, reference: reference, parent: $0) }
      }
    }.shuffled(using: &random)
    func isPreferred(_ reference: Kind.Reference, _ parent: Kind) -> Bool {
      isUnique ? parent.required.contains { $0.value.isUnique } : !reference.isOptional
    }
    let preferred = choices.filter { isPreferred($0.reference, $0.parent) }
    for (kind, reference, parent) in preferred + choices.filter({ !isPreferred($0.reference, $0.parent) }) {
      if let family = try raiseFamily(of: count, kind, reference, under: parent) { return family }
    }
    return nil
  }

  private mutating func raiseFamily(
    of count: Int, _ child: Kind, _ reference: Kind.Reference, under parent: Kind
  ) throws -> Family? {
    var dice = Seeded(random.next())
    var record: NewRecord?
    guard
      try write({ person, connection in
        record = try person.newRecord(parent, connection, &dice)
        return record.map { [$0.step] } ?? []
      }), let record
    else { return nil }
    for begin in stride(from: 0, to: count, by: Self.dependentsAtOnce) {
      let isDone = try write { person, connection in
        guard let values = try person.target(reference, record.uuid, connection) else { return [] }
        return try (begin..<min(begin + Self.dependentsAtOnce, count)).compactMap { _ in
          try person.newRecord(child, under: (reference, values), connection, &dice)?.step
        }
      }
      guard isDone else { return nil }
    }
    return Family(parent: parent, uuid: record.uuid, uniqueValues: record.uniqueValues)
  }

  /// Creates another record with the unique values of a family's record.
  /// - Returns: its UUID; `nil` if it was not created.
  mutating func raiseRival(of family: Family) throws -> String? {
    var dice = Seeded(random.next())
    var rival: NewRecord?
    let isDone = try write { person, connection in
      rival = try person.newRecord(family.parent, with: family.uniqueValues, connection, &dice)
      return rival.map { [$0.step] } ?? []
    }
    return isDone ? rival?.uuid : nil
  }

  /// Gives the rival of a family's record other unique values.
  mutating func renew(_ rival: String, of family: Family) throws {
    var dice = Seeded(random.next())
    let columns = Set(family.uniqueValues.map(\.column))
    let renewed = family.parent.required.filter { columns.contains($0.column) }
    _ = try write { person, _ in
      renewed.map { required in
        let sql: SQL = """
          UPDATE \(identifier: family.parent.table) SET \(identifier: required.column) = \(Self.value(required.value, &dice))
          WHERE uuid = \(rival)
          """
        return Step(entry: person.entry(.touch, family.parent, rival, ""), sql: sql)
      }
    }
  }

  /// Deletes the record of a family, and its dependents with it.
  mutating func delete(_ family: Family) throws {
    _ = try write { person, _ in
      let sql: SQL = "UPDATE \(identifier: family.parent.table) SET isDeleted = 1 WHERE uuid = \(family.uuid)"
      return [Step(entry: person.entry(.delete, family.parent, family.uuid, ""), sql: sql)]
    }
  }

  // MARK: Parts

  private struct NewRecord {
    let uuid: String
    let uniqueValues: [Assignment]
    let step: Step
  }

  /// A transaction of some steps.
  /// - Returns: `false` if it has no step, or if the tables refuse it.
  private mutating func write(_ steps: (Person, Connection) throws -> [Step]) throws -> Bool {
    transaction += 1
    let person = self
    do {
      let isDone = try vault.database.write { connection in
        let steps = try steps(person, connection)
        journal.intend(transaction, steps.flatMap(\.entries))
        for statement in steps.flatMap(\.statements) { _ = try connection.execute(statement) }
        return !steps.isEmpty
      }
      guard isDone else { return false }
    } catch let error as SQLError where error.code == .constraint {
      return false
    }
    journal.acknowledge(transaction)
    return true
  }

  /// A record with the necessary values alone.
  /// - Parameters:
  ///   - parent: the values of one of its references.
  ///   - values: the values of unique columns.
  private func newRecord(
    _ kind: Kind, under parent: (reference: Kind.Reference, values: [Assignment])? = nil,
    with values: [Assignment] = [], _ connection: Connection, _ dice: inout Seeded
  ) throws -> NewRecord? {
    let (uuid, marker) = (Self.uuid(&dice), marker(&dice))
    var assignments: [Assignment] = [("uuid", .text(uuid)), (kind.marker, .text(marker))]
    var unique = values
    for required in kind.required where !values.contains(where: { $0.column == required.column }) {
      let assignment = (column: required.column, value: Self.value(required.value, &dice))
      if required.value.isUnique { unique.append(assignment) } else { assignments.append(assignment) }
    }
    for reference in kind.references {
      if let parent, parent.reference.columns == reference.columns {
        assignments += parent.values
      } else if !reference.isOptional {
        guard let target = try anyTarget(reference, connection, &dice) else { return nil }
        assignments += target
      }
    }
    assignments += unique
    let names = assignments.map { SQL.quoted($0.column) }.joined(separator: ", ")
    let marks = assignments.map { _ in "?" }.joined(separator: ", ")
    let sql = SQL(
      raw: "INSERT INTO \(SQL.quoted(kind.table)) (\(names)) VALUES (\(marks))", arguments: assignments.map(\.value))
    return NewRecord(
      uuid: uuid, uniqueValues: unique, step: Step(entry: entry(.mark, kind, uuid, marker), sql: sql))
  }
}

extension Kind.Required.Value {
  fileprivate var isUnique: Bool {
    switch self {
    case .fixed, .oneOf: false
    case .uniqueText, .uniqueInteger: true
    }
  }
}
