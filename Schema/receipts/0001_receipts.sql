-- Receipts with their warranties.

-- A receipt.
CREATE TABLE OfflineReceipt (
  receiptId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  userId TEXT, -- the id of the signed-in user; NULL without a sign-in
  storeName TEXT, -- the shop, as it was read from the receipt or as the user calls it
  purchaseDate TEXT CHECK (purchaseDate IS date(purchaseDate)),
  totalAmount REAL, -- the paid amount in `currency`; negative for a refund
  currency TEXT CHECK (currency GLOB '[A-Z][A-Z][A-Z]'), -- ISO 4217, such as EUR
  category TEXT, -- the name of a category; not a reference, so that a name that was read can be stored before its category exists
  warrantyMonths INTEGER CHECK (warrantyMonths BETWEEN 0 AND 1200), -- NULL: no warranty
  -- The day on which the warranty ends, from `purchaseDate` and `warrantyMonths`. If the last month is too short, it is
  -- the last day of that month: 31 January plus one month is the last day of February.
  warrantyExpiryDate TEXT CHECK (warrantyExpiryDate IS date(warrantyExpiryDate)),
  ocrRawText TEXT, -- all text that was recognised in the image
  extractedMerchantName TEXT, -- the shop, as a model has read it from the text
  extractedDate TEXT, -- the day, as a model has read it
  extractedTotal TEXT, -- the total, as a model has read it
  llmConfidence REAL CHECK (llmConfidence BETWEEN 0 AND 1), -- how sure the model is, 0 to 1
  userNotes TEXT,
  userTags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(userTags)), -- a JSON array of texts
  isFavorite INTEGER NOT NULL DEFAULT 0 CHECK (isFavorite IN (0, 1)),
  -- The names of the fields that the user has edited, a JSON array: `storeName`, `category`, `warrantyMonths`.
  -- Maintained automatically.
  userEditedFields TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(userEditedFields)),
  -- `isDeleted` marks a deleted receipt. `deleted` is a status that a server may send.
  status TEXT NOT NULL DEFAULT 'active' CHECK (status = 'active' OR status = 'returned' OR status = 'deleted'),
  imageKeys TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(imageKeys)), -- a JSON array of the object keys of uploaded images
  localImagePaths TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(localImagePaths)), -- a JSON array; stays on the device
  -- The time of the deletion. Maintained automatically: NULL while `isDeleted` is false.
  deletedAt TEXT CHECK (deletedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', deletedAt)),
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

CREATE INDEX OfflineReceipt_serverId ON OfflineReceipt (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineReceipt_dirty ON OfflineReceipt (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineReceipt_purchased ON OfflineReceipt (purchaseDate);
CREATE INDEX OfflineReceipt_warranty ON OfflineReceipt (warrantyExpiryDate) WHERE warrantyExpiryDate IS NOT NULL;
CREATE INDEX OfflineReceipt_category ON OfflineReceipt (category, purchaseDate) WHERE category IS NOT NULL;
CREATE INDEX OfflineReceipt_favorite ON OfflineReceipt (purchaseDate) WHERE isFavorite = 1;
