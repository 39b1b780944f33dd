-- A photo's content: an encrypted file, and the key that opens it, which travels inside the record.

ALTER TABLE OfflinePhoto ADD COLUMN
  contentUuid TEXT -- names the encrypted file; photos of the same content share it
  CHECK (contentUuid GLOB '????????-????-????-????-????????????' AND ifnull(length(unhex(contentUuid, '-')) = 16, contentUuid IS NULL)
    AND contentUuid = lower(contentUuid));
ALTER TABLE OfflinePhoto ADD COLUMN
  contentKey BLOB -- 32 bytes that open the file
  CHECK (length(contentKey) = 32);
ALTER TABLE OfflinePhoto ADD COLUMN
  contentDigest TEXT -- SHA-256 of the content, not encrypted, in hexadecimal digits
  CHECK (length(contentDigest) = 64 AND contentDigest NOT GLOB '*[^0-9a-f]*');
ALTER TABLE OfflinePhoto ADD COLUMN
  thumbnailDigest TEXT -- SHA-256 of its thumbnail; NULL without one
  CHECK (length(thumbnailDigest) = 64 AND thumbnailDigest NOT GLOB '*[^0-9a-f]*');

-- The photos with the state of their files.
CREATE VIEW photos AS
SELECT
  project.title AS project, room.title AS room, photo.fileName, photo.mimeType, photo.fileSize, photo.width, photo.height,
  photo.capturedAt, content.full, content.thumbnail, photo.uploadStatus, photo.syncStatus, photo.uuid
FROM OfflinePhoto AS photo
JOIN OfflineProject AS project ON project.projectId = photo.projectId
LEFT JOIN OfflineRoom AS room ON room.roomId = photo.roomId
LEFT JOIN AttachmentContent AS content ON content.contentUuid = photo.contentUuid
WHERE photo.isDeleted = 0
ORDER BY photo.capturedAt;
