-- Deletions with their dependents, and refused writes.

-- The write mode is a property of the connection: UPDATE WriteContext is refused, and the row always has the mode
-- person.
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

-- A value that always exists. A trigger inserts it again to find out the conflict clause of the statement that fired
-- it, because the statements of a trigger follow that clause: only REPLACE succeeds. Always one row.
CREATE TABLE SyncTakenValue (
  value INTEGER NOT NULL UNIQUE,
  isReplaced INTEGER NOT NULL DEFAULT 0 CHECK (isReplaced IN (0, 1))
) STRICT;
INSERT INTO SyncTakenValue (value) VALUES (1);
