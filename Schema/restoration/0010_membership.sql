-- The crew of a project are its members.
INSERT INTO SyncedMembership (entityType, userColumn) VALUES ('ProjectCrew', 'userId');
