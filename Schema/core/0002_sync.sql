-- The outbox, the bases of changed records, and the conflicts.

-- The write mode with two additions: import (writes of a user whose records the import queues itself), and the depth of
-- the running cascade.
CREATE TABLE WriteContextWithCascade (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  mode TEXT NOT NULL DEFAULT 'person' CHECK (mode IN ('person', 'import', 'sync', 'purge')),
  cascadeDepth INTEGER NOT NULL DEFAULT 0, -- 0 outside of a cascade
  rootType TEXT, -- the entity of the cascade's root
  rootId INTEGER -- the local id of the root
) STRICT;
INSERT INTO WriteContextWithCascade (id, mode) SELECT id, mode FROM WriteContext;
DROP TABLE WriteContext;
ALTER TABLE WriteContextWithCascade RENAME TO WriteContext;

-- The outbox: each row is one operation. Triggers fill it, so that SQL typed into the shell queues as well.
CREATE TABLE OfflineSyncQueue (
  queueNumber INTEGER PRIMARY KEY, -- the order in which operations were queued
  -- Names the operation. A server that has executed it returns the stored response.
  operationId TEXT NOT NULL UNIQUE
    DEFAULT (printf('%08x-%04x-7%03x-%04x-%012x',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), random() & 281474976710655)),
  entityType TEXT NOT NULL,
  entityId INTEGER NOT NULL, -- the record's local id
  entityUuid TEXT NOT NULL,
  -- Written with = and OR, here and below: for more than two values after IN, SQLite creates a temporary table for each
  -- row.
  operationType TEXT NOT NULL CHECK (operationType = 'create' OR operationType = 'update' OR operationType = 'delete'),
  -- The payload as JSON. NULL until the operation is sealed: then it is the difference between the record and its base.
  -- Later edits queue the next operation.
  payload TEXT CHECK (json_valid(payload)),
  schemaVersion INTEGER, -- of the entity's schema, when the operation was sealed
  baseVersion INTEGER, -- the record's syncVersion when the operation was sealed
  priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3), -- 0 critical, 1 high, 2 medium, 3 low
  retryCount INTEGER NOT NULL DEFAULT 0 CHECK (retryCount >= 0), -- failed attempts
  maxRetries INTEGER NOT NULL DEFAULT 5 CHECK (maxRetries >= 0),
  -- Equal to strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), but faster.
  createdAt TEXT NOT NULL DEFAULT (date('now') || 'T' || time('now', 'subsec') || 'Z'),
  scheduledAt TEXT CHECK (scheduledAt IS strftime('%Y-%m-%dT%H:%M:%fZ', scheduledAt)), -- the earliest time of the next attempt
  lastAttemptAt TEXT CHECK (lastAttemptAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastAttemptAt)),
  sendCount INTEGER NOT NULL DEFAULT 0, -- how many times this payload was sent
  completedAt TEXT CHECK (completedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', completedAt)),
  -- failed: not sent again until a retry, an edit or a discard. conflict: waits until the conflict is resolved.
  status TEXT NOT NULL DEFAULT 'pending'
    CHECK (status = 'pending' OR status = 'processing' OR status = 'completed' OR status = 'failed' OR status = 'conflict'),
  errorMessage TEXT,
  errorStatus INTEGER, -- the HTTP status of the operation
  parkedBehind INTEGER, -- the queueNumber of the failed, conflicted or scheduled operation that this one waits for
  CHECK ((status = 'completed') = (completedAt IS NOT NULL))
) STRICT;

-- A record has at most one pending operation.
CREATE UNIQUE INDEX OfflineSyncQueue_growing ON OfflineSyncQueue (entityId, entityType) WHERE payload IS NULL AND completedAt IS NULL;
CREATE INDEX OfflineSyncQueue_frozen ON OfflineSyncQueue (entityId, entityType) WHERE payload IS NOT NULL AND completedAt IS NULL;
-- Finds the next operation at a cost that does not depend on the length of the outbox.
CREATE INDEX OfflineSyncQueue_ready ON OfflineSyncQueue (priority, queueNumber)
  WHERE status = 'pending' AND scheduledAt IS NULL AND parkedBehind IS NULL;
CREATE INDEX OfflineSyncQueue_scheduled ON OfflineSyncQueue (scheduledAt) WHERE status = 'pending' AND scheduledAt IS NOT NULL;
CREATE INDEX OfflineSyncQueue_parked ON OfflineSyncQueue (parkedBehind) WHERE parkedBehind IS NOT NULL;
CREATE INDEX OfflineSyncQueue_special ON OfflineSyncQueue (status)
  WHERE status = 'processing' OR status = 'failed' OR status = 'conflict';
CREATE INDEX OfflineSyncQueue_completed ON OfflineSyncQueue (completedAt) WHERE completedAt IS NOT NULL;

-- The base: the last state of a changed record that the server is known to have had.
CREATE TABLE SyncBase (
  entityType TEXT NOT NULL,
  entityId INTEGER NOT NULL,
  fields TEXT NOT NULL, -- a JSON object, created by json_object and not parsed again to check it
  isDeleted INTEGER NOT NULL CHECK (isDeleted IN (0, 1)),
  syncVersion INTEGER NOT NULL,
  updatedAt TEXT NOT NULL,
  userEditedFields TEXT,
  PRIMARY KEY (entityId, entityType)
) STRICT, WITHOUT ROWID;

-- Records that a cascade deleted, so that they are restored with their root. The server learns of the root only.
CREATE TABLE SyncCascade (
  entityType TEXT NOT NULL,
  entityId INTEGER NOT NULL,
  rootType TEXT NOT NULL,
  rootId INTEGER NOT NULL,
  -- The server has acknowledged the deletion of the root. Records that its own cascade deleted are pulled as deleted;
  -- the others were moved away there and are restored.
  isAnswered INTEGER NOT NULL DEFAULT 0 CHECK (isAnswered IN (0, 1)),
  PRIMARY KEY (entityId, entityType)
) STRICT, WITHOUT ROWID;
CREATE INDEX SyncCascade_root ON SyncCascade (rootId, rootType);
CREATE INDEX SyncCascade_answered ON SyncCascade (entityType) WHERE isAnswered = 1;

-- Former parents of moved records whose move was not sent: a deletion of the former parent is sent after the move.
CREATE TABLE SyncMoved (
  entityType TEXT NOT NULL,
  entityId INTEGER NOT NULL,
  parentType TEXT NOT NULL,
  parentId INTEGER NOT NULL,
  PRIMARY KEY (parentId, parentType, entityId, entityType)
) STRICT, WITHOUT ROWID;
CREATE INDEX SyncMoved_record ON SyncMoved (entityId, entityType);

-- The inbox: versions from the server that cannot be stored yet.
CREATE TABLE SyncInbox (
  entityType TEXT NOT NULL,
  entityUuid TEXT NOT NULL,
  record TEXT NOT NULL CHECK (json_valid(record)), -- the version as received
  -- in_flight: an operation of the record may have been sent, and its response is unknown.
  reason TEXT NOT NULL CHECK (reason IN ('unknown_entity', 'parent_missing', 'in_flight', 'refused')),
  waitsFor TEXT, -- the UUID of the missing record
  detail TEXT, -- for users
  receivedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  PRIMARY KEY (entityType, entityUuid)
) STRICT;

CREATE INDEX SyncInbox_waits ON SyncInbox (waitsFor) WHERE waitsFor IS NOT NULL;

-- Fields from a newer server for which this vault has no column yet.
CREATE TABLE SyncExtraFields (
  entityType TEXT NOT NULL,
  entityUuid TEXT NOT NULL,
  fields TEXT NOT NULL CHECK (json_valid(fields)),
  PRIMARY KEY (entityType, entityUuid)
) STRICT, WITHOUT ROWID;

-- The projects that this device follows; no row means all projects.
CREATE TABLE SyncScope (
  entityUuid TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Columns that a migration renamed by creating the table again: unsent work follows. ALTER TABLE ... RENAME COLUMN
-- needs no row here.
CREATE TABLE SyncedColumnRename (
  entityType TEXT NOT NULL,
  oldName TEXT NOT NULL,
  newName TEXT NOT NULL,
  PRIMARY KEY (entityType, oldName)
) STRICT;

-- Conflicts, and values of users that a policy overwrote.
CREATE TABLE OfflineConflictResolution (
  conflictId TEXT NOT NULL PRIMARY KEY
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6))))),
  entityType TEXT NOT NULL,
  entityId INTEGER NOT NULL,
  entityUuid TEXT NOT NULL,
  base TEXT CHECK (json_valid(base)), -- the common version; NULL if the server never had the record
  localVersion TEXT NOT NULL CHECK (json_valid(localVersion)),
  remoteVersion TEXT CHECK (json_valid(remoteVersion)), -- NULL if the server has no version
  conflictType TEXT NOT NULL
    CHECK (conflictType IN ('concurrent_edit', 'deleted_remotely', 'deleted_locally', 'not_unique', 'parent_missing')),
  fields TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(fields)), -- the open fields, or the fields whose values were overwritten
  detectedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (detectedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', detectedAt)),
  resolvedAt TEXT CHECK (resolvedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', resolvedAt)),
  resolution TEXT CHECK (resolution IN ('local_wins', 'remote_wins', 'merge', 'manual')),
  resolvedBy TEXT, -- a user, or 'policy'
  notes TEXT,
  choices TEXT CHECK (json_valid(choices)) -- the user's choices, so that the resolution can be repeated
) STRICT;

CREATE INDEX OfflineConflictResolution_record ON OfflineConflictResolution (entityId, entityType);
CREATE INDEX OfflineConflictResolution_detected ON OfflineConflictResolution (detectedAt);
-- A record has at most one open conflict.
CREATE UNIQUE INDEX OfflineConflictResolution_open ON OfflineConflictResolution (entityId, entityType) WHERE resolvedAt IS NULL;

-- The kinds of write that a REST remote accepts. Other writes are refused when they are made.
CREATE TABLE SyncRoute (
  entityType TEXT NOT NULL,
  operationType TEXT NOT NULL CHECK (operationType IN ('create', 'update', 'delete')),
  PRIMARY KEY (entityType, operationType)
) STRICT, WITHOUT ROWID;

-- The age of server-owned lists of a REST remote, such as rifles or users.
CREATE TABLE SyncFetch (
  entityType TEXT NOT NULL PRIMARY KEY,
  fetchedAt TEXT CHECK (fetchedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', fetchedAt)), -- the last complete fetch; NULL if there was none
  triedAt TEXT NOT NULL CHECK (triedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', triedAt)),
  problem TEXT -- the problem of the last fetch, for users
) STRICT, WITHOUT ROWID;

-- The history of sync: one row for each round.
CREATE TABLE SyncRun (
  runId INTEGER PRIMARY KEY,
  startedAt TEXT NOT NULL CHECK (startedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', startedAt)),
  endedAt TEXT CHECK (endedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', endedAt)),
  cause TEXT NOT NULL, -- manual, local_write, remote_change, network, timer, resume, nudge
  pushed INTEGER NOT NULL DEFAULT 0,
  merged INTEGER NOT NULL DEFAULT 0,
  conflicts INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  pulled INTEGER NOT NULL DEFAULT 0,
  repaired INTEGER NOT NULL DEFAULT 0, -- by a comparison
  bytesSent INTEGER NOT NULL DEFAULT 0,
  bytesReceived INTEGER NOT NULL DEFAULT 0,
  outcome TEXT NOT NULL DEFAULT 'running', -- running, done, offline, paused, failed, cancelled, interrupted
  errorMessage TEXT
) STRICT;

-- The outbox, for users.
CREATE VIEW outbox AS
SELECT
  operationId,
  entityType AS entity,
  entityUuid AS uuid,
  operationType AS operation,
  CASE priority WHEN 0 THEN 'critical' WHEN 1 THEN 'high' WHEN 2 THEN 'medium' ELSE 'low' END AS priority,
  status,
  retryCount AS retries,
  createdAt,
  scheduledAt,
  errorMessage AS error
FROM OfflineSyncQueue
WHERE completedAt IS NULL
ORDER BY OfflineSyncQueue.priority, queueNumber;
