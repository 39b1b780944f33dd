-- The contents of photos and files: which of them records reference, which are on this device, and the transfers. All
-- of it concerns this device only. The records have the shared data: contentUuid, contentKey and contentDigest.

-- A content, which any number of records reference by contentUuid. Triggers create it with the first record, and remove
-- it with the last one: without the key in its row, its files cannot be decrypted.
CREATE TABLE AttachmentContent (
  contentUuid TEXT NOT NULL PRIMARY KEY
    CHECK (contentUuid = lower(contentUuid) AND contentUuid GLOB '????????-????-????-????-????????????'
      AND length(unhex(contentUuid, '-')) IS 16),
  contentKey BLOB NOT NULL CHECK (length(contentKey) = 32), -- decrypts the files of this content
  digest TEXT CHECK (length(digest) = 64 AND digest NOT GLOB '*[^0-9a-f]*'), -- SHA-256 of the decrypted content
  byteCount INTEGER CHECK (byteCount >= 0), -- of the decrypted content
  thumbnailDigest TEXT CHECK (length(thumbnailDigest) = 64 AND thumbnailDigest NOT GLOB '*[^0-9a-f]*'), -- NULL without a thumbnail
  note TEXT, -- why it was added without an examination of the picture
  -- evicted: its local file was removed because the server has it, and it is downloaded again on request.
  full TEXT NOT NULL DEFAULT 'absent' CHECK (full IN ('absent', 'here', 'evicted')),
  thumbnail TEXT NOT NULL DEFAULT 'absent' CHECK (thumbnail IN ('absent', 'here', 'evicted')),
  fullBytes INTEGER CHECK (fullBytes >= 0), -- of the encrypted file on this device, or before its eviction
  thumbnailBytes INTEGER CHECK (thumbnailBytes >= 0), -- of the encrypted file on this device, or before its eviction
  serverHasFull INTEGER NOT NULL DEFAULT 0 CHECK (serverHasFull IN (0, 1)), -- was uploaded or downloaded
  serverHasThumbnail INTEGER NOT NULL DEFAULT 0 CHECK (serverHasThumbnail IN (0, 1)), -- was uploaded or downloaded
  addedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (addedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', addedAt)),
  usedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (usedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', usedAt)) -- the last use
) STRICT;

-- A photo that is added twice is one content.
CREATE INDEX AttachmentContent_digest ON AttachmentContent (digest) WHERE full = 'here';
-- The files that may be evicted, the least recently used first.
CREATE INDEX AttachmentContent_evictableFull ON AttachmentContent (usedAt) WHERE full = 'here' AND serverHasFull = 1;
CREATE INDEX AttachmentContent_evictableThumbnail ON AttachmentContent (usedAt) WHERE thumbnail = 'here' AND serverHasThumbnail = 1;
-- The files that may be downloaded.
CREATE INDEX AttachmentContent_absentFull ON AttachmentContent (addedAt) WHERE full = 'absent';
CREATE INDEX AttachmentContent_absentThumbnail ON AttachmentContent (addedAt)
  WHERE thumbnail <> 'here' AND thumbnailDigest IS NOT NULL;

-- A transfer of a file. A completed transfer has no row.
CREATE TABLE AttachmentTransfer (
  transferNumber INTEGER PRIMARY KEY, -- the order in which they were requested
  contentUuid TEXT NOT NULL REFERENCES AttachmentContent (contentUuid) ON DELETE CASCADE,
  variant TEXT NOT NULL CHECK (variant IN ('full', 'thumbnail')),
  direction TEXT NOT NULL CHECK (direction IN ('upload', 'download')),
  -- failed: retried automatically after 1 to 25 hours, or at once by a retry.
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'failed')),
  address TEXT, -- the server's address of the upload
  bytesDone INTEGER NOT NULL DEFAULT 0 CHECK (bytesDone >= 0), -- bytes that the server, or this device, has
  retryCount INTEGER NOT NULL DEFAULT 0 CHECK (retryCount >= 0), -- failed attempts
  absences INTEGER NOT NULL DEFAULT 0 CHECK (absences >= 0), -- how many times the server did not have the file yet
  scheduledAt TEXT CHECK (scheduledAt IS strftime('%Y-%m-%dT%H:%M:%fZ', scheduledAt)), -- the earliest time of the next attempt
  lastAttemptAt TEXT CHECK (lastAttemptAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastAttemptAt)),
  errorMessage TEXT,
  createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
  UNIQUE (contentUuid, variant, direction)
) STRICT;

CREATE INDEX AttachmentTransfer_waiting ON AttachmentTransfer (direction, status, transferNumber);

-- The contents with the state of their files, for users.
CREATE VIEW attachments AS
SELECT
  content.contentUuid AS content,
  content.byteCount AS bytes,
  content.full,
  CASE WHEN content.thumbnailDigest IS NULL THEN 'none' ELSE content.thumbnail END AS thumbnail,
  CASE WHEN content.serverHasFull = 1 THEN 'completed'
    ELSE (SELECT status FROM AttachmentTransfer AS upload
      WHERE upload.contentUuid = content.contentUuid AND upload.variant = 'full' AND upload.direction = 'upload') END AS upload,
  (SELECT status FROM AttachmentTransfer AS download
    WHERE download.contentUuid = content.contentUuid AND download.variant = 'full' AND download.direction = 'download') AS download,
  (SELECT max(retryCount) FROM AttachmentTransfer AS transfer WHERE transfer.contentUuid = content.contentUuid) AS retries,
  (SELECT max(errorMessage) FROM AttachmentTransfer AS transfer WHERE transfer.contentUuid = content.contentUuid) AS error,
  content.addedAt,
  content.usedAt,
  content.note
FROM AttachmentContent AS content
ORDER BY content.addedAt, content.contentUuid;
