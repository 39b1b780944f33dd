-- References to unique keys that are not the rowid, and cycles.

-- A region, in another region.
CREATE TABLE OfflineRegion (
  regionId INTEGER PRIMARY KEY,
  serverId INTEGER,
  uuid TEXT NOT NULL UNIQUE
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  code TEXT NOT NULL UNIQUE,
  title TEXT,
  note TEXT,
  parentCode TEXT REFERENCES OfflineRegion (code) ON DELETE CASCADE,
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

CREATE INDEX OfflineRegion_parentCode ON OfflineRegion (parentCode);

-- A site, with the visit that leads there: a cycle.
CREATE TABLE OfflineSite (
  siteId INTEGER PRIMARY KEY,
  serverId INTEGER,
  uuid TEXT NOT NULL UNIQUE
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  number INTEGER NOT NULL UNIQUE,
  title TEXT,
  note TEXT,
  regionCode TEXT NOT NULL REFERENCES OfflineRegion (code) ON DELETE CASCADE,
  leadId INTEGER REFERENCES OfflineVisit (visitId) ON DELETE SET NULL,
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

CREATE INDEX OfflineSite_regionCode ON OfflineSite (regionCode);
CREATE INDEX OfflineSite_leadId ON OfflineSite (leadId);

-- A visit to a site, after another visit.
CREATE TABLE OfflineVisit (
  visitId INTEGER PRIMARY KEY,
  serverId INTEGER,
  uuid TEXT NOT NULL UNIQUE
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  title TEXT,
  note TEXT,
  siteNumber INTEGER NOT NULL REFERENCES OfflineSite (number) ON DELETE CASCADE,
  previousUuid TEXT REFERENCES OfflineVisit (uuid) ON DELETE CASCADE,
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

CREATE INDEX OfflineVisit_siteNumber ON OfflineVisit (siteNumber);
CREATE INDEX OfflineVisit_previousUuid ON OfflineVisit (previousUuid);

INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority, conflictPolicy) VALUES
  ('Region', 'OfflineRegion', 'references', 1, 'manual'),
  ('Site', 'OfflineSite', 'references', 1, 'last_write_wins'),
  ('Visit', 'OfflineVisit', 'references', 2, 'client_wins');
