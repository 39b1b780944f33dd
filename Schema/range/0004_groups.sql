-- Groups on paper: the shots, the measurements, the holes, and the pictures.

-- A group of shots at one aiming point. Two devices without a network may both create group 2, so a number may occur
-- twice.
CREATE TABLE OfflineGroupEntry (
  groupEntryId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  sessionId INTEGER NOT NULL REFERENCES OfflineSession (sessionId) ON DELETE CASCADE,
  ammunitionId INTEGER REFERENCES OfflineAmmunition (ammunitionId) ON DELETE SET NULL,
  groupNumber INTEGER NOT NULL CHECK (groupNumber > 0), -- its place in the session, from 1
  distance INTEGER NOT NULL CHECK (distance > 0 AND distance <= 10000), -- yards
  numberOfShots INTEGER NOT NULL CHECK (numberOfShots > 0 AND numberOfShots <= 10000), -- fired, also where no hole was found
  groupSizeMoa REAL CHECK (groupSizeMoa >= 0 AND groupSizeMoa < 10000), -- extreme spread, centre to centre, minutes of angle
  meanRadiusMoa REAL CHECK (meanRadiusMoa >= 0 AND meanRadiusMoa < 10000), -- minutes of angle
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

CREATE INDEX OfflineGroupEntry_serverId ON OfflineGroupEntry (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineGroupEntry_dirty ON OfflineGroupEntry (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineGroupEntry_session ON OfflineGroupEntry (sessionId, isDeleted, groupNumber);
CREATE INDEX OfflineGroupEntry_ammunition ON OfflineGroupEntry (ammunitionId) WHERE ammunitionId IS NOT NULL;

-- The measurement of a group. All lengths are inches on the target, between the centres of holes. From outer edge to
-- outer edge, a spread is longer by the diameter of the bullet. Fewer than two holes have no spread: NULL.
CREATE TABLE OfflineGroupMeasurement (
  groupMeasurementId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  groupEntryId INTEGER NOT NULL REFERENCES OfflineGroupEntry (groupEntryId) ON DELETE CASCADE,
  bulletDiameter REAL NOT NULL CHECK (bulletDiameter > 0 AND bulletDiameter < 10), -- inches
  calibrationMethod TEXT NOT NULL DEFAULT 'manual' CHECK (length(trim(calibrationMethod)) > 0), -- how the scale was found
  pixelsPerInch REAL CHECK (pixelsPerInch > 0 AND pixelsPerInch < 1e9), -- the scale; NULL where no picture was measured
  measurementConfidence REAL CHECK (measurementConfidence BETWEEN 0 AND 1), -- 1 is certain
  extremeSpread REAL CHECK (extremeSpread >= 0 AND extremeSpread < 1e6), -- between the two holes farthest apart, inches
  horizontalSpread REAL CHECK (horizontalSpread >= 0 AND horizontalSpread < 1e6), -- inches
  verticalSpread REAL CHECK (verticalSpread >= 0 AND verticalSpread < 1e6), -- inches
  meanRadius REAL CHECK (meanRadius >= 0 AND meanRadius < 1e6), -- mean distance of a hole from the group's centre, inches
  cep50 REAL CHECK (cep50 >= 0 AND cep50 < 1e6), -- median distance of a hole from the group's centre, inches
  poiOffsetX REAL CHECK (poiOffsetX BETWEEN -1e6 AND 1e6), -- the group's centre, to the right of the point of aim, inches
  poiOffsetY REAL CHECK (poiOffsetY BETWEEN -1e6 AND 1e6), -- the group's centre, above the point of aim, inches
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

CREATE INDEX OfflineGroupMeasurement_serverId ON OfflineGroupMeasurement (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineGroupMeasurement_dirty ON OfflineGroupMeasurement (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineGroupMeasurement_group ON OfflineGroupMeasurement (groupEntryId, isDeleted, updatedAt);

-- A group has one measurement. A second measurement changes the first one.
CREATE UNIQUE INDEX OfflineGroupMeasurement_once ON OfflineGroupMeasurement (groupEntryId) WHERE isDeleted = 0;

-- The centre of one hole.
CREATE TABLE OfflineHolePosition (
  holePositionId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  groupMeasurementId INTEGER NOT NULL REFERENCES OfflineGroupMeasurement (groupMeasurementId) ON DELETE CASCADE,
  x REAL NOT NULL CHECK (x BETWEEN -10000 AND 10000), -- to the right of the point of aim, inches
  y REAL NOT NULL CHECK (y BETWEEN -10000 AND 10000), -- above the point of aim, inches
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

CREATE INDEX OfflineHolePosition_serverId ON OfflineHolePosition (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineHolePosition_dirty ON OfflineHolePosition (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineHolePosition_measurement ON OfflineHolePosition (groupMeasurementId, isDeleted, updatedAt);

-- A picture of the target of a group. It stays when the measurement that was made on it is deleted.
CREATE TABLE OfflineGroupImage (
  groupImageId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  groupEntryId INTEGER NOT NULL REFERENCES OfflineGroupEntry (groupEntryId) ON DELETE CASCADE,
  groupMeasurementId INTEGER REFERENCES OfflineGroupMeasurement (groupMeasurementId) ON DELETE SET NULL, -- made on it
  kind TEXT NOT NULL DEFAULT 'other' -- annotated: with the holes marked
    CHECK (kind = 'original' OR kind = 'annotated' OR kind = 'other'),
  caption TEXT,
  fileName TEXT CHECK (length(trim(fileName)) > 0),
  localPath TEXT NOT NULL DEFAULT '', -- the local file; stays on the device
  remoteUrl TEXT,
  thumbnailUrl TEXT,
  uploadStatus TEXT NOT NULL DEFAULT 'pending'
    CHECK (uploadStatus = 'pending' OR uploadStatus = 'uploading' OR uploadStatus = 'completed' OR uploadStatus = 'failed'),
  tusUploadId TEXT, -- the address of the upload under way
  fileSize INTEGER CHECK (fileSize >= 0), -- bytes
  width INTEGER CHECK (width > 0), -- pixels
  height INTEGER CHECK (height > 0), -- pixels
  mimeType TEXT CHECK (mimeType GLOB '?*/?*'),
  capturedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (capturedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', capturedAt)),
  contentUuid TEXT -- names the encrypted file; pictures of the same content share it
    CHECK (contentUuid GLOB '????????-????-????-????-????????????'
      AND ifnull(length(unhex(contentUuid, '-')) = 16, contentUuid IS NULL) AND contentUuid = lower(contentUuid)),
  contentKey BLOB CHECK (length(contentKey) = 32), -- 32 bytes that open the file
  contentDigest TEXT -- SHA-256 of the content, not encrypted, in hexadecimal digits
    CHECK (length(contentDigest) = 64 AND contentDigest NOT GLOB '*[^0-9a-f]*'),
  thumbnailDigest TEXT -- SHA-256 of its thumbnail; NULL without one
    CHECK (length(thumbnailDigest) = 64 AND thumbnailDigest NOT GLOB '*[^0-9a-f]*'),
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

CREATE INDEX OfflineGroupImage_serverId ON OfflineGroupImage (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineGroupImage_dirty ON OfflineGroupImage (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineGroupImage_group ON OfflineGroupImage (groupEntryId, isDeleted, capturedAt);
CREATE INDEX OfflineGroupImage_measurement ON OfflineGroupImage (groupMeasurementId) WHERE groupMeasurementId IS NOT NULL;
