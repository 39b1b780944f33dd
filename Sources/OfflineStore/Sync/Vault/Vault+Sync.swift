import CipherSQL
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Vault {
  /// The synced entities, ready for reading and writing.
  package var syncCatalog: SyncCatalog {
    catalog.withLock { known in
      let catalog = known ?? SyncCatalog(entities)
      known = catalog
      return catalog
    }
  }

  /// What sync does, in one transaction.
  package func sync<Result: Sendable>(
    _ body: @escaping @Sendable (SyncTransaction) throws -> Result
  ) async throws -> Result {
    let catalog = syncCatalog
    return try await database.write { connection in
      try SyncTransaction.run(on: connection, catalog, now: Self.now, body)
    }
  }

  /// As ``sync(_:)``, on this thread.
  @available(*, noasync, message: "use 'await' in asynchronous code")
  package func syncNow<Result>(_ body: (SyncTransaction) throws -> Result) throws -> Result {
    try database.write { connection in
      try SyncTransaction.run(on: connection, syncCatalog, now: Self.now, body)
    }
  }

  /// Milliseconds since 1970 by this device's clock.
  package static var now: Int64 { Date.nowInMilliseconds().milliseconds }

  /// The store at a glance.
  /// - Parameter countsRecords: whether the records of each entity are counted, which costs more the more there are.
  public func status(countsRecords: Bool = true) throws -> StoreStatus {
    let counted = countsRecords ? entities : nil
    return try database.read { try StoreStatus.read(counted, from: $0) }
  }

  /// Where a record stands on its way to the server.
  /// - Throws: ``VaultError`` with `noSuchRecord`; with `refused` for an entity that is not synced.
  public func why(_ entity: Entity, _ uuid: UUID) throws -> Explanation {
    let catalog = syncCatalog
    guard let table = catalog.tables[entity.type] else {
      throw VaultError(.refused, "\(entity.type) is not synced", hint: "fieldvault query 'SELECT * FROM entities'")
    }
    return try database.read { try Explainer(catalog: catalog, connection: $0).explain(table, uuid.sqlText) }
  }
}
