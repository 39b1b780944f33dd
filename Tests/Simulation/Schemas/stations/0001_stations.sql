-- Records of an existing API: three levels, references that the API empties, and an entity whose name has a space.

-- A place that is visited.
CREATE TABLE OfflineStation (
  stationId INTEGER PRIMARY KEY,
  serverId INTEGER,
  uuid TEXT NOT NULL UNIQUE
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  code TEXT NOT NULL,
  title TEXT,
  note TEXT,
  amount REAL,
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

CREATE INDEX OfflineStation_serverId ON OfflineStation (serverId) WHERE serverId IS NOT NULL;

-- A visit to a station, after another visit.
CREATE TABLE OfflineSiteVisit (
  visitId INTEGER PRIMARY KEY,
  serverId INTEGER,
  uuid TEXT NOT NULL UNIQUE
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  code TEXT NOT NULL,
  title TEXT,
  note TEXT,
  amount REAL,
  stationId INTEGER NOT NULL REFERENCES OfflineStation (stationId) ON DELETE CASCADE,
  previousId INTEGER REFERENCES OfflineSiteVisit (visitId) ON DELETE SET NULL,
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

CREATE INDEX OfflineSiteVisit_stationId ON OfflineSiteVisit (stationId);
CREATE INDEX OfflineSiteVisit_previousId ON OfflineSiteVisit (previousId);
CREATE INDEX OfflineSiteVisit_serverId ON OfflineSiteVisit (serverId) WHERE serverId IS NOT NULL;

-- A finding of a visit, which may concern another station.
CREATE TABLE OfflineFinding (
  findingId INTEGER PRIMARY KEY,
  serverId INTEGER,
  uuid TEXT NOT NULL UNIQUE
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  code TEXT NOT NULL,
  title TEXT,
  note TEXT,
  amount REAL,
  visitId INTEGER NOT NULL REFERENCES OfflineSiteVisit (visitId) ON DELETE CASCADE,
  aboutId INTEGER REFERENCES OfflineStation (stationId) ON DELETE SET NULL,
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

CREATE INDEX OfflineFinding_visitId ON OfflineFinding (visitId);
CREATE INDEX OfflineFinding_aboutId ON OfflineFinding (aboutId);
CREATE INDEX OfflineFinding_serverId ON OfflineFinding (serverId) WHERE serverId IS NOT NULL;

INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority, conflictPolicy) VALUES
  ('Station', 'OfflineStation', 'stations', 1, 'manual'),
  ('Site Visit', 'OfflineSiteVisit', 'stations', 2, 'last_write_wins'),
  ('Finding', 'OfflineFinding', 'stations', 2, 'merge');
