-- FieldVault's own tables: what is synced and how, settings, and who is writing.

-- The kinds of record that are synced. A migration that makes such a table adds its row here.
CREATE TABLE SyncedEntity (
  entityType TEXT NOT NULL PRIMARY KEY CHECK (length(trim(entityType)) > 0), -- such as AtmosphericLog
  tableName TEXT NOT NULL UNIQUE, -- such as OfflineAtmosphericLog
  schemaName TEXT NOT NULL, -- the folder of SQL files that declares it
  defaultPriority INTEGER NOT NULL DEFAULT 2 CHECK (defaultPriority BETWEEN 0 AND 3), -- 0 critical, 1 high, 2 medium, 3 low
  -- What happens to a field that two sides changed.
  conflictPolicy TEXT NOT NULL DEFAULT 'last_write_wins'
    CHECK (conflictPolicy IN ('manual', 'last_write_wins', 'server_wins', 'client_wins', 'merge')),
  description TEXT -- for people
) STRICT;

-- Columns that are not synced like any other. A column without a row here is an ordinary one.
CREATE TABLE SyncedColumn (
  entityType TEXT NOT NULL REFERENCES SyncedEntity (entityType) ON DELETE CASCADE,
  columnName TEXT NOT NULL,
  -- Whose value wins under the policy merge; user_edited: the user's, once the user has edited it.
  ownership TEXT CHECK (ownership IN ('server', 'user', 'user_edited')),
  isLocalOnly INTEGER NOT NULL DEFAULT 0 CHECK (isLocalOnly IN (0, 1)), -- never leaves the device
  -- What the column is made from: an SQL expression over the columns of the row, of built-in functions. A merge never has a
  -- conflict about it; where the others come from both sides it is computed again, unless it is NULL.
  computedAs TEXT CHECK (length(trim(computedAs)) > 0),
  -- The column is nobody's to set: it is computed with each write of a person as well, also where it is NULL.
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

-- Who writes; the triggers that FieldVault derives from the tables look at it. Always one row.
CREATE TABLE WriteContext (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- person: changes are stamped, a DELETE marks the row. sync: the server's changes are applied as they are.
  -- purge: a DELETE removes the row.
  mode TEXT NOT NULL DEFAULT 'person' CHECK (mode IN ('person', 'sync', 'purge'))
) STRICT;

INSERT INTO WriteContext (id) VALUES (1);

-- The kinds of record of this vault, for people.
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
