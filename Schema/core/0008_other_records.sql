-- The other record of a conflict: the record that has the UNIQUE value, or that references the record that was deleted
-- here.
-- NULL where no single record does.
ALTER TABLE OfflineConflictResolution ADD COLUMN otherType TEXT;
ALTER TABLE OfflineConflictResolution ADD COLUMN otherUuid TEXT;
