-- A site; the server owns it.
CREATE TABLE OfflineSite (
  siteId INTEGER PRIMARY KEY,
  serverId INTEGER, -- TEXT where the ids of the API are texts
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  name TEXT NOT NULL,
  address TEXT,
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

CREATE INDEX OfflineSite_serverId ON OfflineSite (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineSite_dirty ON OfflineSite (syncStatus) WHERE isDirty = 1;

-- A visit to a site and its finding.
CREATE TABLE OfflineVisit (
  visitId INTEGER PRIMARY KEY,
  serverId INTEGER,
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  siteId INTEGER NOT NULL REFERENCES OfflineSite (siteId),
  date TEXT NOT NULL CHECK (date IS strftime('%Y-%m-%dT%H:%M:%fZ', date)),
  finding TEXT NOT NULL CHECK (length(trim(finding)) > 0),
  depth REAL CHECK (depth >= 0), -- metres
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

CREATE INDEX OfflineVisit_site ON OfflineVisit (siteId, isDeleted, date);
CREATE INDEX OfflineVisit_serverId ON OfflineVisit (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineVisit_dirty ON OfflineVisit (syncStatus) WHERE isDirty = 1;
