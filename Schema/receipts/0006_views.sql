-- Views for the shell. Deleted records are left out.

-- The receipts, the newest first.
CREATE VIEW receipts AS
SELECT
  receipt.storeName, receipt.purchaseDate, receipt.totalAmount, receipt.currency, receipt.category, receipt.status,
  receipt.warrantyMonths, receipt.warrantyExpiryDate,
  (SELECT group_concat(tag.value, ', ') FROM json_each(receipt.userTags) AS tag) AS tags,
  receipt.isFavorite,
  (SELECT count(*) FROM OfflineReceiptImage AS i WHERE i.receiptId = receipt.receiptId AND i.isDeleted = 0) AS images,
  receipt.syncStatus, receipt.uuid
FROM OfflineReceipt AS receipt
WHERE receipt.isDeleted = 0
ORDER BY receipt.purchaseDate DESC, receipt.receiptId DESC;

-- The warranties of receipts without a return, the next end first; `daysLeft` from today in UTC, negative after the
-- end.
CREATE VIEW warranties AS
SELECT
  receipt.storeName, receipt.purchaseDate, receipt.warrantyMonths, receipt.warrantyExpiryDate,
  CAST(julianday(receipt.warrantyExpiryDate) - julianday('now', 'start of day') AS INTEGER) AS daysLeft, receipt.uuid
FROM OfflineReceipt AS receipt
WHERE receipt.isDeleted = 0 AND receipt.status = 'active' AND receipt.warrantyExpiryDate IS NOT NULL
ORDER BY receipt.warrantyExpiryDate, receipt.receiptId;

-- The categories in their order, with the number of their receipts.
CREATE VIEW categories AS
SELECT
  category.name, category.icon, category.isDefault, category.sortOrder,
  (SELECT count(*) FROM OfflineReceipt AS r WHERE r.category = category.name AND r.isDeleted = 0) AS receipts,
  category.syncStatus, category.uuid
FROM OfflineCategory AS category
WHERE category.isDeleted = 0
ORDER BY category.sortOrder, category.name;

-- The images with the state of their files.
CREATE VIEW receiptImages AS
SELECT
  receipt.storeName, receipt.purchaseDate, image.fileName, image.mimeType, image.fileSize, image.width, image.height,
  image.capturedAt, content.full, content.thumbnail, image.uploadStatus, image.syncStatus, image.uuid
FROM OfflineReceiptImage AS image
JOIN OfflineReceipt AS receipt ON receipt.receiptId = image.receiptId
LEFT JOIN AttachmentContent AS content ON content.contentUuid = image.contentUuid
WHERE image.isDeleted = 0
ORDER BY image.capturedAt;
