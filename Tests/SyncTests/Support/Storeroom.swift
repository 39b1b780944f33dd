import CipherSQL
import Foundation

/// Tables with the kinds of references that survive a deletion, and with UNIQUE values.
enum Storeroom {
  private static func table(_ name: String, _ columns: String, _ rules: String = "") -> String {
    """
    CREATE TABLE Offline\(name) (
      \(name.lowercased())Id INTEGER PRIMARY KEY, serverId INTEGER,
      uuid TEXT NOT NULL UNIQUE CHECK (uuid GLOB '????????-????-????-????-????????????'),
      \(columns),
      createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
      updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
      lastSyncedAt TEXT CHECK (lastSyncedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastSyncedAt)),
      syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
      isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)), isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))\(rules)
    ) STRICT;
    INSERT INTO SyncedEntity (entityType, tableName, schemaName, conflictPolicy) VALUES ('\(name)', 'Offline\(name)', 'storeroom', 'manual');

    """
  }

  static let schema = Schema(
    name: "storeroom",
    migrations: [
      MigrationFile(
        version: 1, name: "tables",
        sql: table("Shelf", "code TEXT UNIQUE, title TEXT")
          + table(
            "Thing",
            """
            code TEXT UNIQUE, title TEXT, row INTEGER, place INTEGER,
            shelfId INTEGER REFERENCES OfflineShelf (shelfId) ON DELETE SET NULL,
            shelfCode TEXT REFERENCES OfflineShelf (code) ON DELETE SET NULL,
            partOf INTEGER REFERENCES OfflineThing (thingId) ON DELETE SET NULL
            """, ", UNIQUE (row, place)")
          + table(
            "Label",
            """
            thingId INTEGER NOT NULL REFERENCES OfflineThing (thingId) ON DELETE CASCADE,
            shelfId INTEGER REFERENCES OfflineShelf (shelfId), text TEXT
            """)
          + table("Seat", "number INTEGER NOT NULL, title TEXT")
          + "CREATE UNIQUE INDEX OfflineSeat_number ON OfflineSeat (number) WHERE isDeleted = 0;")
    ])

  static func uuid(_ kind: Int, _ number: Int) -> String {
    String(format: "00000000-0000-7000-8%03d-%012d", kind, number)
  }
}
