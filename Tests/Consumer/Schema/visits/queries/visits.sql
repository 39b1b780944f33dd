-- name: visitsOfSite :many
-- The visits to a site, also visits that wait for the server among the others.
-- no-scan
SELECT visitId, uuid, date, finding, depth, isDirty AS isPending, syncStatus FROM OfflineVisit
WHERE siteId = :siteId AND isDeleted = 0 ORDER BY date DESC, visitId DESC;
