import CipherSQL
import Foundation
import GeneratedSchemas
import HTTPClient
import SyncEngine
import TestSupport
import VaultStore

/// A user's program that calls the library where others write SQL.
extension Person {
  /// Returns a deletion by a call of the library; `nil` for one by SQL.
  func deletion(_ kind: Kind, _ uuid: String, _ dice: inout Seeded) throws -> ((WriteConnection) throws -> Void)? {
    guard dice.chance(0.3), let record = UUID(uuidString: uuid) else { return nil }
    let entities = vault.entities
    let entity = try entities.entity(kind.entity)
    return { connection in try RecordWriter(connection, entities: entities).delete(entity, record) }
  }

  /// Saves a form: writes, and sends the record at once if the server can be reached in time.
  /// - Returns: the outcome; `nil` if there was nothing to save, or if the tables refused it.
  mutating func save(by worker: SyncWorker, within limit: Duration) async throws -> SaveOutcome? {
    let work = OneThread(value: plan())
    do {
      let (isDone, outcome) = try await worker.save(within: limit) { connection in
        try TransactionMeter.asUser { try work.value(connection) }
      }
      guard isDone else { return nil }
      journal.acknowledge(transaction)
      return outcome
    } catch let error where Self.isRefusal(error) {
      return nil
    }
  }

  /// Restores a deleted record, also one whose row sync has removed.
  /// - Returns: whether it was restored.
  mutating func restore(_ kind: Kind, _ uuid: String, by worker: SyncWorker) async throws -> Bool {
    guard let record = UUID(uuidString: uuid) else { return false }
    let entity = try vault.entities.entity(kind.entity)
    transaction += 1
    journal.intend(transaction, [entry(.revive, kind, uuid, "")])
    do {
      _ = try await worker.undelete(entity, [record])
    } catch let error where Self.isRefusal(error) || error is SyncRefused || error is RemoteFailure {
      return false
    }
    journal.acknowledge(transaction)
    return true
  }

  /// Removes the row of a deleted record.
  /// - Returns: whether it was removed.
  mutating func purge(_ kind: Kind) throws -> Bool {
    let entity = try vault.entities.entity(kind.entity)
    var dice = Seeded(random.next())
    do {
      return try vault.database.write { connection in
        guard let (_, uuid) = try anyone(kind, connection, &dice, isDeleted: true), let record = UUID(uuidString: uuid)
        else { return false }
        try RecordWriter(connection, entities: vault.entities).purge(entity, record)
        return true
      }
    } catch let error where Self.isRefusal(error) {
      return false
    }
  }

  /// Asks for the state of sync, as the pages of an app do.
  /// - Throws: ``Violation`` if the counts are not those of the records.
  mutating func readStatus() throws {
    let status = try vault.status()
    let kind = workload.random(&random)
    var dice = Seeded(random.next())
    let counts = try vault.database.read { connection in
      try connection.fetchRows(
        """
        SELECT count(*) FILTER (WHERE isDeleted = 0), count(*) FILTER (WHERE isDirty = 1)
        FROM \(identifier: kind.table)
        """, as: Int.self, Int.self
      ).first
    }
    guard let counts, let told = status.entities.first(where: { $0.entityType == kind.entity }),
      told.records == counts.0, told.dirty == counts.1
    else { throw Violation(2, "on \(name), the status has other counts of \(kind.entity) than its table") }
    let entity = try vault.entities.entity(kind.entity)
    let found = try vault.database.read { connection in
      try anyone(kind, connection, &dice, isDeleted: dice.chance(0.2))
    }
    guard let uuid = found?.uuid, let record = UUID(uuidString: uuid) else { return }
    let explanation: Explanation
    do {
      explanation = try vault.why(entity, record)
    } catch let error as VaultError where error.code == .noSuchRecord {
      // The worker has removed the row of a deleted record between the two queries.
      return
    }
    guard !explanation.reason.isEmpty,
      explanation.syncStatus == "synced" || !explanation.reason.hasPrefix("it is in sync")
    else {
      throw Violation(
        2,
        ["on \(name), the explanation of \(kind.entity) \(uuid) is: \(explanation.syncStatus), \(explanation.reason)"])
    }
  }
}
