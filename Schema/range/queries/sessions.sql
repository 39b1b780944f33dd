-- name: recentSessions :many
-- The last sessions, including those that the server does not have yet. `isPending`: the session or one of its records
-- has unsent changes. `asOf`: the time of the server's version.
-- no-scan
-- param limit: Int64
-- result isPending: Bool
-- result isFailed: Bool
-- result isContested: Bool
-- result dopeEntries: Int64
-- result shots: Int64
-- result groups: Int64
-- result images: Int64
SELECT
  session.sessionId AS sessionId, session.uuid AS uuid, session.sessionDate AS sessionDate, rifle.name AS rifle,
  location.name AS location, session.temperature AS temperature, session.notes AS notes,
  (SELECT count(*) FROM OfflineDopeEntry AS d WHERE d.sessionId = session.sessionId AND d.isDeleted = 0) AS dopeEntries,
  (SELECT count(*) FROM OfflineVelocityReading AS r
   JOIN OfflineChronoSession AS c ON c.chronoSessionId = r.chronoSessionId
   WHERE c.sessionId = session.sessionId AND r.isDeleted = 0) AS shots,
  (SELECT count(*) FROM OfflineGroupEntry AS g WHERE g.sessionId = session.sessionId AND g.isDeleted = 0) AS groups,
  (SELECT count(*) FROM OfflineGroupImage AS i JOIN OfflineGroupEntry AS g ON g.groupEntryId = i.groupEntryId
   WHERE g.sessionId = session.sessionId AND i.isDeleted = 0) AS images,
  session.sessionId IN (SELECT sessionId FROM pendingRangeRecords) AS isPending,
  session.sessionId IN (SELECT sessionId FROM pendingRangeRecords WHERE syncStatus = 'failed') AS isFailed,
  session.sessionId IN (SELECT sessionId FROM pendingRangeRecords WHERE syncStatus = 'conflict') AS isContested,
  session.lastSyncedAt AS asOf
FROM OfflineSession AS session
JOIN OfflineRifleSetup AS rifle ON rifle.rifleSetupId = session.rifleSetupId
LEFT JOIN OfflineSavedLocation AS location ON location.locationId = session.locationId
WHERE session.isDeleted = 0
ORDER BY session.sessionDate DESC, session.sessionId DESC
LIMIT :limit;

-- name: pendingSessions :many
-- The sessions with unsent changes, the oldest changes first: the number of records of each, the number that the server
-- refused, and the time of the oldest change. An unsent deletion counts as well.
-- result records: Int64
-- result failed: Int64
-- result contested: Int64
-- result since: Date
SELECT
  session.sessionId AS sessionId, session.uuid AS uuid, session.sessionDate AS sessionDate, rifle.name AS rifle,
  session.isDeleted AS isDeleted, count(*) AS records,
  count(*) FILTER (WHERE pending.syncStatus = 'failed') AS failed,
  count(*) FILTER (WHERE pending.syncStatus = 'conflict') AS contested,
  min(pending.updatedAt) AS since
FROM pendingRangeRecords AS pending
JOIN OfflineSession AS session ON session.sessionId = pending.sessionId
JOIN OfflineRifleSetup AS rifle ON rifle.rifleSetupId = session.rifleSetupId
GROUP BY session.sessionId
ORDER BY since, session.sessionId;

-- name: howMuchWaits :one
-- The unsent work of all sessions: the number of records, of refused and conflicted ones, and of pictures whose files
-- were not sent.
-- result sessions: Int64
-- result records: Int64
-- result failed: Int64
-- result contested: Int64
-- result since: Date?
-- result images: Int64
-- result imageBytes: Int64
SELECT
  count(DISTINCT sessionId) AS sessions, count(*) AS records,
  count(*) FILTER (WHERE syncStatus = 'failed') AS failed,
  count(*) FILTER (WHERE syncStatus = 'conflict') AS contested,
  min(updatedAt) AS since,
  (SELECT count(*) FROM AttachmentTransfer AS transfer
   WHERE transfer.direction = 'upload' AND transfer.variant = 'full'
     AND EXISTS (SELECT 1 FROM OfflineGroupImage AS i WHERE i.contentUuid = transfer.contentUuid)) AS images,
  (SELECT ifnull(sum(content.byteCount), 0) FROM AttachmentTransfer AS transfer
   JOIN AttachmentContent AS content ON content.contentUuid = transfer.contentUuid
   WHERE transfer.direction = 'upload' AND transfer.variant = 'full'
     AND EXISTS (SELECT 1 FROM OfflineGroupImage AS i WHERE i.contentUuid = transfer.contentUuid)) AS imageBytes
FROM pendingRangeRecords;

-- name: dopeEntriesOfSession :many
-- The holds of a session by distance, including unsent ones, in both units.
-- no-scan
-- param sessionId: Int64
-- result elevationMoa: Double?
-- result elevationMil: Double?
-- result windageMoa: Double?
-- result windageMil: Double?
-- result ammunition: String?
-- result isFailed: Bool
-- result error: String?
SELECT
  dopeEntryId, uuid, distance, elevationMoa, elevationMil, windageMoa, windageMil, ammunition, notes,
  isDirty AS isPending, syncStatus = 'failed' AS isFailed,
  (SELECT errorMessage FROM OfflineSyncQueue
   WHERE status = 'failed' AND entityType = 'DopeEntry' AND entityId = dopeEntryId) AS error
FROM dopeEntries
WHERE sessionId = :sessionId
ORDER BY distance, dopeEntryId;

-- name: chronoSessionsOfSession :many
-- The strings over a chronograph of a session, including unsent ones. The number of shots and the mean, in feet per
-- second, leave out excluded shots. `isPending`: the string or one of its readings has unsent changes.
-- no-scan
-- param sessionId: Int64
-- result ammunition: String?
-- result lot: String?
-- result shots: Int64
-- result mean: Double?
-- result isPending: Bool
-- result isFailed: Bool
-- result error: String?
SELECT
  chrono.chronoSessionId AS chronoSessionId, chrono.uuid AS uuid, chrono.chronographModel AS chronographModel,
  ammunition.name AS ammunition, lot.lotNumber AS lot,
  (SELECT count(*) FROM OfflineVelocityReading AS r
   WHERE r.chronoSessionId = chrono.chronoSessionId AND r.isDeleted = 0 AND r.isExcluded = 0) AS shots,
  (SELECT avg(r.velocity) FROM OfflineVelocityReading AS r
   WHERE r.chronoSessionId = chrono.chronoSessionId AND r.isDeleted = 0 AND r.isExcluded = 0) AS mean,
  chrono.isDirty = 1 OR EXISTS (SELECT 1 FROM OfflineVelocityReading AS r
    WHERE r.chronoSessionId = chrono.chronoSessionId AND r.isDirty = 1) AS isPending,
  chrono.syncStatus = 'failed' OR EXISTS (SELECT 1 FROM OfflineVelocityReading AS r
    WHERE r.chronoSessionId = chrono.chronoSessionId AND r.isDirty = 1 AND r.syncStatus = 'failed') AS isFailed,
  (SELECT errorMessage FROM OfflineSyncQueue
   WHERE status = 'failed' AND entityType = 'ChronoSession' AND entityId = chrono.chronoSessionId) AS error,
  chrono.notes AS notes
FROM OfflineChronoSession AS chrono
LEFT JOIN OfflineAmmunition AS ammunition ON ammunition.ammunitionId = chrono.ammunitionId
LEFT JOIN OfflineAmmoLot AS lot ON lot.ammoLotId = chrono.ammoLotId
WHERE chrono.sessionId = :sessionId AND chrono.isDeleted = 0
ORDER BY chrono.createdAt, chrono.chronoSessionId;

-- name: velocityReadings :many
-- The shots of a string in their order.
-- no-scan
SELECT * FROM OfflineVelocityReading
WHERE chronoSessionId = :chronoSessionId AND isDeleted = 0
ORDER BY shotNumber, velocityReadingId;

-- name: groupsOfSession :many
-- The groups of a session, including unsent ones. `isPending`: the group, its measurement, a hole or a picture has
-- unsent changes.
-- no-scan
-- param sessionId: Int64
-- result ammunition: String?
-- result holes: Int64
-- result images: Int64
-- result isPending: Bool
-- result isFailed: Bool
-- result error: String?
WITH waiting AS (
  SELECT measured.groupEntryId, measured.syncStatus FROM OfflineGroupMeasurement AS measured
  JOIN OfflineGroupEntry AS shot ON shot.groupEntryId = measured.groupEntryId
  WHERE shot.sessionId = :sessionId AND measured.isDirty = 1
  UNION ALL
  SELECT measured.groupEntryId, hole.syncStatus FROM OfflineHolePosition AS hole
  JOIN OfflineGroupMeasurement AS measured ON measured.groupMeasurementId = hole.groupMeasurementId
  JOIN OfflineGroupEntry AS shot ON shot.groupEntryId = measured.groupEntryId
  WHERE shot.sessionId = :sessionId AND hole.isDirty = 1
  UNION ALL
  SELECT image.groupEntryId, image.syncStatus FROM OfflineGroupImage AS image
  JOIN OfflineGroupEntry AS shot ON shot.groupEntryId = image.groupEntryId
  WHERE shot.sessionId = :sessionId AND image.isDirty = 1)
SELECT
  shot.groupEntryId AS groupEntryId, shot.uuid AS uuid, shot.groupNumber AS groupNumber, shot.distance AS distance,
  shot.numberOfShots AS numberOfShots, shot.groupSizeMoa AS groupSizeMoa, shot.meanRadiusMoa AS meanRadiusMoa,
  ammunition.name AS ammunition,
  (SELECT count(*) FROM OfflineHolePosition AS h
   JOIN OfflineGroupMeasurement AS m ON m.groupMeasurementId = h.groupMeasurementId
   WHERE m.groupEntryId = shot.groupEntryId AND h.isDeleted = 0) AS holes,
  (SELECT count(*) FROM OfflineGroupImage AS i WHERE i.groupEntryId = shot.groupEntryId AND i.isDeleted = 0) AS images,
  shot.isDirty = 1 OR shot.groupEntryId IN (SELECT groupEntryId FROM waiting) AS isPending,
  shot.syncStatus = 'failed'
    OR shot.groupEntryId IN (SELECT groupEntryId FROM waiting WHERE syncStatus = 'failed') AS isFailed,
  (SELECT errorMessage FROM OfflineSyncQueue
   WHERE status = 'failed' AND entityType = 'GroupEntry' AND entityId = shot.groupEntryId) AS error,
  shot.notes AS notes
FROM OfflineGroupEntry AS shot
LEFT JOIN OfflineAmmunition AS ammunition ON ammunition.ammunitionId = shot.ammunitionId
WHERE shot.sessionId = :sessionId AND shot.isDeleted = 0
ORDER BY shot.groupNumber, shot.groupEntryId;

-- name: holePositions :many
-- The holes of a measurement.
-- no-scan
SELECT * FROM OfflineHolePosition
WHERE groupMeasurementId = :groupMeasurementId AND isDeleted = 0
ORDER BY holePositionId;

-- name: nextGroupNumber :one
-- The number of the next group of a session.
-- no-scan
-- result number: Int64
SELECT ifnull(max(groupNumber), 0) + 1 AS number FROM OfflineGroupEntry WHERE sessionId = :sessionId AND isDeleted = 0;

-- name: nextShotNumber :one
-- The number of the next shot of a string.
-- no-scan
-- result number: Int64
SELECT ifnull(max(shotNumber), 0) + 1 AS number
FROM OfflineVelocityReading WHERE chronoSessionId = :chronoSessionId AND isDeleted = 0;

-- name: dopeCard :many
-- The last hold of a rifle at each distance: the card for the stock.
-- no-scan
-- param rifleSetupId: Int64
-- result sessionDate: Date
-- result elevationMoa: Double?
-- result elevationMil: Double?
-- result windageMoa: Double?
-- result windageMil: Double?
-- result ammunition: String?
SELECT
  distance, max(sessionDate) AS sessionDate, elevationMoa, elevationMil, windageMoa, windageMil, ammunition,
  isDirty AS isPending
FROM dopeEntries
WHERE rifleSetupId = :rifleSetupId
GROUP BY distance
ORDER BY distance;
