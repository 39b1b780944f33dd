import CipherSQL
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Vault {
  /// Returns the age of an entity's records on this device, for a label such as 'cached data of ...'.
  ///
  /// For a REST remote it is the time of the entity's list. For a FieldVault server, which sends every change, it is
  /// the time of the last round.
  /// - Throws: ``VaultError`` with `notFetched` if no records were ever fetched, which differs from an empty list.
  public func fetched(_ entity: Entity) throws -> FetchedState {
    let found: FetchedState? = try database.read { connection in
      let rows = try connection.fetchRows(
        "SELECT fetchedAt, problem FROM SyncFetch WHERE entityType = \(entity.type)", as: Date?.self, String?.self)
      if let (time, problem) = rows.first {
        return time.map { FetchedState(entityType: entity.type, fetchedAt: $0, problem: problem) }
      }
      guard try SyncSettings.value(.remoteRoutes, in: connection) == nil,
        try SyncSettings.value(.isFilled, in: connection) != nil,
        let time = try connection.fetchOne(
          "SELECT value FROM Setting WHERE name = \(SyncSettings.Name.lastSync.rawValue)", as: Date.self)
      else { return nil }
      return FetchedState(entityType: entity.type, fetchedAt: time, problem: nil)
    }
    guard let found else {
      throw VaultError(
        .notFetched, "no cached data for \(entity.type) on this device yet",
        hint: "connect to a network and sync once; the data is then available offline")
    }
    return found
  }

  /// Returns whether an entity is owned by the server and references only such entities.
  public func isReferenceData(_ entity: Entity) -> Bool { syncCatalog.isReferenceData(entity.type) }
}
