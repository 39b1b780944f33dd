-- name: warrantiesExpiring :many
-- The warranties that end within some days from a day on, both days included, without returned purchases.
-- no-scan
-- param today: CalendarDay
-- param days: Int64
SELECT * FROM OfflineReceipt
WHERE warrantyExpiryDate >= :today AND warrantyExpiryDate <= date(:today, :days || ' days')
  AND isDeleted = 0 AND status = 'active'
ORDER BY warrantyExpiryDate, receiptId;

-- name: warrantiesExpired :many
-- The warranties that ended before a day, the last end first, without returned purchases.
-- no-scan
-- param today: CalendarDay
SELECT * FROM OfflineReceipt
WHERE warrantyExpiryDate < :today AND isDeleted = 0 AND status = 'active'
ORDER BY warrantyExpiryDate DESC, receiptId;

-- name: reminders :many
-- The reminders of warranties: for each number of days before the end, the date if it is not past, the next first.
-- no-scan
-- param today: CalendarDay
-- param daysBefore: JSONText
-- result daysBefore: Int64
-- result expiryDate: CalendarDay
-- result date: CalendarDay
SELECT
  receipt.uuid AS uuid, receipt.storeName AS storeName, receipt.warrantyExpiryDate AS expiryDate, ahead.value AS daysBefore,
  date(receipt.warrantyExpiryDate, -ahead.value || ' days') AS date
FROM OfflineReceipt AS receipt
JOIN json_each(:daysBefore) AS ahead
WHERE receipt.warrantyExpiryDate >= :today AND receipt.isDeleted = 0 AND receipt.status = 'active'
  AND date(receipt.warrantyExpiryDate, -ahead.value || ' days') >= :today
ORDER BY date, expiryDate, receipt.receiptId, daysBefore
LIMIT :limit;

-- name: receiptsInCategory :many
-- The receipts of a category, the newest first.
-- no-scan
SELECT * FROM OfflineReceipt
WHERE category = :category AND isDeleted = 0
ORDER BY purchaseDate DESC, receiptId DESC;

-- name: favoriteReceipts :many
-- The favourites, the newest first.
-- no-scan
SELECT * FROM OfflineReceipt
WHERE isFavorite = 1 AND isDeleted = 0
ORDER BY purchaseDate DESC, receiptId DESC;

-- name: pendingReceipts :many
-- The receipts with unsent changes, the oldest first.
-- no-scan
SELECT * FROM OfflineReceipt
WHERE isDirty = 1 AND isDeleted = 0
ORDER BY updatedAt, receiptId;

-- name: categoriesInOrder :many
-- The categories in the order of the list.
SELECT * FROM OfflineCategory
WHERE isDeleted = 0
ORDER BY sortOrder, name;
