import CipherSQL
import VaultStore

/// A database in memory with ``FuzzSchema``, for targets that read or import records.
public struct FuzzRecords: Sendable {
  package let database: Database
  package let entities: Entities
  package let entity: Entity

  /// Makes the database with two records.
  public init() {
    do {
      database = try Database.inMemory()
      try Vault.migrator(for: [FuzzSchema.schema]).apply(to: database)
      entities = try database.read { try Entities.read(from: $0) }
      entity = try entities.entity("Thing")
      try database.write {
        try $0.execute("INSERT INTO OfflineThing (title, count, size) VALUES ('x', 1, 2.5), ('y', NULL, -1)")
      }
    } catch {
      fatalError("the database of the fuzz targets: \(error)")
    }
  }

  private struct Undo: Error {}

  /// Runs an import and takes it back, so that each input meets the same records.
  package func importing(_ body: (Importer) throws -> ImportResult, skippingInvalid: Bool) {
    var plan = ImportPlan()
    plan.skipsInvalid = skippingInvalid
    do {
      try database.write { connection in
        _ = try body(
          Importer(connection: connection, entities: entities, entity: entity, plan: plan, progress: { _, _ in }))
        throw Undo()
      }
    } catch is VaultError {
    } catch is ImportRefused {
    } catch is Undo {
    } catch {
      fatalError("an import fails with another error: \(error)")
    }
  }
}
