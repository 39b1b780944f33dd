-- Records whose fields a program beside the server fills.

-- A folder of scans.
CREATE TABLE OfflineBinder (
  binderId INTEGER PRIMARY KEY,
  serverId INTEGER,
  uuid TEXT NOT NULL UNIQUE
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  title TEXT,
  note TEXT,
  createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
  updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
  lastSyncedAt TEXT CHECK (lastSyncedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastSyncedAt)),
  syncStatus TEXT NOT NULL DEFAULT 'pending'
    CHECK (syncStatus = 'pending' OR syncStatus = 'syncing' OR syncStatus = 'synced' OR syncStatus = 'conflict'
      OR syncStatus = 'failed'),
  syncVersion INTEGER NOT NULL DEFAULT 0 CHECK (syncVersion >= 0),
  isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)),
  isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))
) STRICT;

-- A scanned receipt.
CREATE TABLE OfflineScan (
  scanId INTEGER PRIMARY KEY,
  serverId INTEGER,
  uuid TEXT NOT NULL UNIQUE
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  title TEXT,
  binderId INTEGER REFERENCES OfflineBinder (binderId) ON DELETE CASCADE,
  words TEXT,
  confidence TEXT,
  shop TEXT,
  category TEXT,
  userEditedFields TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(userEditedFields)),
  createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
  updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
  lastSyncedAt TEXT CHECK (lastSyncedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastSyncedAt)),
  syncStatus TEXT NOT NULL DEFAULT 'pending'
    CHECK (syncStatus = 'pending' OR syncStatus = 'syncing' OR syncStatus = 'synced' OR syncStatus = 'conflict'
      OR syncStatus = 'failed'),
  syncVersion INTEGER NOT NULL DEFAULT 0 CHECK (syncVersion >= 0),
  isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)),
  isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))
) STRICT;

CREATE INDEX OfflineScan_binderId ON OfflineScan (binderId);

INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority, conflictPolicy) VALUES
  ('Binder', 'OfflineBinder', 'scans', 1, 'last_write_wins'),
  ('Scan', 'OfflineScan', 'scans', 2, 'merge');

INSERT INTO SyncedColumn (entityType, columnName, ownership, mergesAsSet) VALUES
  ('Scan', 'title', 'user', 0),
  ('Scan', 'words', 'server', 0),
  ('Scan', 'confidence', 'server', 0),
  ('Scan', 'shop', 'user_edited', 0),
  ('Scan', 'category', 'user_edited', 0),
  ('Scan', 'userEditedFields', NULL, 1);
