/// A table of a synced entity for tests.
package enum SyncedTable {
  /// Returns statements that create the table and make it an entity of the same name.
  /// - Parameters:
  ///   - columns: the columns of its own, with their constraints.
  ///   - schema: the name of the schema.
  package static func sql(_ name: String, _ columns: String, schema: String) -> String {
    """
    CREATE TABLE \(name) (
      id INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE,
      createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
      updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z', lastSyncedAt TEXT,
      syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
      isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0,
      \(columns)
    ) STRICT;
    INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('\(name)', '\(name)', '\(schema)');

    """
  }
}
