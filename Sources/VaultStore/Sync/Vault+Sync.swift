import CipherSQL
import Platform
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Vault {
  /// The synced entities with their tables.
  package var syncCatalog: SyncCatalog {
    catalog.withLock { known in
      let catalog =
        known ?? database.configuration.schemaCache.value(for: entities.digest) { SyncCatalog(entities) }
      known = catalog
      return catalog
    }
  }

  /// Performs sync commands in one write transaction.
  package func sync<Result: Sendable>(
    _ body: @escaping @Sendable (SyncTransaction) throws -> Result
  ) async throws -> Result {
    let catalog = syncCatalog
    return try await database.write { connection in
      try SyncTransaction.run(on: connection, catalog, now: connection.environment.now, body)
    }
  }

  /// Performs sync commands in one write transaction on the calling thread.
  @available(*, noasync, message: "use 'await' in asynchronous code")
  package func syncNow<Result>(_ body: (SyncTransaction) throws -> Result) throws -> Result {
    try database.write { connection in
      try SyncTransaction.run(on: connection, syncCatalog, now: connection.environment.now, body)
    }
  }

  /// The clock and the random source of the vault. Keys, salts and nonces come from the operating system in any case.
  package var environment: Environment { database.configuration.environment }

  /// Returns the state of the outbox, of the inbox and of the last sync round.
  /// - Parameter countsRecords: whether to count the records of each entity, which costs time in proportion to their
  ///   number.
  public func status(countsRecords: Bool = true) throws -> StoreStatus {
    let counted = countsRecords ? entities : nil
    return try database.read { try StoreStatus.read(counted, from: $0) }
  }

  /// Returns the state of a record on its way to the server.
  /// - Throws: ``VaultError`` with `noSuchRecord`; with `refused` for an entity that is not synced.
  public func why(_ entity: Entity, _ uuid: UUID) throws -> Explanation {
    let catalog = syncCatalog
    guard let table = catalog.tables[entity.type] else {
      throw VaultError(.refused, "\(entity.type) is not synced", remedy: .showEntities)
    }
    return try database.read { try Explainer(catalog: catalog, connection: $0).explain(table, uuid.sqlText) }
  }
}
