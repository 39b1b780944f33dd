-- Which files the server was found to hold as they are here. Only such a file may make room: that the server has something under
-- the same name does not prove that it has these bytes.

-- SHA-256 of the file that was compared, in hexadecimal digits; NULL while it was not compared.
ALTER TABLE AttachmentContent ADD COLUMN comparedFull TEXT CHECK (length(comparedFull) = 64);
ALTER TABLE AttachmentContent ADD COLUMN comparedThumbnail TEXT CHECK (length(comparedThumbnail) = 64);

-- The files that may be evicted, the least recently used first.
DROP INDEX AttachmentContent_evictableFull;
DROP INDEX AttachmentContent_evictableThumbnail;
CREATE INDEX AttachmentContent_evictableFull ON AttachmentContent (usedAt)
  WHERE full = 'here' AND serverHasFull = 1 AND comparedFull IS NOT NULL;
CREATE INDEX AttachmentContent_evictableThumbnail ON AttachmentContent (usedAt)
  WHERE thumbnail = 'here' AND serverHasThumbnail = 1 AND comparedThumbnail IS NOT NULL;

-- Files that were sent before this was compared are compared with the next sync.
DELETE FROM Setting WHERE name = 'filesConfirmed';
