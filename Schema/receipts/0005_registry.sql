-- The synced entities, their priorities, and the owners of their fields.

INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority, conflictPolicy, description) VALUES
  ('Receipt', 'OfflineReceipt', 'receipts', 2, 'merge', 'receipts and warranties'),
  ('Category', 'OfflineCategory', 'receipts', 2, 'last_write_wins', 'what receipts are sorted by'),
  ('ReceiptImage', 'OfflineReceiptImage', 'receipts', 3, 'last_write_wins', 'images of receipts');

-- Fields that a program at the server reads from a receipt belong to the server, fields of the user to the user, and
-- fields that are read first and may be corrected belong to the user after the correction. Fields without an owner
-- (day, total, currency, status) are decided by the user when two sides changed them.
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

-- The state of a file on this device, and of its upload, is not shared.
INSERT INTO SyncedColumn (entityType, columnName, isLocalOnly) VALUES
  ('Receipt', 'localImagePaths', 1),
  ('ReceiptImage', 'localPath', 1),
  ('ReceiptImage', 'uploadStatus', 1),
  ('ReceiptImage', 'tusUploadId', 1);

-- For SQLite, 31 January plus one month is the 31st day from the first of February. If the day of the month differs
-- afterwards, the month was too short, and its last day is used. `ReceiptsModel/Warranty.swift` has the same rule in
-- Swift.
INSERT INTO SyncedColumn (entityType, columnName, computedAs, isAlwaysComputed) VALUES
  ('Receipt', 'warrantyExpiryDate', 'CASE substr(date(purchaseDate, warrantyMonths || '' months''), 9)
    WHEN substr(purchaseDate, 9) THEN date(purchaseDate, warrantyMonths || '' months'')
    ELSE date(purchaseDate, warrantyMonths || '' months'', ''start of month'', ''-1 day'') END', 1),
  ('Receipt', 'deletedAt',
    'CASE isDeleted WHEN 1 THEN coalesce(deletedAt, strftime(''%Y-%m-%dT%H:%M:%fZ'', ''now'')) END', 1);
