-- The contents of photos and files: which ones records refer to, which are here, and what is on its way. All of it
-- concerns this device alone; what others need to know stands in the records, in contentUuid, contentKey and contentDigest.

-- A content, to which any number of records refer by contentUuid. Made by triggers for each record that names one, and
-- removed with the last of them: the key goes with the row, and what is encrypted under it can be read by nobody.
CREATE TABLE AttachmentContent (
  contentUuid TEXT NOT NULL PRIMARY KEY
    CHECK (contentUuid = lower(contentUuid) AND contentUuid GLOB '????????-????-????-????-????????????'
      AND length(unhex(contentUuid, '-')) IS 16),
  contentKey BLOB NOT NULL CHECK (length(contentKey) = 32), -- opens the files of this content
  digest TEXT CHECK (length(digest) = 64 AND digest NOT GLOB '*[^0-9a-f]*'), -- SHA-256 of the content, not encrypted
  byteCount INTEGER CHECK (byteCount >= 0), -- of the content, not encrypted
  thumbnailDigest TEXT CHECK (length(thumbnailDigest) = 64 AND thumbnailDigest NOT GLOB '*[^0-9a-f]*'), -- NULL: it has none
  note TEXT, -- why it was taken in without a look at what it shows
  -- evicted: was here, made room for others, and comes back when it is asked for.
  full TEXT NOT NULL DEFAULT 'absent' CHECK (full IN ('absent', 'here', 'evicted')),
  thumbnail TEXT NOT NULL DEFAULT 'absent' CHECK (thumbnail IN ('absent', 'here', 'evicted')),
  fullBytes INTEGER CHECK (fullBytes >= 0), -- of the encrypted file, while it is here
  thumbnailBytes INTEGER CHECK (thumbnailBytes >= 0), -- of the encrypted file, while it is here
  serverHasFull INTEGER NOT NULL DEFAULT 0 CHECK (serverHasFull IN (0, 1)), -- was sent there, or has come from there
  serverHasThumbnail INTEGER NOT NULL DEFAULT 0 CHECK (serverHasThumbnail IN (0, 1)), -- was sent there, or has come from there
  addedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (addedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', addedAt)),
  usedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (usedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', usedAt)) -- when somebody looked at it last
) STRICT;

-- The same photo taken in twice is one content.
CREATE INDEX AttachmentContent_digest ON AttachmentContent (digest) WHERE full = 'here';
-- What can make room, what was used long ago first.
CREATE INDEX AttachmentContent_evictableFull ON AttachmentContent (usedAt) WHERE full = 'here' AND serverHasFull = 1;
CREATE INDEX AttachmentContent_evictableThumbnail ON AttachmentContent (usedAt) WHERE thumbnail = 'here' AND serverHasThumbnail = 1;
-- What is not here and may be fetched.
CREATE INDEX AttachmentContent_absentFull ON AttachmentContent (addedAt) WHERE full = 'absent';
CREATE INDEX AttachmentContent_absentThumbnail ON AttachmentContent (addedAt)
  WHERE thumbnail <> 'here' AND thumbnailDigest IS NOT NULL;

-- A file on its way to the server or from it. What has arrived has no row.
CREATE TABLE AttachmentTransfer (
  transferNumber INTEGER PRIMARY KEY, -- the order in which they were wanted
  contentUuid TEXT NOT NULL REFERENCES AttachmentContent (contentUuid) ON DELETE CASCADE,
  variant TEXT NOT NULL CHECK (variant IN ('full', 'thumbnail')),
  direction TEXT NOT NULL CHECK (direction IN ('upload', 'download')),
  -- failed: not tried again by itself; waits for a retry.
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'failed')),
  address TEXT, -- where the server takes the upload that has begun
  bytesDone INTEGER NOT NULL DEFAULT 0 CHECK (bytesDone >= 0), -- that the server, or this device, is known to have
  retryCount INTEGER NOT NULL DEFAULT 0 CHECK (retryCount >= 0), -- attempts that failed
  absences INTEGER NOT NULL DEFAULT 0 CHECK (absences >= 0), -- how often the server did not have it yet
  scheduledAt TEXT CHECK (scheduledAt IS strftime('%Y-%m-%dT%H:%M:%fZ', scheduledAt)), -- not to be tried before
  lastAttemptAt TEXT CHECK (lastAttemptAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastAttemptAt)),
  errorMessage TEXT,
  createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
  UNIQUE (contentUuid, variant, direction)
) STRICT;

CREATE INDEX AttachmentTransfer_waiting ON AttachmentTransfer (direction, status, transferNumber);

-- The contents and where they stand, for people.
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
