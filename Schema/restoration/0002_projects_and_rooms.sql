-- Projects, the tree of their locations, their rooms, and their crews.

-- A project, which all of its other records reference.
CREATE TABLE OfflineProject (
  projectId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  companyId INTEGER REFERENCES OfflineCompany (companyId) ON DELETE SET NULL,
  propertyId INTEGER REFERENCES OfflineProperty (propertyId) ON DELETE SET NULL,
  title TEXT NOT NULL CHECK (length(trim(title)) > 0),
  projectNumber TEXT, -- the company's own number for it
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'completed', 'archived')),
  propertyType TEXT CHECK (propertyType IN ('residential', 'commercial', 'multi-unit')),
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

CREATE INDEX OfflineProject_serverId ON OfflineProject (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineProject_dirty ON OfflineProject (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineProject_status ON OfflineProject (status, isDeleted, updatedAt);
CREATE INDEX OfflineProject_company ON OfflineProject (companyId) WHERE companyId IS NOT NULL;
CREATE INDEX OfflineProject_property ON OfflineProject (propertyId) WHERE propertyId IS NOT NULL;

-- A building, a floor of it or a unit of that: locations form a tree.
CREATE TABLE OfflineLocation (
  locationId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,
  parentLocationId INTEGER REFERENCES OfflineLocation (locationId) ON DELETE CASCADE,
  title TEXT NOT NULL CHECK (length(trim(title)) > 0),
  type TEXT NOT NULL DEFAULT 'unit' CHECK (type IN ('unit', 'floor', 'building')),
  isAccessible INTEGER NOT NULL DEFAULT 1 CHECK (isAccessible IN (0, 1)), -- can be entered
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
  CHECK (parentLocationId <> locationId)
) STRICT;

CREATE INDEX OfflineLocation_serverId ON OfflineLocation (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineLocation_dirty ON OfflineLocation (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineLocation_project ON OfflineLocation (projectId, isDeleted, updatedAt);
CREATE INDEX OfflineLocation_parent ON OfflineLocation (parentLocationId) WHERE parentLocationId IS NOT NULL;

-- A room or an area.
CREATE TABLE OfflineRoom (
  roomId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,
  locationId INTEGER REFERENCES OfflineLocation (locationId) ON DELETE CASCADE,
  title TEXT NOT NULL CHECK (length(trim(title)) > 0),
  roomType TEXT, -- such as kitchen, bathroom, hall
  level TEXT, -- such as basement, 1, 2
  squareFootage REAL NOT NULL DEFAULT 0 CHECK (squareFootage >= 0), -- square feet; 0 when it was not measured
  isAccessible INTEGER NOT NULL DEFAULT 1 CHECK (isAccessible IN (0, 1)), -- can be entered
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

CREATE INDEX OfflineRoom_serverId ON OfflineRoom (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineRoom_dirty ON OfflineRoom (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineRoom_project ON OfflineRoom (projectId, isDeleted, updatedAt);
CREATE INDEX OfflineRoom_location ON OfflineRoom (locationId) WHERE locationId IS NOT NULL;

-- A member of the crew of a project.
CREATE TABLE OfflineProjectCrew (
  projectCrewId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,
  userId INTEGER NOT NULL REFERENCES OfflineUser (userId) ON DELETE CASCADE,
  role TEXT, -- the member's task in this project
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

CREATE INDEX OfflineProjectCrew_serverId ON OfflineProjectCrew (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineProjectCrew_dirty ON OfflineProjectCrew (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineProjectCrew_project ON OfflineProjectCrew (projectId, isDeleted, updatedAt);
CREATE INDEX OfflineProjectCrew_user ON OfflineProjectCrew (userId);

-- An employee is a member of a crew once.
CREATE UNIQUE INDEX OfflineProjectCrew_once ON OfflineProjectCrew (projectId, userId) WHERE isDeleted = 0;
