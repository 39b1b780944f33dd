import CipherSQL
import OfflineStore
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The database of one account: the tables of its records with all their rules, and the server's tables beside them.
final class AccountStore: Sendable {
  let database: Database
  let entities: Entities
  let map: EntityMap
  let waiters = ChangeWaiters()

  /// Brings the tables up to date and takes in the rows that the schemas themselves make.
  init(_ database: Database, schemas: [Schema]) throws {
    self.database = database
    try Vault.migrator(for: schemas + [BookkeepingSchema.schema]).apply(to: database)
    let entities = try database.read { try Entities.read(from: $0) }
    self.entities = entities
    map = EntityMap(entities)
    try database.write { [map] connection in
      // Nobody types into this database: all that is written comes from devices and is taken as it is.
      try WriteMode.alwaysSync(on: connection)
      try EmbeddedWriter(connection, entities, map).adoptRows(at: Date.nowInMilliseconds().milliseconds)
    }
  }

  func close() {
    waiters.close()
    database.close()
  }
}
