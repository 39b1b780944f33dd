-- Columns that were added to a synced table after its first definition.

-- The columns of each synced table, filled after each schema file. While a column has the constant default that it was added with, it
-- does not count in digests, so that a side without the column has the same digest.
CREATE TABLE SyncedColumnDefault (
  entityType TEXT NOT NULL,
  columnName TEXT NOT NULL,
  -- The default as JSON, "null" for a column that was added without one; never changed. NULL: the column always counts, because it is as
  -- old as its table or its default is no constant.
  addedDefault TEXT CHECK (json_valid(addedDefault)),
  PRIMARY KEY (entityType, columnName)
) STRICT, WITHOUT ROWID;
