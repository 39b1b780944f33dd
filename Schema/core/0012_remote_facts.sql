-- Facts about a remote without versions: an existing REST API.

-- 1 if the remote has deleted the record with its root. The remote never restores such a record. If a user restores it, it is created again.
ALTER TABLE SyncCascade ADD COLUMN isGone INTEGER NOT NULL DEFAULT 0 CHECK (isGone IN (0, 1));

-- The first payload of an operation that the remote may have stored, and that edits have replaced. NULL for other operations.
ALTER TABLE OfflineSyncQueue ADD COLUMN sentPayload TEXT CHECK (json_valid(sentPayload));
