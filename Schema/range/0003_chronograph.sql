-- The readings of a chronograph.

-- A string of shots over a chronograph.
CREATE TABLE OfflineChronoSession (
  chronoSessionId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  sessionId INTEGER NOT NULL REFERENCES OfflineSession (sessionId) ON DELETE CASCADE,
  ammunitionId INTEGER REFERENCES OfflineAmmunition (ammunitionId) ON DELETE SET NULL,
  ammoLotId INTEGER REFERENCES OfflineAmmoLot (ammoLotId) ON DELETE SET NULL,
  chronographModel TEXT,
  distanceToChronograph INTEGER CHECK (distanceToChronograph >= 0 AND distanceToChronograph <= 10000), -- from the muzzle, feet
  notes TEXT,
  createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
  updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
  lastSyncedAt TEXT CHECK (lastSyncedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastSyncedAt)),
  syncStatus TEXT NOT NULL DEFAULT 'pending'
    CHECK (syncStatus = 'pending' OR syncStatus = 'syncing' OR syncStatus = 'synced' OR syncStatus = 'conflict'
      OR syncStatus = 'failed'),
  syncVersion INTEGER NOT NULL DEFAULT 0 CHECK (syncVersion >= 0), -- the server's version that this one is based on
  isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)), -- has changes that the server does not have
  isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))
) STRICT;

CREATE INDEX OfflineChronoSession_serverId ON OfflineChronoSession (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineChronoSession_dirty ON OfflineChronoSession (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineChronoSession_session ON OfflineChronoSession (sessionId, isDeleted, updatedAt);
CREATE INDEX OfflineChronoSession_ammunition ON OfflineChronoSession (ammunitionId) WHERE ammunitionId IS NOT NULL;
CREATE INDEX OfflineChronoSession_ammoLot ON OfflineChronoSession (ammoLotId) WHERE ammoLotId IS NOT NULL;

-- The velocity of one shot. Two devices that record the same string without a network both have a third shot, and both
-- are correct: a number may occur twice, and no shot is lost.
CREATE TABLE OfflineVelocityReading (
  velocityReadingId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  chronoSessionId INTEGER NOT NULL REFERENCES OfflineChronoSession (chronoSessionId) ON DELETE CASCADE,
  shotNumber INTEGER NOT NULL CHECK (shotNumber > 0), -- its place in the string, from 1
  velocity REAL NOT NULL CHECK (velocity > 0 AND velocity < 20000), -- feet per second
  isExcluded INTEGER NOT NULL DEFAULT 0 CHECK (isExcluded IN (0, 1)), -- left out of the statistics
  createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
  updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
  lastSyncedAt TEXT CHECK (lastSyncedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastSyncedAt)),
  syncStatus TEXT NOT NULL DEFAULT 'pending'
    CHECK (syncStatus = 'pending' OR syncStatus = 'syncing' OR syncStatus = 'synced' OR syncStatus = 'conflict'
      OR syncStatus = 'failed'),
  syncVersion INTEGER NOT NULL DEFAULT 0 CHECK (syncVersion >= 0), -- the server's version that this one is based on
  isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)), -- has changes that the server does not have
  isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))
) STRICT;

CREATE INDEX OfflineVelocityReading_serverId ON OfflineVelocityReading (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineVelocityReading_dirty ON OfflineVelocityReading (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineVelocityReading_chronoSession ON OfflineVelocityReading (chronoSessionId, isDeleted, shotNumber);
