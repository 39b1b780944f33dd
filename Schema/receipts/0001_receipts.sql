-- Receipts: what was bought where, and until when it is under warranty.

-- A receipt.
CREATE TABLE OfflineReceipt (
  receiptId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  userId TEXT, -- whose receipt it is, as the sign-in names people; NULL where nobody is signed in
  storeName TEXT, -- the shop, as it was read from the receipt or as the user calls it
  purchaseDate TEXT CHECK (purchaseDate IS date(purchaseDate)),
  totalAmount REAL, -- what was paid, in `currency`; negative for money that was given back
  currency TEXT CHECK (currency GLOB '[A-Z][A-Z][A-Z]'), -- ISO 4217, such as EUR
  category TEXT, -- the name of a category; not a reference, so that one that was read can stand here before it is made
  warrantyMonths INTEGER CHECK (warrantyMonths BETWEEN 0 AND 1200), -- NULL: no warranty
  -- The day on which the warranty ends, which follows from `purchaseDate` and `warrantyMonths`. From the last days of a month
  -- to a shorter one it is the last day of that: 31 January and one month are the last day of February.
  warrantyExpiryDate TEXT CHECK (warrantyExpiryDate IS date(warrantyExpiryDate)),
  ocrRawText TEXT, -- all text that was recognised in the image
  extractedMerchantName TEXT, -- what a model has read from the text: the shop
  extractedDate TEXT, -- the day, as it stands there
  extractedTotal TEXT, -- the total, as it stands there
  llmConfidence REAL CHECK (llmConfidence BETWEEN 0 AND 1), -- how sure the model is, 0 to 1
  userNotes TEXT,
  userTags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(userTags)), -- a JSON array of texts
  isFavorite INTEGER NOT NULL DEFAULT 0 CHECK (isFavorite IN (0, 1)),
  -- The names of the fields that the user has edited, a JSON array: `storeName`, `category`, `warrantyMonths`. Keeps itself.
  userEditedFields TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(userEditedFields)),
  -- `isDeleted` says whether a receipt is deleted; `deleted` stands here where a server says it with the status.
  status TEXT NOT NULL DEFAULT 'active' CHECK (status = 'active' OR status = 'returned' OR status = 'deleted'),
  imageKeys TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(imageKeys)), -- a JSON array of the object keys of uploaded images
  localImagePaths TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(localImagePaths)), -- a JSON array; stays on the device
  -- When it was deleted. Keeps itself: NULL as long as `isDeleted` is false.
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
