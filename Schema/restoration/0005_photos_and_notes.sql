-- Photos and notes.

-- A collection of photos.
CREATE TABLE OfflineAlbum (
  albumId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,
  roomId INTEGER REFERENCES OfflineRoom (roomId) ON DELETE CASCADE,
  title TEXT NOT NULL CHECK (length(trim(title)) > 0),
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

CREATE INDEX OfflineAlbum_serverId ON OfflineAlbum (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineAlbum_dirty ON OfflineAlbum (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineAlbum_project ON OfflineAlbum (projectId, isDeleted, updatedAt);
CREATE INDEX OfflineAlbum_room ON OfflineAlbum (roomId) WHERE roomId IS NOT NULL;

-- A photo of a project, a room or a reading.
CREATE TABLE OfflinePhoto (
  photoId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,
  roomId INTEGER REFERENCES OfflineRoom (roomId) ON DELETE CASCADE,
  albumId INTEGER REFERENCES OfflineAlbum (albumId) ON DELETE SET NULL,
  atmosphericLogId INTEGER REFERENCES OfflineAtmosphericLog (logId) ON DELETE CASCADE, -- the reading that it belongs to
  moistureLogId INTEGER REFERENCES OfflineMoistureLog (logId) ON DELETE CASCADE, -- the reading that it belongs to
  fileName TEXT NOT NULL CHECK (length(trim(fileName)) > 0),
  localPath TEXT NOT NULL DEFAULT '', -- the local file; stays on the device
  remoteUrl TEXT,
  thumbnailUrl TEXT,
  uploadStatus TEXT NOT NULL DEFAULT 'pending' CHECK (uploadStatus IN ('pending', 'uploading', 'completed', 'failed')),
  assemblyId TEXT, -- the image processor's id
  tusUploadId TEXT, -- the address of the upload under way
  fileSize INTEGER NOT NULL CHECK (fileSize >= 0), -- bytes
  width INTEGER CHECK (width > 0), -- pixels
  height INTEGER CHECK (height > 0), -- pixels
  mimeType TEXT NOT NULL CHECK (mimeType GLOB '?*/?*'),
  capturedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (capturedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', capturedAt)),
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

CREATE INDEX OfflinePhoto_serverId ON OfflinePhoto (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflinePhoto_dirty ON OfflinePhoto (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflinePhoto_project ON OfflinePhoto (projectId, isDeleted, updatedAt);
CREATE INDEX OfflinePhoto_room ON OfflinePhoto (roomId) WHERE roomId IS NOT NULL;
CREATE INDEX OfflinePhoto_album ON OfflinePhoto (albumId) WHERE albumId IS NOT NULL;
CREATE INDEX OfflinePhoto_atmosphericLog ON OfflinePhoto (atmosphericLogId) WHERE atmosphericLogId IS NOT NULL;
CREATE INDEX OfflinePhoto_moistureLog ON OfflinePhoto (moistureLogId) WHERE moistureLogId IS NOT NULL;
CREATE INDEX OfflinePhoto_assembly ON OfflinePhoto (assemblyId) WHERE assemblyId IS NOT NULL;
CREATE INDEX OfflinePhoto_upload ON OfflinePhoto (uploadStatus);
CREATE INDEX OfflinePhoto_captured ON OfflinePhoto (capturedAt);

-- A note on a project or a room.
CREATE TABLE OfflineNote (
  noteId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,
  roomId INTEGER REFERENCES OfflineRoom (roomId) ON DELETE CASCADE,
  title TEXT,
  body TEXT NOT NULL CHECK (length(trim(body)) > 0),
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

CREATE INDEX OfflineNote_serverId ON OfflineNote (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineNote_dirty ON OfflineNote (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineNote_project ON OfflineNote (projectId, isDeleted, updatedAt);
CREATE INDEX OfflineNote_room ON OfflineNote (roomId) WHERE roomId IS NOT NULL;
