-- Views for the shell. Deleted records are left out.

-- The projects with the number of their records.
CREATE VIEW projects AS
SELECT
  project.title, project.projectNumber AS number, project.status, property.address, property.city,
  (SELECT count(*) FROM OfflineRoom AS r WHERE r.projectId = project.projectId AND r.isDeleted = 0) AS rooms,
  (SELECT count(*) FROM OfflineAtmosphericLog AS l WHERE l.projectId = project.projectId AND l.isDeleted = 0) AS airReadings,
  (SELECT count(*) FROM OfflineMoistureLog AS l WHERE l.projectId = project.projectId AND l.isDeleted = 0) AS moistureReadings,
  (SELECT count(*) FROM OfflinePhoto AS p WHERE p.projectId = project.projectId AND p.isDeleted = 0) AS photos,
  project.syncStatus, project.uuid
FROM OfflineProject AS project
LEFT JOIN OfflineProperty AS property ON property.propertyId = project.propertyId AND property.isDeleted = 0
WHERE project.isDeleted = 0
ORDER BY project.updatedAt DESC;

-- The rooms with the names of their locations.
CREATE VIEW rooms AS
SELECT
  project.title AS project, location.title AS location, room.title, room.roomType, room.level, room.squareFootage,
  room.isAccessible, room.syncStatus, room.uuid
FROM OfflineRoom AS room
JOIN OfflineProject AS project ON project.projectId = room.projectId
LEFT JOIN OfflineLocation AS location ON location.locationId = room.locationId AND location.isDeleted = 0
WHERE room.isDeleted = 0
ORDER BY project.title, location.title, room.title;

-- The readings of the air with the names of project and room.
CREATE VIEW airReadings AS
SELECT
  project.title AS project, room.title AS room, log.date, log.relativeHumidity, log.temperature, log.dewPoint, log.gpp,
  log.pressure, log.windSpeed, log.isExternal, log.isInlet, log.syncStatus, log.uuid
FROM OfflineAtmosphericLog AS log
JOIN OfflineProject AS project ON project.projectId = log.projectId
LEFT JOIN OfflineRoom AS room ON room.roomId = log.roomId
WHERE log.isDeleted = 0;

-- How far each material in each room has dried: its first and its last reading.
CREATE VIEW dryingProgress AS
SELECT
  project.title AS project, room.title AS room, material.name AS material, material.dryStandard,
  count(*) AS readings, min(log.date) AS since,
  (SELECT l.moistureContent FROM OfflineMoistureLog AS l
   WHERE l.roomId = log.roomId AND l.materialId = log.materialId AND l.isDeleted = 0 ORDER BY l.date LIMIT 1) AS first,
  (SELECT l.moistureContent FROM OfflineMoistureLog AS l
   WHERE l.roomId = log.roomId AND l.materialId = log.materialId AND l.isDeleted = 0 ORDER BY l.date DESC LIMIT 1) AS last
FROM OfflineMoistureLog AS log
JOIN OfflineProject AS project ON project.projectId = log.projectId
JOIN OfflineRoom AS room ON room.roomId = log.roomId
JOIN OfflineMaterial AS material ON material.materialId = log.materialId
WHERE log.isDeleted = 0
GROUP BY log.roomId, log.materialId;

-- How many records of each kind the server does not have yet.
CREATE VIEW unsynced AS
SELECT 'Company' AS entity, syncStatus, count(*) AS records FROM OfflineCompany WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'User' AS entity, syncStatus, count(*) AS records FROM OfflineUser WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'Property' AS entity, syncStatus, count(*) AS records FROM OfflineProperty WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'Project' AS entity, syncStatus, count(*) AS records FROM OfflineProject WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'Location' AS entity, syncStatus, count(*) AS records FROM OfflineLocation WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'Room' AS entity, syncStatus, count(*) AS records FROM OfflineRoom WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'ProjectCrew' AS entity, syncStatus, count(*) AS records FROM OfflineProjectCrew WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'Material' AS entity, syncStatus, count(*) AS records FROM OfflineMaterial WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'Equipment' AS entity, syncStatus, count(*) AS records FROM OfflineEquipment WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'Damage' AS entity, syncStatus, count(*) AS records FROM OfflineDamage WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'WorkScope' AS entity, syncStatus, count(*) AS records FROM OfflineWorkScope WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'AtmosphericLog' AS entity, syncStatus, count(*) AS records FROM OfflineAtmosphericLog WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'MoistureLog' AS entity, syncStatus, count(*) AS records FROM OfflineMoistureLog WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'Album' AS entity, syncStatus, count(*) AS records FROM OfflineAlbum WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'Photo' AS entity, syncStatus, count(*) AS records FROM OfflinePhoto WHERE isDirty = 1 GROUP BY syncStatus
UNION ALL
SELECT 'Note' AS entity, syncStatus, count(*) AS records FROM OfflineNote WHERE isDirty = 1 GROUP BY syncStatus;
