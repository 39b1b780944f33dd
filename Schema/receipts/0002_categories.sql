-- Categories of receipts. The ten default categories are seed rows: they have fixed UUIDs, so that they are the same
-- records on every device and on the server, and a fixed time, so that every edit is later.

-- A category.
CREATE TABLE OfflineCategory (
  categoryId INTEGER PRIMARY KEY,
  serverId INTEGER, -- the server's id; NULL until synced
  uuid TEXT NOT NULL UNIQUE
    DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
      CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
      random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  name TEXT NOT NULL CHECK (length(trim(name)) > 0),
  icon TEXT, -- the name of a symbol
  isDefault INTEGER NOT NULL DEFAULT 0 CHECK (isDefault IN (0, 1)), -- one of the ten that everybody begins with
  sortOrder INTEGER NOT NULL DEFAULT 0, -- the place in the list
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

CREATE INDEX OfflineCategory_serverId ON OfflineCategory (serverId) WHERE serverId IS NOT NULL;
CREATE INDEX OfflineCategory_dirty ON OfflineCategory (syncStatus) WHERE isDirty = 1;
CREATE INDEX OfflineCategory_order ON OfflineCategory (sortOrder, name);

INSERT INTO OfflineCategory (uuid, name, icon, isDefault, sortOrder, isDirty, createdAt, updatedAt) VALUES
  ('01900000-0000-7000-8000-000000000001', 'Electronics', 'laptop', 1, 1, 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'),
  ('01900000-0000-7000-8000-000000000002', 'Appliances', 'washer', 1, 2, 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'),
  ('01900000-0000-7000-8000-000000000003', 'Furniture', 'chair', 1, 3, 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'),
  ('01900000-0000-7000-8000-000000000004', 'Clothing', 'shirt', 1, 4, 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'),
  ('01900000-0000-7000-8000-000000000005', 'Groceries', 'basket', 1, 5, 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'),
  ('01900000-0000-7000-8000-000000000006', 'Health', 'heart', 1, 6, 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'),
  ('01900000-0000-7000-8000-000000000007', 'Tools and garden', 'hammer', 1, 7, 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'),
  ('01900000-0000-7000-8000-000000000008', 'Vehicle', 'car', 1, 8, 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'),
  ('01900000-0000-7000-8000-000000000009', 'Travel', 'suitcase', 1, 9, 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'),
  ('01900000-0000-7000-8000-00000000000a', 'Other', 'tag', 1, 10, 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
