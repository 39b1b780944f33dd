import HTTPClient
import CipherSQL
import VaultStore
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension SyncWorker {
  /// Restores deleted records and the dependents that were deleted with them, in one transaction. Records whose rows sync
  /// has removed are fetched from the server, which keeps deleted records for a time.
  ///
  /// The restoration is queued like an edit. After a round has sent it, the server restores the dependents, and the
  /// same round pulls them. A round of this or another worker may run in the meantime.
  ///
  /// - Throws: ``VaultError`` like `Vault.undelete(_:_:)`, and with `noSuchRecord` for a record that the server does
  ///   not keep any more; ``SyncRefused``; ``RemoteFailure``. Nothing is changed in these cases.
  public func undelete(_ entity: Entity, _ uuids: [UUID]) async throws -> Restoration {
    let vault = vault
    guard let table = vault.syncCatalog.tables[entity.type] else {
      return try await vault.database.write { try RecordWriter($0, entities: vault.entities).undelete(entity, uuids) }
    }
    let absent = try await vault.database.read { connection in
      try uuids.map(\.sqlText).filter { try !table.has($0, in: connection) }
    }
    if absent.isEmpty {
      return try await vault.database.write { try RecordWriter($0, entities: vault.entities).undelete(entity, uuids) }
    }
    try await checkSettings()
    guard remote.capabilities.restores else {
      throw VaultError(
        .noSuchRecord, "no \(entity.type) \(absent[0]) in this vault, and its server keeps no deleted records",
        remedy: .showDeletedRecords(entity: entity.type))
    }
    let driver = RoundDriver(vault: vault, remote: remote, clock: clock, tell: { _ in })
    let round = try await driver.perform(
      Round(fetching: absent, of: entity.type, capabilities: remote.capabilities))
    if let failure = round.report.failure { throw failure }
    guard let fetched = round.fetched else { throw CancellationError() }
    return try await vault.sync { try $0.undelete(table, uuids, from: fetched) }
  }
}
