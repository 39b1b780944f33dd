-- The synced entities, their priorities, and the rules for fields that two sides changed.

INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority, conflictPolicy, description) VALUES
  ('Company', 'OfflineCompany', 'restoration', 0, 'server_wins', 'companies'),
  ('User', 'OfflineUser', 'restoration', 0, 'server_wins', 'people'),
  ('Property', 'OfflineProperty', 'restoration', 1, 'last_write_wins', 'properties'),
  ('Project', 'OfflineProject', 'restoration', 1, 'manual', 'jobs'),
  ('Location', 'OfflineLocation', 'restoration', 1, 'last_write_wins', 'buildings, floors and units'),
  ('Room', 'OfflineRoom', 'restoration', 1, 'last_write_wins', 'rooms and areas'),
  ('ProjectCrew', 'OfflineProjectCrew', 'restoration', 1, 'last_write_wins', 'who works on which project'),
  ('Material', 'OfflineMaterial', 'restoration', 2, 'server_wins', 'materials whose moisture is measured'),
  ('Equipment', 'OfflineEquipment', 'restoration', 2, 'last_write_wins', 'drying equipment'),
  ('Damage', 'OfflineDamage', 'restoration', 2, 'last_write_wins', 'what is damaged'),
  ('WorkScope', 'OfflineWorkScope', 'restoration', 2, 'last_write_wins', 'what is to be done'),
  ('AtmosphericLog', 'OfflineAtmosphericLog', 'restoration', 2, 'server_wins', 'readings of the air'),
  ('MoistureLog', 'OfflineMoistureLog', 'restoration', 2, 'last_write_wins', 'readings of materials'),
  ('Album', 'OfflineAlbum', 'restoration', 3, 'last_write_wins', 'collections of photos'),
  ('Photo', 'OfflinePhoto', 'restoration', 3, 'client_wins', 'photos'),
  ('Note', 'OfflineNote', 'restoration', 2, 'last_write_wins', 'notes');

-- The state of a file on this device, and of its upload, is not shared.
INSERT INTO SyncedColumn (entityType, columnName, isLocalOnly) VALUES
  ('AtmosphericLog', 'photoLocalPath', 1),
  ('AtmosphericLog', 'photoUploadStatus', 1),
  ('MoistureLog', 'photoLocalPath', 1),
  ('MoistureLog', 'photoUploadStatus', 1),
  ('Photo', 'localPath', 1),
  ('Photo', 'uploadStatus', 1),
  ('Photo', 'tusUploadId', 1);

-- Grains per pound are computed from temperature, humidity and pressure. Without a pressure, that of the standard
-- atmosphere is used; `RestorationModel/Psychrometrics.swift` has the same formula in Swift. 7,000 grains are a pound.
-- 0.62198 is the ratio of the molar masses of water and air (ASHRAE Handbook, Fundamentals, chapter 1). The pressure of
-- saturated vapour, in millibars over degrees Celsius, is that of Alduchov and Eskridge, "Improved Magnus Form
-- Approximation of Saturation Vapor Pressure", Journal of Applied Meteorology 35 (1996). A dew point may be measured
-- instead, and is kept.
INSERT INTO SyncedColumn (entityType, columnName, computedAs) VALUES
  ('AtmosphericLog', 'gpp', '(SELECT CASE WHEN vapour < air THEN round(7000 * 0.62198 * vapour / (air - vapour), 1) END
    FROM (SELECT coalesce(pressure, 1013.25) AS air, relativeHumidity / 100 * 6.1094
      * exp(17.625 * ((temperature - 32) / 1.8) / ((temperature - 32) / 1.8 + 243.04)) AS vapour))');
