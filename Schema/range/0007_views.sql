-- Views for the shell. Deleted records are left out, unless they wait for the server.

-- The unsent changes of sessions and their records, including deletions. The comparison of syncStatus is always true.
-- It makes SQLite read the index of dirty records instead of the table.
CREATE VIEW pendingRangeRecords AS
SELECT sessionId, 'Session' AS entity, sessionId AS entityId, uuid, syncStatus, updatedAt
FROM OfflineSession WHERE isDirty = 1 AND syncStatus > ''
UNION ALL
SELECT sessionId, 'DopeEntry', dopeEntryId, uuid, syncStatus, updatedAt
FROM OfflineDopeEntry WHERE isDirty = 1 AND syncStatus > ''
UNION ALL
SELECT sessionId, 'ChronoSession', chronoSessionId, uuid, syncStatus, updatedAt
FROM OfflineChronoSession WHERE isDirty = 1 AND syncStatus > ''
UNION ALL
SELECT chrono.sessionId, 'VelocityReading', reading.velocityReadingId, reading.uuid, reading.syncStatus, reading.updatedAt
FROM OfflineVelocityReading AS reading
JOIN OfflineChronoSession AS chrono ON chrono.chronoSessionId = reading.chronoSessionId
WHERE reading.isDirty = 1 AND reading.syncStatus > ''
UNION ALL
SELECT sessionId, 'GroupEntry', groupEntryId, uuid, syncStatus, updatedAt
FROM OfflineGroupEntry WHERE isDirty = 1 AND syncStatus > ''
UNION ALL
SELECT shot.sessionId, 'GroupMeasurement', measured.groupMeasurementId, measured.uuid, measured.syncStatus, measured.updatedAt
FROM OfflineGroupMeasurement AS measured
JOIN OfflineGroupEntry AS shot ON shot.groupEntryId = measured.groupEntryId
WHERE measured.isDirty = 1 AND measured.syncStatus > ''
UNION ALL
SELECT shot.sessionId, 'HolePosition', hole.holePositionId, hole.uuid, hole.syncStatus, hole.updatedAt
FROM OfflineHolePosition AS hole
JOIN OfflineGroupMeasurement AS measured ON measured.groupMeasurementId = hole.groupMeasurementId
JOIN OfflineGroupEntry AS shot ON shot.groupEntryId = measured.groupEntryId
WHERE hole.isDirty = 1 AND hole.syncStatus > ''
UNION ALL
SELECT shot.sessionId, 'GroupImage', image.groupImageId, image.uuid, image.syncStatus, image.updatedAt
FROM OfflineGroupImage AS image
JOIN OfflineGroupEntry AS shot ON shot.groupEntryId = image.groupEntryId
WHERE image.isDirty = 1 AND image.syncStatus > '';

-- The sessions, including those that the server does not have yet.
CREATE VIEW sessions AS
SELECT
  session.sessionDate, rifle.name AS rifle, location.name AS location, session.temperature, session.humidity,
  session.pressure, session.windSpeed, session.windDirection,
  (SELECT count(*) FROM OfflineDopeEntry AS d WHERE d.sessionId = session.sessionId AND d.isDeleted = 0) AS dopeEntries,
  (SELECT count(*) FROM OfflineChronoSession AS c WHERE c.sessionId = session.sessionId AND c.isDeleted = 0) AS chronoSessions,
  (SELECT count(*) FROM OfflineGroupEntry AS g WHERE g.sessionId = session.sessionId AND g.isDeleted = 0) AS groupEntries,
  (SELECT count(*) FROM pendingRangeRecords AS p WHERE p.sessionId = session.sessionId) AS pending,
  session.syncStatus, session.lastSyncedAt, session.notes, session.uuid
FROM OfflineSession AS session
JOIN OfflineRifleSetup AS rifle ON rifle.rifleSetupId = session.rifleSetupId
LEFT JOIN OfflineSavedLocation AS location ON location.locationId = session.locationId
WHERE session.isDeleted = 0
ORDER BY session.sessionDate DESC;

-- The holds in both units. 10,800 minutes of angle and 1,000 pi milliradians are half a turn.
CREATE VIEW dopeEntries AS
SELECT
  session.sessionDate, rifle.name AS rifle, ammunition.name AS ammunition, dope.distance,
  CASE WHEN ifnull(dope.elevationMoa, 0) = 0 AND dope.elevationMil <> 0 THEN dope.elevationMil * 10.8 / pi()
    ELSE dope.elevationMoa END AS elevationMoa,
  CASE WHEN ifnull(dope.elevationMil, 0) = 0 AND dope.elevationMoa <> 0 THEN dope.elevationMoa * pi() / 10.8
    ELSE dope.elevationMil END AS elevationMil,
  CASE WHEN ifnull(dope.windageMoa, 0) = 0 AND dope.windageMil <> 0 THEN dope.windageMil * 10.8 / pi()
    ELSE dope.windageMoa END AS windageMoa,
  CASE WHEN ifnull(dope.windageMil, 0) = 0 AND dope.windageMoa <> 0 THEN dope.windageMoa * pi() / 10.8
    ELSE dope.windageMil END AS windageMil,
  dope.notes, session.rifleSetupId, session.sessionId, dope.ammunitionId, dope.dopeEntryId, dope.isDirty,
  dope.syncStatus, dope.uuid
FROM OfflineDopeEntry AS dope
JOIN OfflineSession AS session ON session.sessionId = dope.sessionId
JOIN OfflineRifleSetup AS rifle ON rifle.rifleSetupId = session.rifleSetupId
LEFT JOIN OfflineAmmunition AS ammunition ON ammunition.ammunitionId = dope.ammunitionId
WHERE dope.isDeleted = 0 AND session.isDeleted = 0;

-- The strings over a chronograph with their statistics, in feet per second, without excluded shots. The standard
-- deviation is that of a sample (n - 1), as in NIST/SEMATECH, e-Handbook of Statistical Methods, 1.3.5.6.
CREATE VIEW chronoStrings AS
WITH counted AS (
  SELECT chronoSessionId, velocity, avg(velocity) OVER (PARTITION BY chronoSessionId) AS mean
  FROM OfflineVelocityReading WHERE isDeleted = 0 AND isExcluded = 0),
statistic AS (
  SELECT
    chronoSessionId, count(*) AS shots, min(mean) AS mean, min(velocity) AS slowest, max(velocity) AS fastest,
    max(velocity) - min(velocity) AS extremeSpread,
    CASE WHEN count(*) > 1 THEN sqrt(sum((velocity - mean) * (velocity - mean)) / (count(*) - 1)) END AS standardDeviation
  FROM counted GROUP BY chronoSessionId)
SELECT
  session.sessionDate, rifle.name AS rifle, ammunition.name AS ammunition, lot.lotNumber AS lot,
  ifnull(statistic.shots, 0) AS shots, statistic.mean, statistic.slowest, statistic.fastest, statistic.extremeSpread,
  statistic.standardDeviation, chrono.chronographModel, session.sessionId, chrono.chronoSessionId, chrono.syncStatus,
  chrono.uuid
FROM OfflineChronoSession AS chrono
JOIN OfflineSession AS session ON session.sessionId = chrono.sessionId
JOIN OfflineRifleSetup AS rifle ON rifle.rifleSetupId = session.rifleSetupId
LEFT JOIN OfflineAmmunition AS ammunition ON ammunition.ammunitionId = chrono.ammunitionId
LEFT JOIN OfflineAmmoLot AS lot ON lot.ammoLotId = chrono.ammoLotId
LEFT JOIN statistic ON statistic.chronoSessionId = chrono.chronoSessionId
WHERE chrono.isDeleted = 0 AND session.isDeleted = 0;

-- The groups with their measurements, in inches.
CREATE VIEW shotGroups AS
SELECT
  session.sessionDate, rifle.name AS rifle, ammunition.name AS ammunition, shot.groupNumber, shot.distance,
  shot.numberOfShots, shot.groupSizeMoa, shot.meanRadiusMoa, measured.extremeSpread, measured.horizontalSpread,
  measured.verticalSpread, measured.meanRadius, measured.cep50, measured.poiOffsetX, measured.poiOffsetY,
  (SELECT count(*) FROM OfflineHolePosition AS h
   WHERE h.groupMeasurementId = measured.groupMeasurementId AND h.isDeleted = 0) AS holes,
  (SELECT count(*) FROM OfflineGroupImage AS i WHERE i.groupEntryId = shot.groupEntryId AND i.isDeleted = 0) AS images,
  session.sessionId, shot.groupEntryId, shot.syncStatus, shot.uuid
FROM OfflineGroupEntry AS shot
JOIN OfflineSession AS session ON session.sessionId = shot.sessionId
JOIN OfflineRifleSetup AS rifle ON rifle.rifleSetupId = session.rifleSetupId
LEFT JOIN OfflineAmmunition AS ammunition ON ammunition.ammunitionId = shot.ammunitionId
LEFT JOIN OfflineGroupMeasurement AS measured
  ON measured.groupEntryId = shot.groupEntryId AND measured.isDeleted = 0
WHERE shot.isDeleted = 0 AND session.isDeleted = 0;
