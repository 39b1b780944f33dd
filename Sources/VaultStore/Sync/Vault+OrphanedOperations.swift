import CipherSQL
import SyncModel

extension Vault {
  /// Returns the operations that could not follow a migration: the migration removed a column that they name, or
  /// renamed it by creating the table again without a row in `SyncedColumnRename`.
  public func strandedOperations() throws -> [OrphanedOperation] {
    let catalog = syncCatalog
    return try database.read { connection in
      let waiting = try connection.fetchRows(
        """
        SELECT operationId, entityType, payload FROM OfflineSyncQueue
        WHERE payload IS NOT NULL AND completedAt IS NULL ORDER BY queueNumber
        """, as: String.self, String.self, String.self)
      return waiting.flatMap { id, type, payload -> [OrphanedOperation] in
        guard let table = catalog.tables[type] else {
          return [OrphanedOperation(operationId: id, entityType: type, field: type)]
        }
        let operation: PushOperation
        do throws(SyncModelError) {
          operation = try PushOperation(json: Array(payload.utf8))
        } catch {
          return [OrphanedOperation(operationId: id, entityType: type, field: "payload")]
        }
        return operation.patch.fields.names.filter { table.places[$0] == nil }.map {
          OrphanedOperation(operationId: id, entityType: type, field: $0)
        }
      }
    }
  }
}
