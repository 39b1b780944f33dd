import CipherSQL

/// A schema with one synced entity that has a column of every type, a rule of each kind and a reference to itself.
public enum FuzzSchema {
  /// The schema, without FieldVault's own tables.
  public static let schema = Schema(
    name: "fuzz", migrations: [MigrationFile(version: 1, name: "things", sql: things)])

  private static let things = """
    CREATE TABLE OfflineThing (
      thingId INTEGER PRIMARY KEY,
      serverId INTEGER,
      uuid TEXT NOT NULL UNIQUE
        DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
          CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
          random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
        CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
      title TEXT NOT NULL,
      count INTEGER,
      size REAL,
      isOpen INTEGER NOT NULL DEFAULT 0 CHECK (isOpen IN (0, 1)),
      kind TEXT CHECK (kind IN ('a', 'b')),
      tags TEXT,
      code TEXT UNIQUE,
      data BLOB,
      day TEXT CHECK (day IS strftime('%Y-%m-%d', day)),
      parentId INTEGER REFERENCES OfflineThing (thingId) ON DELETE CASCADE,
      createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
        CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
      updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
        CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
      lastSyncedAt TEXT CHECK (lastSyncedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastSyncedAt)),
      syncStatus TEXT NOT NULL DEFAULT 'pending'
        CHECK (syncStatus IN ('pending', 'syncing', 'synced', 'conflict', 'failed')),
      syncVersion INTEGER NOT NULL DEFAULT 0 CHECK (syncVersion >= 0),
      isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)),
      isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))
    ) STRICT;
    CREATE INDEX OfflineThing_parent ON OfflineThing (parentId);
    INSERT INTO SyncedEntity (entityType, tableName, schemaName, conflictPolicy)
      VALUES ('Thing', 'OfflineThing', 'fuzz', 'merge');
    INSERT INTO SyncedColumn (entityType, columnName, ownership, mergesAsSet)
      VALUES ('Thing', 'tags', 'user', 1), ('Thing', 'size', 'server', 0);
    """
}
