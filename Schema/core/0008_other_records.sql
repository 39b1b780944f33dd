-- The record that stands in the way in a conflict: the one that has the UNIQUE value, or that references what was deleted here.
-- NULL where no single record does.
ALTER TABLE OfflineConflictResolution ADD COLUMN otherType TEXT;
ALTER TABLE OfflineConflictResolution ADD COLUMN otherUuid TEXT;
