INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority, conflictPolicy, description) VALUES
  ('Site', 'OfflineSite', 'visits', 0, 'server_wins', 'places to visit'),
  ('Visit', 'OfflineVisit', 'visits', 1, 'last_write_wins', 'what was found there');
