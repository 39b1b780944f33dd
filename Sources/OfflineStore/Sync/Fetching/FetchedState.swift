import CipherSQL
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How old the records of one kind are on this device, for a kind that the server decides about: rifles, people, materials.
public struct FetchedState: Hashable, Sendable {
  /// The kind of record.
  public let entityType: String
  /// When they last came as a whole.
  public let fetchedAt: Date
  /// What could not be read the last time that they were fetched, for people.
  public let problem: String?
}

extension SyncTransaction {
  /// Writes down that a list has come.
  package func note(_ list: FetchedList) throws {
    let time = WireTime.text(now)
    let fetchedAt = list.isWhole ? time : nil
    try connection.execute(
      """
      INSERT INTO SyncFetch (entityType, fetchedAt, triedAt, problem) VALUES (\(list.entityType), \(fetchedAt.sqlArgument), \(time), \(list.problem.sqlArgument))
      ON CONFLICT (entityType) DO UPDATE SET
        fetchedAt = coalesce(excluded.fetchedAt, fetchedAt), triedAt = excluded.triedAt, problem = excluded.problem
      """)
  }
}

extension Vault {
  /// How old the records of a kind are on this device, so that a screen can say 'cached data of ...'.
  ///
  /// With an API that has lists it is the time of its list; with a FieldVault server, which tells every change, that of the
  /// last round.
  /// - Throws: ``VaultError`` with `notFetched` when none has ever come: then there is nothing to show, which is not the same
  ///   as an empty list.
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
        .notFetched, "there is no cached data of \(entity.type) on this device yet",
        hint: "connect to the network once and sync, then it can be used without")
    }
    return found
  }

  /// Whether records of a kind are the server's to decide about, and hang on nothing else.
  public func isReferenceData(_ entity: Entity) -> Bool { syncCatalog.isReferenceData(entity.type) }
}
