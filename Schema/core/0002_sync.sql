-- What waits for the server, what the server is known to have, and what a person has to decide.

-- Who writes, now also: import (as a person, but the import itself queues what it made), and how deep a deletion is in
-- what hangs on the record that was deleted.
CREATE TABLE WriteContextWithCascade (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  mode TEXT NOT NULL DEFAULT 'person' CHECK (mode IN ('person', 'import', 'sync', 'purge')),
  cascadeDepth INTEGER NOT NULL DEFAULT 0, -- 0 outside of a cascade
  rootType TEXT, -- the entity of the record whose deletion or return takes others along
  rootId INTEGER -- and its local id
) STRICT;
INSERT INTO WriteContextWithCascade (id, mode) SELECT id, mode FROM WriteContext;
DROP TABLE WriteContext;
ALTER TABLE WriteContextWithCascade RENAME TO WriteContext;

-- The outbox: each row is one change of one record on its way to the server. Filled by triggers, so that SQL typed into
-- the shell queues, too.
CREATE TABLE OfflineSyncQueue (
  queueNumber INTEGER PRIMARY KEY, -- the order in which operations were made
  -- Names the operation for ever: a server that has seen it answers as it did before.
  operationId TEXT NOT NULL UNIQUE
    DEFAULT (printf('%08x-%04x-7%03x-%04x-%012x',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), random() & 281474976710655)),
  entityType TEXT NOT NULL,
  entityId INTEGER NOT NULL, -- the record's local id
  entityUuid TEXT NOT NULL,
  -- Said with = and OR, here and below: more than two values after IN are a table that SQLite makes for each row it checks.
  operationType TEXT NOT NULL CHECK (operationType = 'create' OR operationType = 'update' OR operationType = 'delete'),
  -- What is sent, as JSON. NULL until the operation is sent for the first time: it is the difference of the record to its
  -- base then. From there on it is frozen, and later edits queue behind it.
  payload TEXT CHECK (json_valid(payload)),
  schemaVersion INTEGER, -- of the entity's schema, when the payload was made
  baseVersion INTEGER, -- the record's syncVersion when the payload was made
  priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3), -- 0 critical, 1 high, 2 medium, 3 low
  retryCount INTEGER NOT NULL DEFAULT 0 CHECK (retryCount >= 0), -- answers to the operation itself that were failures
  maxRetries INTEGER NOT NULL DEFAULT 5 CHECK (maxRetries >= 0),
  -- As strftime('%Y-%m-%dT%H:%M:%fZ', 'now') says it, in less time.
  createdAt TEXT NOT NULL DEFAULT (date('now') || 'T' || time('now', 'subsec') || 'Z'),
  scheduledAt TEXT CHECK (scheduledAt IS strftime('%Y-%m-%dT%H:%M:%fZ', scheduledAt)), -- not to be tried before
  lastAttemptAt TEXT CHECK (lastAttemptAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastAttemptAt)),
  sendCount INTEGER NOT NULL DEFAULT 0, -- how often this payload was handed over to be sent
  completedAt TEXT CHECK (completedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', completedAt)),
  -- failed: not tried again by itself; waits for a retry, an edit or a discard. conflict: waits for a decision.
  status TEXT NOT NULL DEFAULT 'pending'
    CHECK (status = 'pending' OR status = 'processing' OR status = 'completed' OR status = 'failed' OR status = 'conflict'),
  errorMessage TEXT,
  errorStatus INTEGER, -- what the server answered to the operation, as an HTTP status
  parkedBehind INTEGER, -- the queueNumber of the failed or contested operation that this one waits for
  CHECK ((status = 'completed') = (completedAt IS NOT NULL))
) STRICT;

-- At most one operation of a record may still grow.
CREATE UNIQUE INDEX OfflineSyncQueue_growing ON OfflineSyncQueue (entityId, entityType) WHERE payload IS NULL AND completedAt IS NULL;
CREATE INDEX OfflineSyncQueue_frozen ON OfflineSyncQueue (entityId, entityType) WHERE payload IS NOT NULL AND completedAt IS NULL;
-- The next to be sent, whatever number waits.
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
  fields TEXT NOT NULL, -- a JSON object, made by json_object and not parsed again to check it
  isDeleted INTEGER NOT NULL CHECK (isDeleted IN (0, 1)),
  syncVersion INTEGER NOT NULL,
  updatedAt TEXT NOT NULL,
  userEditedFields TEXT,
  PRIMARY KEY (entityId, entityType)
) STRICT, WITHOUT ROWID;

-- Records that a deletion took along, so that they come back with the one that it was meant for. The server is told of
-- that one alone.
CREATE TABLE SyncCascade (
  entityType TEXT NOT NULL,
  entityId INTEGER NOT NULL,
  rootType TEXT NOT NULL,
  rootId INTEGER NOT NULL,
  -- The server has that deletion. What it took along there comes as news; what does not come was moved away and comes back.
  isAnswered INTEGER NOT NULL DEFAULT 0 CHECK (isAnswered IN (0, 1)),
  PRIMARY KEY (entityId, entityType)
) STRICT, WITHOUT ROWID;
CREATE INDEX SyncCascade_root ON SyncCascade (rootId, rootType);
CREATE INDEX SyncCascade_answered ON SyncCascade (entityType) WHERE isAnswered = 1;

-- Records that were moved from one parent to another and not sent yet: the old parent's deletion has to go after them.
CREATE TABLE SyncMoved (
  entityType TEXT NOT NULL,
  entityId INTEGER NOT NULL,
  parentType TEXT NOT NULL,
  parentId INTEGER NOT NULL,
  PRIMARY KEY (parentId, parentType, entityId, entityType)
) STRICT, WITHOUT ROWID;
CREATE INDEX SyncMoved_record ON SyncMoved (entityId, entityType);

-- Records from the server that cannot be stored yet.
CREATE TABLE SyncInbox (
  entityType TEXT NOT NULL,
  entityUuid TEXT NOT NULL,
  record TEXT NOT NULL CHECK (json_valid(record)), -- as it came
  -- in_flight: an operation of the record may have been sent and is not answered.
  reason TEXT NOT NULL CHECK (reason IN ('unknown_entity', 'parent_missing', 'in_flight', 'refused')),
  waitsFor TEXT, -- the uuid of the record whose arrival lets this one in
  detail TEXT, -- for people
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

-- Projects that this device follows; none: all of them.
CREATE TABLE SyncScope (
  entityUuid TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Columns that a migration renamed by building a table anew: waiting operations follow. ALTER TABLE ... RENAME COLUMN is
-- seen without a row here.
CREATE TABLE SyncedColumnRename (
  entityType TEXT NOT NULL,
  oldName TEXT NOT NULL,
  newName TEXT NOT NULL,
  PRIMARY KEY (entityType, oldName)
) STRICT;

-- What could not be merged, and what lost although a person had entered it.
CREATE TABLE OfflineConflictResolution (
  conflictId TEXT NOT NULL PRIMARY KEY
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6))))),
  entityType TEXT NOT NULL,
  entityId INTEGER NOT NULL,
  entityUuid TEXT NOT NULL,
  base TEXT CHECK (json_valid(base)), -- what both started from; NULL when the server never had it
  localVersion TEXT NOT NULL CHECK (json_valid(localVersion)),
  remoteVersion TEXT CHECK (json_valid(remoteVersion)), -- NULL when the server has none
  conflictType TEXT NOT NULL
    CHECK (conflictType IN ('concurrent_edit', 'deleted_remotely', 'deleted_locally', 'not_unique', 'parent_missing')),
  fields TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(fields)), -- those to decide, or those whose value gave way
  detectedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (detectedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', detectedAt)),
  resolvedAt TEXT CHECK (resolvedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', resolvedAt)),
  resolution TEXT CHECK (resolution IN ('local_wins', 'remote_wins', 'merge', 'manual')),
  resolvedBy TEXT, -- a user, or 'policy'
  notes TEXT,
  choices TEXT CHECK (json_valid(choices)) -- what was chosen, so that the resolution can be replayed
) STRICT;

CREATE INDEX OfflineConflictResolution_record ON OfflineConflictResolution (entityId, entityType);
CREATE INDEX OfflineConflictResolution_detected ON OfflineConflictResolution (detectedAt);
-- A record has at most one conflict that is open.
CREATE UNIQUE INDEX OfflineConflictResolution_open ON OfflineConflictResolution (entityId, entityType) WHERE resolvedAt IS NULL;

-- What an API that is no FieldVault server takes; everything else is refused when it is written.
CREATE TABLE SyncRoute (
  entityType TEXT NOT NULL,
  operationType TEXT NOT NULL CHECK (operationType IN ('create', 'update', 'delete')),
  PRIMARY KEY (entityType, operationType)
) STRICT, WITHOUT ROWID;

-- Lists of the server's own records, such as rifles or people, where an API gives lists: how old they are here.
CREATE TABLE SyncFetch (
  entityType TEXT NOT NULL PRIMARY KEY,
  fetchedAt TEXT CHECK (fetchedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', fetchedAt)), -- the last that came as a whole; NULL: none did
  triedAt TEXT NOT NULL CHECK (triedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', triedAt)),
  problem TEXT -- what could not be read the last time, for people
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
  repaired INTEGER NOT NULL DEFAULT 0, -- by a reconciliation
  bytesSent INTEGER NOT NULL DEFAULT 0,
  bytesReceived INTEGER NOT NULL DEFAULT 0,
  outcome TEXT NOT NULL DEFAULT 'running', -- running, done, offline, paused, failed, cancelled, interrupted
  errorMessage TEXT
) STRICT;

-- What waits for the server, for people.
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
