-- FieldVault's own tables: the registry of synced entities, settings, and the write mode.

-- The synced entities. A migration that creates a synced table adds its row here.
CREATE TABLE SyncedEntity (
  entityType TEXT NOT NULL PRIMARY KEY CHECK (length(trim(entityType)) > 0), -- such as AtmosphericLog
  tableName TEXT NOT NULL UNIQUE, -- such as OfflineAtmosphericLog
  schemaName TEXT NOT NULL, -- the folder of SQL files that declares it
  defaultPriority INTEGER NOT NULL DEFAULT 2 CHECK (defaultPriority BETWEEN 0 AND 3), -- 0 critical, 1 high, 2 medium, 3 low
  -- The rule for a field that two sides changed.
  conflictPolicy TEXT NOT NULL DEFAULT 'last_write_wins'
    CHECK (conflictPolicy IN ('manual', 'last_write_wins', 'server_wins', 'client_wins', 'merge')),
  description TEXT -- for users
) STRICT;

-- Columns with special rules. A column without a row here is an ordinary synced column.
CREATE TABLE SyncedColumn (
  entityType TEXT NOT NULL REFERENCES SyncedEntity (entityType) ON DELETE CASCADE,
  columnName TEXT NOT NULL,
  -- The owner under the policy merge; user_edited: the user, after the user has edited it.
  ownership TEXT CHECK (ownership IN ('server', 'user', 'user_edited')),
  isLocalOnly INTEGER NOT NULL DEFAULT 0 CHECK (isLocalOnly IN (0, 1)), -- never leaves the device
  -- An SQL expression over the columns of the row, with built-in functions, that computes the column. A merge has no
  -- conflict about it. If its inputs come from both sides, it is computed again, unless it is NULL.
  computedAs TEXT CHECK (length(trim(computedAs)) > 0),
  -- The column is computed with each write of a user as well, also if it is NULL.
  isAlwaysComputed INTEGER NOT NULL DEFAULT 0 CHECK (isAlwaysComputed IN (0, 1)),
  mergesAsSet INTEGER NOT NULL DEFAULT 0 CHECK (mergesAsSet IN (0, 1)), -- a JSON array that is merged element by element
  PRIMARY KEY (entityType, columnName),
  CHECK (isAlwaysComputed = 0 OR computedAs IS NOT NULL)
) STRICT;

-- Settings of the vault.
CREATE TABLE Setting (
  name TEXT NOT NULL PRIMARY KEY CHECK (length(trim(name)) > 0),
  value TEXT
) STRICT;

-- The write mode, which the derived triggers read. Always one row.
CREATE TABLE WriteContext (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- person: changes are stamped, a DELETE marks the row. sync: the server's changes are stored unchanged. purge: a
  -- DELETE removes the row.
  mode TEXT NOT NULL DEFAULT 'person' CHECK (mode IN ('person', 'sync', 'purge'))
) STRICT;

INSERT INTO WriteContext (id) VALUES (1);

-- The entities of this vault, for users.
CREATE VIEW entities AS
SELECT
  entityType AS entity,
  tableName AS "table",
  schemaName AS schema,
  CASE defaultPriority WHEN 0 THEN 'critical' WHEN 1 THEN 'high' WHEN 2 THEN 'medium' ELSE 'low' END AS priority,
  conflictPolicy AS policy,
  description
FROM SyncedEntity
ORDER BY schemaName, defaultPriority, entityType;
