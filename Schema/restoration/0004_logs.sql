-- Readings of the air and of materials.

-- A reading of the air in a room, outdoors, or at the inlet or outlet of a dehumidifier.
CREATE TABLE OfflineAtmosphericLog (
  logId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,
  roomId INTEGER REFERENCES OfflineRoom (roomId) ON DELETE CASCADE,
  date TEXT NOT NULL CHECK (date IS strftime('%Y-%m-%dT%H:%M:%fZ', date)), -- when it was read
  relativeHumidity REAL NOT NULL CHECK (relativeHumidity BETWEEN 0 AND 100), -- %
  temperature REAL NOT NULL CHECK (temperature BETWEEN -130 AND 200), -- °F
  dewPoint REAL CHECK (dewPoint BETWEEN -130 AND 200), -- °F
  gpp REAL CHECK (gpp >= 0), -- grains of water per pound of dry air
  pressure REAL CHECK (pressure BETWEEN 300 AND 1100), -- millibars
  -- mph. The bound is above any wind, because weather stations report gusts of more than 1,000 when an
  -- instrument fails, and a reading is kept as it was taken.
  windSpeed REAL CHECK (windSpeed BETWEEN 0 AND 1200),
  isExternal INTEGER NOT NULL DEFAULT 0 CHECK (isExternal IN (0, 1)), -- read outdoors
  isInlet INTEGER NOT NULL DEFAULT 0 CHECK (isInlet IN (0, 1)), -- read where a machine takes air in
  inletId INTEGER REFERENCES OfflineAtmosphericLog (logId) ON DELETE SET NULL, -- for a reading at the outlet: that at the inlet
  photoUrl TEXT,
  photoLocalPath TEXT, -- stays on the device
  photoUploadStatus TEXT NOT NULL DEFAULT 'none'
    CHECK (photoUploadStatus = 'none' OR photoUploadStatus = 'pending' OR photoUploadStatus = 'uploading'
      OR photoUploadStatus = 'completed' OR photoUploadStatus = 'failed'),
  photoAssemblyId TEXT, -- the image processor's id
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
  CHECK (inletId <> logId)
) STRICT;

CREATE INDEX OfflineAtmosphericLog_serverId ON OfflineAtmosphericLog (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineAtmosphericLog_dirty ON OfflineAtmosphericLog (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineAtmosphericLog_project ON OfflineAtmosphericLog (projectId, isDeleted, updatedAt);
CREATE INDEX OfflineAtmosphericLog_room ON OfflineAtmosphericLog (roomId) WHERE roomId IS NOT NULL;
CREATE INDEX OfflineAtmosphericLog_date ON OfflineAtmosphericLog (date);

-- Finds the outlets of a removed inlet, including deleted ones. Without this index each removal would scan the table.
CREATE INDEX OfflineAtmosphericLog_inlet ON OfflineAtmosphericLog (inletId) WHERE inletId IS NOT NULL;

-- An inlet has at most one outlet.
CREATE UNIQUE INDEX OfflineAtmosphericLog_outlet ON OfflineAtmosphericLog (inletId) WHERE inletId IS NOT NULL AND isDeleted = 0;

-- A reading of the moisture in a material.
CREATE TABLE OfflineMoistureLog (
  logId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,
  roomId INTEGER NOT NULL REFERENCES OfflineRoom (roomId) ON DELETE CASCADE,
  materialId INTEGER NOT NULL REFERENCES OfflineMaterial (materialId),
  date TEXT NOT NULL CHECK (date IS strftime('%Y-%m-%dT%H:%M:%fZ', date)), -- when it was read
  moistureContent REAL NOT NULL CHECK (moistureContent BETWEEN 0 AND 100), -- % of the dry weight, or of the meter's scale
  location TEXT, -- the place in the room
  depth TEXT, -- such as surface, core
  photoUrl TEXT,
  photoLocalPath TEXT, -- stays on the device
  photoUploadStatus TEXT NOT NULL DEFAULT 'none'
    CHECK (photoUploadStatus = 'none' OR photoUploadStatus = 'pending' OR photoUploadStatus = 'uploading'
      OR photoUploadStatus = 'completed' OR photoUploadStatus = 'failed'),
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

CREATE INDEX OfflineMoistureLog_serverId ON OfflineMoistureLog (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineMoistureLog_dirty ON OfflineMoistureLog (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineMoistureLog_project ON OfflineMoistureLog (projectId, isDeleted, updatedAt);
CREATE INDEX OfflineMoistureLog_room ON OfflineMoistureLog (roomId, materialId, date);
CREATE INDEX OfflineMoistureLog_material ON OfflineMoistureLog (materialId);
CREATE INDEX OfflineMoistureLog_date ON OfflineMoistureLog (date);
