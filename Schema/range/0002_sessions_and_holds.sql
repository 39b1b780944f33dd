-- A day at the range, with the holds at each distance.

-- One time of shooting, with the rifle, the place and the weather.
CREATE TABLE OfflineSession (
  sessionId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  sessionDate TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (sessionDate IS strftime('%Y-%m-%dT%H:%M:%fZ', sessionDate)),
  rifleSetupId INTEGER NOT NULL REFERENCES OfflineRifleSetup (rifleSetupId),
  locationId INTEGER REFERENCES OfflineSavedLocation (locationId) ON DELETE SET NULL,
  temperature REAL CHECK (temperature BETWEEN -150 AND 200), -- of the air, degrees Fahrenheit
  humidity REAL CHECK (humidity BETWEEN 0 AND 100), -- relative, percent
  pressure REAL CHECK (pressure BETWEEN 10 AND 40), -- at the place itself, inches of mercury
  windSpeed REAL CHECK (windSpeed BETWEEN 0 AND 300), -- miles per hour
  windDirection REAL CHECK (windDirection BETWEEN 0 AND 360), -- degrees clockwise from north, where it comes from
  altitude REAL CHECK (altitude BETWEEN -2000 AND 60000), -- feet above the sea
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

CREATE INDEX OfflineSession_serverId ON OfflineSession (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineSession_dirty ON OfflineSession (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineSession_date ON OfflineSession (sessionDate) WHERE isDeleted = 0;
CREATE INDEX OfflineSession_rifleSetup ON OfflineSession (rifleSetupId, isDeleted, sessionDate);
CREATE INDEX OfflineSession_location ON OfflineSession (locationId) WHERE locationId IS NOT NULL;

-- A hold at a distance, in minutes of angle or in milliradians: if one of the two is 0 and the other is not, the other
-- counts. If both are 0, there is no hold.
CREATE TABLE OfflineDopeEntry (
  dopeEntryId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  sessionId INTEGER NOT NULL REFERENCES OfflineSession (sessionId) ON DELETE CASCADE,
  ammunitionId INTEGER REFERENCES OfflineAmmunition (ammunitionId) ON DELETE SET NULL,
  distance INTEGER NOT NULL CHECK (distance > 0 AND distance <= 10000), -- yards
  elevationMoa REAL DEFAULT 0 CHECK (elevationMoa BETWEEN -1000 AND 1000), -- up is positive, minutes of angle
  elevationMil REAL DEFAULT 0 CHECK (elevationMil BETWEEN -300 AND 300), -- up is positive, milliradians
  windageMoa REAL DEFAULT 0 CHECK (windageMoa BETWEEN -1000 AND 1000), -- right is positive, minutes of angle
  windageMil REAL DEFAULT 0 CHECK (windageMil BETWEEN -300 AND 300), -- right is positive, milliradians
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

CREATE INDEX OfflineDopeEntry_serverId ON OfflineDopeEntry (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineDopeEntry_dirty ON OfflineDopeEntry (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineDopeEntry_session ON OfflineDopeEntry (sessionId, isDeleted, updatedAt);
CREATE INDEX OfflineDopeEntry_ammunition ON OfflineDopeEntry (ammunitionId) WHERE ammunitionId IS NOT NULL;
