-- Finds the acknowledged deletion of a record whose row is gone. A server that was restored from a backup has the record
-- again, and the device deletes it again.
CREATE INDEX OfflineSyncQueue_deleted ON OfflineSyncQueue (entityUuid, entityType)
  WHERE operationType = 'delete' AND completedAt IS NOT NULL;
