-- name: readingsBetween :many
-- The readings of the air of a project from one time up to another, in their order.
-- no-scan
SELECT * FROM OfflineAtmosphericLog
-- The plus makes SQLite search by date: the time narrows down more than the project does.
WHERE +projectId = :projectId AND isDeleted = 0 AND date >= :from AND date < :until
ORDER BY date, logId;

-- name: latestReadingByRoom :many
-- The last reading of the air in each room of a project.
-- no-scan
SELECT room.title AS room, max(log.date) AS date, log.relativeHumidity AS relativeHumidity, log.temperature AS temperature
FROM OfflineAtmosphericLog AS log
JOIN OfflineRoom AS room ON room.roomId = log.roomId
WHERE log.projectId = :projectId AND log.isDeleted = 0 AND room.isDeleted = 0
GROUP BY log.roomId
ORDER BY room.title;

-- name: averageHumidityByRoomAndMonth :many
-- The mean relative humidity (%) and temperature (°F) of each room of a project in each month, in UTC.
-- no-scan
-- result month: String
-- result averageHumidity: Double
-- result averageTemperature: Double
SELECT
  room.title AS room, substr(log.date, 1, 7) AS month, count(*) AS readings,
  avg(log.relativeHumidity) AS averageHumidity, avg(log.temperature) AS averageTemperature
FROM OfflineAtmosphericLog AS log
JOIN OfflineRoom AS room ON room.roomId = log.roomId
WHERE log.projectId = :projectId AND log.isDeleted = 0
GROUP BY log.roomId, month
ORDER BY room.title, month;

-- name: mostHumid :many
-- The most humid readings of a project, the most humid first.
-- no-scan
SELECT room.title AS room, log.date AS date, log.relativeHumidity AS relativeHumidity, log.temperature AS temperature
FROM OfflineAtmosphericLog AS log
LEFT JOIN OfflineRoom AS room ON room.roomId = log.roomId
WHERE log.projectId = :projectId AND log.isDeleted = 0
ORDER BY log.relativeHumidity DESC, log.date
LIMIT :limit;

-- name: wettestMaterials :many
-- The last reading of each material in each room of a project, the wettest first.
-- no-scan
-- result date: Date
SELECT
  room.title AS room, material.name AS material, max(log.date) AS date, log.moistureContent AS moistureContent,
  material.dryStandard AS dryStandard
FROM OfflineMoistureLog AS log
JOIN OfflineRoom AS room ON room.roomId = log.roomId
JOIN OfflineMaterial AS material ON material.materialId = log.materialId
WHERE log.projectId = :projectId AND log.isDeleted = 0
GROUP BY log.roomId, log.materialId
ORDER BY log.moistureContent DESC;

-- name: equipmentInUse :many
-- The equipment of a project that ran at a moment.
-- no-scan
SELECT * FROM OfflineEquipment
WHERE projectId = :projectId AND isDeleted = 0 AND startDate <= :moment AND (endDate IS NULL OR endDate > :moment);

-- name: renameProject :exec
-- Gives a project another title.
-- no-scan
UPDATE OfflineProject SET title = :title WHERE uuid = :uuid AND isDeleted = 0;

-- name: unsyncedRecords :many
-- The number of unsynced records of each entity, by their syncStatus.
-- result entity: String
-- result syncStatus: String
-- result records: Int64
SELECT entity, syncStatus, records FROM unsynced ORDER BY entity, syncStatus;
