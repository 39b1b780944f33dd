-- What is synced, how urgent it is, and who is right when two sides changed the same field. A record never goes before
-- one that it refers to, so what stands lower here waits for what stands above it; pictures go last.

INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority, conflictPolicy, description) VALUES
  ('RifleSetup', 'OfflineRifleSetup', 'range', 0, 'server_wins', 'rifles'),
  ('Ammunition', 'OfflineAmmunition', 'range', 0, 'server_wins', 'kinds of cartridges'),
  ('AmmoLot', 'OfflineAmmoLot', 'range', 0, 'server_wins', 'lots of cartridges'),
  ('SavedLocation', 'OfflineSavedLocation', 'range', 0, 'server_wins', 'places to shoot'),
  ('AnalyticsSummary', 'OfflineAnalyticsSummary', 'range', 3, 'server_wins', 'the numbers of the dashboard'),
  ('Session', 'OfflineSession', 'range', 1, 'last_write_wins', 'times of shooting'),
  ('DopeEntry', 'OfflineDopeEntry', 'range', 2, 'last_write_wins', 'holds at a distance'),
  ('ChronoSession', 'OfflineChronoSession', 'range', 2, 'last_write_wins', 'strings over a chronograph'),
  ('VelocityReading', 'OfflineVelocityReading', 'range', 2, 'last_write_wins', 'velocities of single shots'),
  ('GroupEntry', 'OfflineGroupEntry', 'range', 2, 'last_write_wins', 'groups on paper'),
  ('GroupMeasurement', 'OfflineGroupMeasurement', 'range', 2, 'last_write_wins', 'what was measured on a group'),
  ('HolePosition', 'OfflineHolePosition', 'range', 2, 'last_write_wins', 'holes of a measurement'),
  ('GroupImage', 'OfflineGroupImage', 'range', 3, 'last_write_wins', 'pictures of targets');

-- Where a file stands on this device, and how far its upload has come, concerns nobody else.
INSERT INTO SyncedColumn (entityType, columnName, isLocalOnly) VALUES
  ('GroupImage', 'localPath', 1),
  ('GroupImage', 'uploadStatus', 1),
  ('GroupImage', 'tusUploadId', 1);
