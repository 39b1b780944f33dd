-- Building materials, drying equipment, damages, and work to be done.

-- A building material whose moisture is measured.
CREATE TABLE OfflineMaterial (
  materialId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  name TEXT NOT NULL CHECK (length(trim(name)) > 0), -- such as drywall, oak flooring
  category TEXT CHECK (category IN ('wood', 'drywall', 'plaster', 'concrete', 'masonry', 'insulation', 'flooring', 'other')),
  dryStandard REAL CHECK (dryStandard BETWEEN 0 AND 100), -- % at which it counts as dry
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

CREATE INDEX OfflineMaterial_serverId ON OfflineMaterial (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineMaterial_dirty ON OfflineMaterial (syncStatus) WHERE isDirty = 1;

-- A machine that dries a project, from the day it was set up to the day it was taken away.
CREATE TABLE OfflineEquipment (
  equipmentId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,
  roomId INTEGER REFERENCES OfflineRoom (roomId) ON DELETE CASCADE,
  type TEXT NOT NULL CHECK (type IN ('dehumidifier', 'air_mover', 'air_scrubber', 'heater', 'fan', 'pump', 'generator', 'hygrometer', 'other')),
  brand TEXT,
  model TEXT,
  serialNumber TEXT,
  quantity INTEGER NOT NULL DEFAULT 1 CHECK (quantity > 0), -- pieces
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'removed', 'damaged')),
  startDate TEXT CHECK (startDate IS strftime('%Y-%m-%dT%H:%M:%fZ', startDate)), -- when it began to run
  endDate TEXT CHECK (endDate IS strftime('%Y-%m-%dT%H:%M:%fZ', endDate)), -- when it was stopped
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
  isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1)),
  CHECK (endDate >= startDate)
) STRICT;

CREATE INDEX OfflineEquipment_serverId ON OfflineEquipment (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineEquipment_dirty ON OfflineEquipment (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineEquipment_project ON OfflineEquipment (projectId, isDeleted, updatedAt);
CREATE INDEX OfflineEquipment_room ON OfflineEquipment (roomId) WHERE roomId IS NOT NULL;

-- Something in a room that is damaged.
CREATE TABLE OfflineDamage (
  damageId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,
  roomId INTEGER NOT NULL REFERENCES OfflineRoom (roomId) ON DELETE CASCADE,
  title TEXT NOT NULL CHECK (length(trim(title)) > 0),
  cause TEXT CHECK (cause IN ('water', 'fire', 'smoke', 'mold', 'wind', 'impact', 'other')),
  waterCategory INTEGER CHECK (waterCategory BETWEEN 1 AND 3), -- IICRC S500: 1 clean, 2 gray, 3 black water
  severity TEXT CHECK (severity IN ('minor', 'moderate', 'severe')),
  affectedArea REAL CHECK (affectedArea >= 0), -- square feet
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

CREATE INDEX OfflineDamage_serverId ON OfflineDamage (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineDamage_dirty ON OfflineDamage (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineDamage_project ON OfflineDamage (projectId, isDeleted, updatedAt);
CREATE INDEX OfflineDamage_room ON OfflineDamage (roomId);

-- A task to be done in a room.
CREATE TABLE OfflineWorkScope (
  workScopeId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,
  roomId INTEGER NOT NULL REFERENCES OfflineRoom (roomId) ON DELETE CASCADE,
  title TEXT NOT NULL CHECK (length(trim(title)) > 0),
  status TEXT NOT NULL DEFAULT 'planned' CHECK (status IN ('planned', 'in_progress', 'done', 'cancelled')),
  quantity REAL CHECK (quantity >= 0), -- in the unit below
  unit TEXT CHECK (unit IN ('square_feet', 'linear_feet', 'pieces', 'hours')),
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

CREATE INDEX OfflineWorkScope_serverId ON OfflineWorkScope (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineWorkScope_dirty ON OfflineWorkScope (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineWorkScope_project ON OfflineWorkScope (projectId, isDeleted, updatedAt);
CREATE INDEX OfflineWorkScope_room ON OfflineWorkScope (roomId);
