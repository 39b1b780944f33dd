-- The server-owned records that sessions reference: rifles, ammunition with its lots, places, and the numbers of the
-- dashboard. They are fetched with a network and kept for use without one. An unknown value is NULL, so that a response
-- of an older or newer server can be stored as well.

-- A rifle with its optic, as it is set up.
CREATE TABLE OfflineRifleSetup (
  rifleSetupId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  name TEXT NOT NULL CHECK (length(trim(name)) > 0),
  manufacturer TEXT,
  model TEXT,
  caliber TEXT, -- such as 6.5 Creedmoor
  barrelLength REAL CHECK (barrelLength > 0 AND barrelLength < 200), -- inches
  twistRate TEXT, -- such as 1:8, one turn in so many inches
  scopeMake TEXT,
  scopeModel TEXT,
  scopeHeight REAL CHECK (scopeHeight >= 0 AND scopeHeight < 100), -- inches from the axis of the bore to that of the scope
  zeroDistance INTEGER CHECK (zeroDistance > 0 AND zeroDistance <= 10000), -- yards
  muzzleVelocity REAL CHECK (muzzleVelocity > 0 AND muzzleVelocity < 20000), -- feet per second
  ballisticCoefficient REAL CHECK (ballisticCoefficient > 0 AND ballisticCoefficient < 10), -- pounds per square inch
  dragModel TEXT, -- the drag model of the coefficient, such as G1 or G7
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

CREATE INDEX OfflineRifleSetup_serverId ON OfflineRifleSetup (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineRifleSetup_dirty ON OfflineRifleSetup (syncStatus) WHERE isDirty = 1;

-- A kind of cartridge.
CREATE TABLE OfflineAmmunition (
  ammunitionId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  name TEXT NOT NULL CHECK (length(trim(name)) > 0),
  manufacturer TEXT,
  caliber TEXT, -- such as 6.5 Creedmoor
  grain REAL CHECK (grain > 0 AND grain < 100000), -- the weight of the bullet; 7,000 grains are a pound
  bulletType TEXT, -- such as HPBT
  ballisticCoefficient REAL CHECK (ballisticCoefficient > 0 AND ballisticCoefficient < 10), -- pounds per square inch
  dragModel TEXT, -- the drag model of the coefficient, such as G1 or G7
  costPerRound REAL CHECK (costPerRound >= 0 AND costPerRound < 1000000), -- in the currency of the account
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

CREATE INDEX OfflineAmmunition_serverId ON OfflineAmmunition (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineAmmunition_dirty ON OfflineAmmunition (syncStatus) WHERE isDirty = 1;

-- Cartridges of one production.
CREATE TABLE OfflineAmmoLot (
  ammoLotId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  ammunitionId INTEGER NOT NULL REFERENCES OfflineAmmunition (ammunitionId) ON DELETE CASCADE,
  lotNumber TEXT NOT NULL CHECK (length(trim(lotNumber)) > 0),
  purchaseDate TEXT CHECK (purchaseDate IS strftime('%Y-%m-%dT%H:%M:%fZ', purchaseDate)),
  initialQuantity INTEGER CHECK (initialQuantity >= 0), -- cartridges
  purchasePrice REAL CHECK (purchasePrice >= 0 AND purchasePrice < 1000000000), -- of the lot, in the currency of the account
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

CREATE INDEX OfflineAmmoLot_serverId ON OfflineAmmoLot (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineAmmoLot_dirty ON OfflineAmmoLot (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineAmmoLot_ammunition ON OfflineAmmoLot (ammunitionId, isDeleted, updatedAt);

-- A shooting range.
CREATE TABLE OfflineSavedLocation (
  locationId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  name TEXT NOT NULL CHECK (length(trim(name)) > 0),
  latitude REAL CHECK (latitude BETWEEN -90 AND 90), -- degrees north
  longitude REAL CHECK (longitude BETWEEN -180 AND 180), -- degrees east
  altitude REAL CHECK (altitude BETWEEN -2000 AND 60000), -- feet above the sea
  description TEXT,
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

CREATE INDEX OfflineSavedLocation_serverId ON OfflineSavedLocation (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineSavedLocation_dirty ON OfflineSavedLocation (syncStatus) WHERE isDirty = 1;

-- The numbers of the dashboard, as the server last sent them. There is one such record. If there are more, the last one
-- counts.
CREATE TABLE OfflineAnalyticsSummary (
  analyticsSummaryId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  totalRifles INTEGER,
  totalSessions INTEGER,
  totalRoundsFired INTEGER,
  longestShotDistance INTEGER, -- yards
  bestGroupSizeMoa REAL, -- the extreme spread of the smallest group, minutes of angle
  bestGroupDistance INTEGER, -- yards
  lowestVelocitySd REAL, -- of the most even ammunition, feet per second
  lowestVelocitySdAmmunition TEXT, -- its name
  totalCost REAL, -- of the ammunition used, in the currency of the account
  lastSessionDate TEXT CHECK (lastSessionDate IS strftime('%Y-%m-%dT%H:%M:%fZ', lastSessionDate)),
  sessionsLast30Days INTEGER,
  roundsLast30Days INTEGER,
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

CREATE INDEX OfflineAnalyticsSummary_serverId ON OfflineAnalyticsSummary (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineAnalyticsSummary_dirty ON OfflineAnalyticsSummary (syncStatus) WHERE isDirty = 1;
