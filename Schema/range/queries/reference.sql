-- name: rifleSetups :many
-- The rifles by name. `lastSyncedAt` of each is the time of the server's last response about it.
SELECT * FROM OfflineRifleSetup WHERE isDeleted = 0 ORDER BY name COLLATE NOCASE, rifleSetupId;

-- name: ammunitions :many
-- The ammunition by name.
SELECT * FROM OfflineAmmunition WHERE isDeleted = 0
ORDER BY manufacturer COLLATE NOCASE, name COLLATE NOCASE, ammunitionId;

-- name: ammoLots :many
-- The lots of an ammunition, the last bought first.
-- no-scan
SELECT * FROM OfflineAmmoLot WHERE ammunitionId = :ammunitionId AND isDeleted = 0
ORDER BY purchaseDate DESC, lotNumber COLLATE NOCASE, ammoLotId;

-- name: savedLocations :many
-- The places by name.
SELECT * FROM OfflineSavedLocation WHERE isDeleted = 0 ORDER BY name COLLATE NOCASE, locationId;

-- name: analyticsSummary :one
-- The numbers of the dashboard that came last.
SELECT * FROM OfflineAnalyticsSummary WHERE isDeleted = 0
ORDER BY lastSyncedAt DESC, updatedAt DESC, analyticsSummaryId DESC LIMIT 1;
