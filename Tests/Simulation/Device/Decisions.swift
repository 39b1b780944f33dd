import CipherSQL
import Foundation
import TestSupport
import VaultStore

/// The user's decisions about conflicts and failed operations.
struct Decisions {
  let vault: Vault
  let journal: any Recorder
  let name: String
  var random: Seeded
  var transaction: Int
  /// Whether the user takes the server's side where that is possible.
  var takesServer = false

  /// Discards an operation, settles failed operations or resolves conflicts.
  mutating func decideAny(_ random: inout Seeded) throws {
    switch random.number(0..<10) {
    case 0: try discardAny()
    case 1..<5: _ = try settleFailed(0.5, retries: 0.6)
    default: _ = try resolve(0.3)
    }
  }

  /// Decides about each open conflict with a probability.
  /// - Parameter givesValues: whether the user first tries to give fields other values. A user who takes one side of each
  ///   conflict can bring the same conflicts back: restoring a parent takes a value that another record has, and keeping
  ///   the parent deleted leaves its child without it.
  /// - Returns: the number of decisions.
  /// - Throws: ``Violation`` for a conflict that no decision resolves.
  mutating func resolve(_ probability: Double, givesValues: Bool = false) throws -> Int {
    var count = 0
    for conflict in try vault.conflicts(resolved: false) where random.chance(probability) {
      if try decide(conflict, givesValues) { count += 1 }
    }
    return count
  }

  private mutating func decide(_ conflict: ConflictEntry, _ givesValues: Bool) throws -> Bool {
    transaction += 1
    journal.intend(
      transaction,
      [
        Journal.Entry(
          transaction: transaction, kind: .decide, entity: conflict.entityType, uuid: conflict.entityUuid, marker: "")
      ])
    var choices: [String: Vault.ConflictChoice] = [:]
    let takesLocal = random.chance(0.5)
    if conflict.conflictType == "concurrent_edit", conflict.fields.count > 1, random.chance(0.5) {
      choices[conflict.fields[0]] = takesLocal ? .remote : .local
    }
    // A refused decision has alternatives: to take the server's version, or this device's version, or to change the
    // other record in conflict that has the place of the server's version.
    let sides: [(takesLocal: Bool, choices: [String: Vault.ConflictChoice])] = [
      (takesLocal, choices), (false, [:]), (true, [:]),
    ]
    var values: [(takesLocal: Bool, choices: [String: Vault.ConflictChoice])] = []
    // A value that no other record has, where the last field of a constraint takes a text or a number.
    if conflict.conflictType == "not_unique", let field = conflict.fields.last {
      values.append((true, [field: .value(String(random.number(1_000_000..<9_000_000)))]))
    }
    // Empty fields. The device may have a parent with former values, so that the user cannot restore the parent.
    if ["not_unique", "deleted_remotely", "parent_missing"].contains(conflict.conflictType) {
      values.append((true, Dictionary(uniqueKeysWithValues: conflict.fields.map { ($0, .value("")) })))
    }
    var refusals: [String] = []
    var ways = givesValues ? values + sides : sides + values
    if takesServer { ways.insert((false, [:]), at: 0) }
    while !ways.isEmpty {
      let way = ways.removeFirst()
      do {
        try vault.resolveConflict(
          conflict.conflictId, takesLocal: way.takesLocal, choices: way.choices, user: name)
        journal.acknowledge(transaction)
        return true
      } catch let error as VaultError {
        // Another has ended it meanwhile.
        if error.code == .noSuchRecord { return false }
        refusals.append("\(way.takesLocal ? "local" : "remote") \(way.choices): \(error)")
        // The user gives a value that cannot be sent, such as the JSON null, another value with the decision.
        if let field = error.name, error.code == .badValue, way.takesLocal, way.choices[field] == nil {
          ways.append((true, way.choices.merging([field: .value("1")]) { own, _ in own }))
        }
        if takesServer, refusals.count == 1, try deleteReferring(conflict) { return true }
      } catch let error as SQLError {
        throw Violation(
          5,
          [
            "a decision fails: \(conflict.conflictType) of \(conflict.entityType) \(conflict.entityUuid) in \(conflict.fields)",
            "\(way.takesLocal ? "local" : "remote") \(way.choices): \(error)",
          ])
      }
    }
    // The refusal of a discard asks the user to delete the records that reference this one.
    if try deleteReferring(conflict) { return true }
    // What is in the way, such as a record that has not come yet or another conflict, may be gone in a later turn.
    if !givesValues { return false }
    throw Violation(
      5,
      [
        "a conflict cannot be ended in any way: \(conflict.conflictType) of \(conflict.entityType) "
          + "\(conflict.entityUuid) in \(conflict.fields)"
      ] + refusals)
  }

  /// Deletes the records that reference the record of a conflict, directly or through others, the last ones first.
  /// - Returns: whether one was deleted.
  private mutating func deleteReferring(_ conflict: ConflictEntry) throws -> Bool {
    var found: [(entity: Entity, uuid: String)] = [
      (try vault.entities.entity(conflict.entityType), conflict.entityUuid)
    ]
    var next = 0
    while next < found.count {
      let (entity, uuid) = found[next]
      next += 1
      for dependency in vault.entities.dependencies(on: entity) {
        let uuids = try vault.database.read { connection in
          try connection.fetch(
            """
            SELECT child.uuid FROM \(identifier: entity.table.name) AS parent
            JOIN \(identifier: dependency.child.table.name) AS child
              ON \(raw: dependency.isReferring(child: "child", parent: "parent"))
            WHERE parent.uuid = \(uuid) AND child.isDeleted = 0 ORDER BY child.uuid
            """, as: String.self)
        }
        for uuid in uuids where !found.contains(where: { $0.uuid == uuid }) { found.append((dependency.child, uuid)) }
      }
    }
    var isDone = false
    for (entity, uuid) in found.dropFirst().reversed() {
      transaction += 1
      journal.intend(
        transaction,
        [Journal.Entry(transaction: transaction, kind: .delete, entity: entity.type, uuid: uuid, marker: "")])
      do {
        try vault.database.write { connection in
          _ = try connection.execute("DELETE FROM \(identifier: entity.table.name) WHERE uuid = \(uuid)")
        }
      } catch let error as SQLError where error.code == .constraint {
        continue
      }
      journal.acknowledge(transaction)
      isDone = true
    }
    return isDone
  }

  /// Tries failed operations again, or gives them up.
  /// - Returns: how many were touched.
  mutating func settleFailed(_ probability: Double, retries: Double) throws -> Int {
    var failed: [OutboxEntry] = []
    try vault.forEachOperation { if $0.status == "failed" { failed.append($0) } }
    var count = 0
    for operation in failed where random.chance(probability) {
      do {
        if random.chance(retries) {
          try vault.retry([operation.operationId])
        } else {
          try discard(operation)
        }
        count += 1
      } catch let error as VaultError where Self.reasonsAgainstDiscarding.contains(error.code) {
        continue
      }
    }
    return count
  }

  /// Another has settled the operation meanwhile, or is sending it; or another record has the value that would come back.
  private static let reasonsAgainstDiscarding: [VaultError.Code] = [.noSuchRecord, .busy, .badValue, .refused]

  /// Discards any waiting operation.
  mutating func discardAny() throws {
    var waiting: [OutboxEntry] = []
    try vault.forEachOperation { if $0.status != "processing" { waiting.append($0) } }
    guard !waiting.isEmpty else { return }
    do {
      try discard(waiting[random.number(0..<waiting.count)])
    } catch let error as VaultError where Self.reasonsAgainstDiscarding.contains(error.code) {
      return
    }
  }

  private mutating func discard(_ operation: OutboxEntry) throws {
    transaction += 1
    journal.intend(
      transaction,
      [
        Journal.Entry(
          transaction: transaction, kind: .decide, entity: operation.entityType, uuid: operation.entityUuid,
          marker: Journal.discarded)
      ])
    do {
      _ = try vault.discard([operation.operationId])
    } catch let error as SQLError {
      throw Violation(
        5, ["a discard fails: \(operation.entityType) \(operation.entityUuid) \(operation.operationType)", "\(error)"])
    }
    journal.acknowledge(transaction)
  }
}
