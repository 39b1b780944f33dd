-- The entities whose records make a user a member of a project. A server can limit the records of a project to its members.
CREATE TABLE SyncedMembership (
  entityType TEXT NOT NULL PRIMARY KEY REFERENCES SyncedEntity (entityType) ON DELETE CASCADE, -- such as ProjectCrew
  userColumn TEXT NOT NULL -- the column that references the record of the user
) STRICT, WITHOUT ROWID;

-- The projects of which the user is no longer a member, as long as this device has records of them or follows them. A later transaction
-- removes the records, also after a crash.
CREATE TABLE SyncLostProject (
  entityUuid TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
