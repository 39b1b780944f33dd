-- Sealed operations have a key under which the server executes them once.

-- Drawn when the operation is sealed, and again when it is sealed again. The server stores it with the response.
ALTER TABLE OfflineSyncQueue ADD COLUMN idempotencyKey TEXT;

-- Until now the operation id was the key: a server that has the response finds it under the same name.
UPDATE OfflineSyncQueue SET idempotencyKey = operationId
WHERE completedAt IS NULL AND (payload IS NOT NULL OR sendCount > 0);
