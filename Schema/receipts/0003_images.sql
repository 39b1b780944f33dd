-- The images of receipts: encrypted files whose keys travel inside these records.

-- An image of a receipt.
CREATE TABLE OfflineReceiptImage (
  receiptImageId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  receiptId INTEGER NOT NULL REFERENCES OfflineReceipt (receiptId) ON DELETE CASCADE,
  fileName TEXT NOT NULL CHECK (length(trim(fileName)) > 0),
  fileSize INTEGER NOT NULL CHECK (fileSize >= 0), -- bytes
  mimeType TEXT NOT NULL CHECK (mimeType GLOB '?*/?*'),
  width INTEGER CHECK (width > 0), -- pixels
  height INTEGER CHECK (height > 0), -- pixels
  capturedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (capturedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', capturedAt)),
  contentUuid TEXT -- names the encrypted file; images of the same content share it
    CHECK (contentUuid GLOB '????????-????-????-????-????????????' AND ifnull(length(unhex(contentUuid, '-')) = 16, contentUuid IS NULL)
      AND contentUuid = lower(contentUuid)),
  contentKey BLOB CHECK (length(contentKey) = 32), -- 32 bytes that open the file
  contentDigest TEXT -- SHA-256 of the content, not encrypted, in hexadecimal digits
    CHECK (length(contentDigest) = 64 AND contentDigest NOT GLOB '*[^0-9a-f]*'),
  thumbnailDigest TEXT -- SHA-256 of its thumbnail; NULL without one
    CHECK (length(thumbnailDigest) = 64 AND thumbnailDigest NOT GLOB '*[^0-9a-f]*'),
  localPath TEXT NOT NULL DEFAULT '', -- the file within the vault; stays on the device
  uploadStatus TEXT NOT NULL DEFAULT 'pending' CHECK (uploadStatus IN ('pending', 'uploading', 'completed', 'failed')),
  tusUploadId TEXT, -- the address of the upload under way; stays on the device
  createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
  updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
  lastSyncedAt TEXT CHECK (lastSyncedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastSyncedAt)),
  syncStatus TEXT NOT NULL DEFAULT 'pending'
    CHECK (syncStatus = 'pending' OR syncStatus = 'syncing' OR syncStatus = 'synced' OR syncStatus = 'conflict'
      OR syncStatus = 'failed'),
  syncVersion INTEGER NOT NULL DEFAULT 0 CHECK (syncVersion >= 0), -- the server's version that this one is based on
  isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)), -- has changes that the server does not have
  isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))
) STRICT;

CREATE INDEX OfflineReceiptImage_serverId ON OfflineReceiptImage (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineReceiptImage_dirty ON OfflineReceiptImage (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineReceiptImage_receipt ON OfflineReceiptImage (receiptId, isDeleted, updatedAt);
