-- What is synced, how urgent it is, and whose value counts.

INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority, conflictPolicy, description) VALUES
  ('Receipt', 'OfflineReceipt', 'receipts', 2, 'merge', 'receipts and warranties'),
  ('Category', 'OfflineCategory', 'receipts', 2, 'last_write_wins', 'what receipts are sorted by'),
  ('ReceiptImage', 'OfflineReceiptImage', 'receipts', 3, 'last_write_wins', 'images of receipts');

-- What a machine at the server reads from a receipt is the server's, what a user says about it is the user's, and what is
-- read at first and corrected then is the user's from the correction on. Fields that nobody owns (day, total, currency,
-- status) are for a person to decide when two sides changed them.
INSERT INTO SyncedColumn (entityType, columnName, ownership, mergesAsSet) VALUES
  ('Receipt', 'extractedMerchantName', 'server', 0),
  ('Receipt', 'extractedDate', 'server', 0),
  ('Receipt', 'extractedTotal', 'server', 0),
  ('Receipt', 'ocrRawText', 'server', 0),
  ('Receipt', 'llmConfidence', 'server', 0),
  ('Receipt', 'userNotes', 'user', 0),
  ('Receipt', 'userTags', 'user', 1),
  ('Receipt', 'isFavorite', 'user', 0),
  ('Receipt', 'storeName', 'user_edited', 0),
  ('Receipt', 'category', 'user_edited', 0),
  ('Receipt', 'warrantyMonths', 'user_edited', 0),
  ('Receipt', 'imageKeys', NULL, 1),
  ('Receipt', 'userEditedFields', NULL, 1);

-- Where a file stands on this device, and how far its upload has come, concerns nobody else.
INSERT INTO SyncedColumn (entityType, columnName, isLocalOnly) VALUES
  ('Receipt', 'localImagePaths', 1),
  ('ReceiptImage', 'localPath', 1),
  ('ReceiptImage', 'uploadStatus', 1),
  ('ReceiptImage', 'tusUploadId', 1);

-- SQLite takes 31 January and one month for the 31st day from the first of February. Where the day of the month is another
-- one afterwards, the month had too few, and the end of it is meant. `ReceiptsModel/Warranty.swift` says the same in Swift.
INSERT INTO SyncedColumn (entityType, columnName, computedAs, isAlwaysComputed) VALUES
  ('Receipt', 'warrantyExpiryDate', 'CASE substr(date(purchaseDate, warrantyMonths || '' months''), 9)
    WHEN substr(purchaseDate, 9) THEN date(purchaseDate, warrantyMonths || '' months'')
    ELSE date(purchaseDate, warrantyMonths || '' months'', ''start of month'', ''-1 day'') END', 1),
  ('Receipt', 'deletedAt',
    'CASE isDeleted WHEN 1 THEN coalesce(deletedAt, strftime(''%Y-%m-%dT%H:%M:%fZ'', ''now'')) END', 1);
