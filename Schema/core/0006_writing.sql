-- Deletions with their dependents, and writes that are refused.

-- Who writes is a property of the connection: UPDATE WriteContext is refused, and the row always says person.
CREATE TABLE WriteContextOfUser (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  mode TEXT NOT NULL DEFAULT 'person'
) STRICT;
INSERT INTO WriteContextOfUser (id) VALUES (1);
DROP TABLE WriteContext;
ALTER TABLE WriteContextOfUser RENAME TO WriteContext;

ALTER TABLE SyncCascade ADD COLUMN
  isUnderWay INTEGER NOT NULL DEFAULT 0 -- 1 while the statement runs that deletes or restores the record with its root
  CHECK (isUnderWay IN (0, 1));

-- A value that is always taken. A trigger inserts it once more to find out what the statement that fired it does on a
-- conflict, since the trigger's statements do the same: only REPLACE gets past it. Always one row.
CREATE TABLE SyncTakenValue (
  value INTEGER NOT NULL UNIQUE,
  isReplaced INTEGER NOT NULL DEFAULT 0 CHECK (isReplaced IN (0, 1))
) STRICT;
INSERT INTO SyncTakenValue (value) VALUES (1);
