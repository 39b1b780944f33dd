-- UNIQUE constraints over several columns, whose values swap between records.

-- A rack.
CREATE TABLE OfflineRack (
  rackId INTEGER PRIMARY KEY,
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

-- A crate in its place.
CREATE TABLE OfflineCrate (
  crateId INTEGER PRIMARY KEY,
  serverId INTEGER,
  uuid TEXT NOT NULL UNIQUE
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  title TEXT,
  note TEXT,
  rackId INTEGER NOT NULL REFERENCES OfflineRack (rackId) ON DELETE CASCADE,
  shelf TEXT,
  place INTEGER,
  label TEXT,
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
  isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1)),
  UNIQUE (shelf, place),
  UNIQUE (rackId, label)
) STRICT;

INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority, conflictPolicy) VALUES
  ('Rack', 'OfflineRack', 'places', 1, 'manual'),
  ('Crate', 'OfflineCrate', 'places', 2, 'last_write_wins');
