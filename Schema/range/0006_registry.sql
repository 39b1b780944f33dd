-- The synced entities, their priorities, and the rules for fields that two sides changed. A record is sent after the
-- records that it references, so pictures are sent last.

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

-- The state of a file on this device, and of its upload, is not shared.
INSERT INTO SyncedColumn (entityType, columnName, isLocalOnly) VALUES
  ('GroupImage', 'localPath', 1),
  ('GroupImage', 'uploadStatus', 1),
  ('GroupImage', 'tusUploadId', 1);
