import CipherSQL
import Foundation
import RestorationModel
import VaultStore

/// A database with the restoration schema and the derived triggers, without a vault's keys around it.
package func restorationDatabase() throws -> (database: Database, entities: Entities) {
  let (template, entities) = try template.get()
  return (try Database.inMemory(copying: template, configuration: Configuration()), entities)
}

/// The database that the others copy, because the statements of the schema take a hundred times as long as a copy.
private let template = Result {
  let database = try Database.inMemory()
  try Vault.migrator(for: [RestorationSchema.schema]).apply(to: database, isDraft: true)
  return (database: database, entities: try database.read { try Entities.read(from: $0) })
}

/// Makes all records of an entity look as if the server had them, at version 1.
package func markAsSynced(_ type: String, in db: WriteConnection, _ entities: Entities) throws {
  let entity = try entities.entity(type)
  try WriteMode.sync(on: db) {
    try db.execute("DELETE FROM OfflineSyncQueue WHERE entityType = \(entity.type)")
    try db.execute(
      "UPDATE \(identifier: entity.table.name) SET isDirty = 0, syncStatus = 'synced', syncVersion = 1")
  }
}
