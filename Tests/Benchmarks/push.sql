-- A push of 25 new readings, as a node sends it to PostgreSQL: every statement of its transaction, without the notification
-- that follows. pgbench runs it with a connection for each of 16 accounts, whose ids end with the number of the client.
BEGIN;
SELECT last_sequence AS sequence, horizon, forgotten_version, epochs, epoch_start, schema_set, incarnation
FROM fieldvault.account
WHERE account_id = ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid FOR NO KEY UPDATE \gset
SELECT number, kind, entity_type, entity_uuid, reference, after, time FROM fieldvault.job
WHERE account_id = ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid ORDER BY number;
SELECT wanted.idempotency_key, found.result, found.digest
FROM unnest(ARRAY(
  SELECT '01900000-0000-7000-8000-' || lpad(to_hex(:sequence + n), 12, '0') FROM generate_series(1, 25) AS n))
  AS wanted (idempotency_key)
CROSS JOIN LATERAL (
  SELECT result, digest FROM fieldvault.response AS response
  WHERE response.account_id = ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid
    AND response.idempotency_key = wanted.idempotency_key
  LIMIT 1) AS found;
SELECT found.* FROM unnest(ARRAY(
  SELECT '01900000-0000-7000-8000-' || lpad(to_hex(:sequence + n), 12, '0') FROM generate_series(1, 27) AS n))
  AS wanted (entity_uuid)
CROSS JOIN LATERAL (
  SELECT * FROM fieldvault.record AS record
  WHERE record.account_id = ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid
    AND record.entity_type = 'AtmosphericLog' AND record.entity_uuid = wanted.entity_uuid
  LIMIT 1) AS found;
SELECT wanted.entity_uuid FROM unnest(ARRAY(
  SELECT '01900000-0000-7000-8000-' || lpad(to_hex(:sequence + n), 12, '0') FROM generate_series(1, 25) AS n))
  AS wanted (entity_uuid)
CROSS JOIN LATERAL (
  SELECT FROM fieldvault.tombstone AS tombstone
  WHERE tombstone.account_id = ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid
    AND tombstone.entity_type = 'AtmosphericLog' AND tombstone.entity_uuid = wanted.entity_uuid
  LIMIT 1) AS found;
SELECT counter, digest FROM fieldvault.device
WHERE account_id = ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid AND device_id = 'tablet';
SELECT entity_type, last_id FROM fieldvault.counter
WHERE account_id = ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid;
SELECT wanted.bucket, found.count, found.digest
FROM unnest(ARRAY(SELECT lpad(to_hex((:sequence + n * 10) % 256), 2, '0') FROM generate_series(1, 25) AS n))
  AS wanted (bucket)
CROSS JOIN LATERAL (
  SELECT count, digest FROM fieldvault.bucket AS bucket
  WHERE bucket.account_id = ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid
    AND bucket.entity_type = 'AtmosphericLog' AND bucket.project = '01900000-0000-7000-8000-000000000000'
    AND bucket.bucket = wanted.bucket
  LIMIT 1) AS found;
\startpipeline
UPDATE fieldvault.account SET last_sequence = :sequence + 25, horizon = 0, forgotten_version = 0
WHERE account_id = ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid;
INSERT INTO fieldvault.counter (account_id, entity_type, last_id)
VALUES (('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid, 'AtmosphericLog', :sequence + 25)
ON CONFLICT (account_id, entity_type) DO UPDATE SET last_id = excluded.last_id;
INSERT INTO fieldvault.record (
  account_id, sequence, entity_type, entity_uuid, server_id, version, first_version, is_deleted, is_cascaded, root_type,
  root_uuid, project, digest, created_at, updated_at, stored_at, fields, user_edited_fields, edit_times, field_versions,
  start_versions, service_fields, keys)
SELECT ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid, :sequence + n, 'AtmosphericLog',
  '01900000-0000-7000-8000-' || lpad(to_hex(:sequence + n), 12, '0'), :sequence + n, 1, 1, false, false, NULL, NULL,
  '01900000-0000-7000-8000-000000000000', '4fdb9a4f0c2a9c34dd4ad3ae1be7de64bd5b0b0dcf1f0e7f43a2fa1b6f6bb0d1', 1767225600000,
  1767225600000, 1767225600000,
  '{"date":"2026-01-01T00:00:00.000Z","dewPoint":40.5,"projectId":"01900000-0000-7000-8000-000000000000","relativeHumidity":55.5,"roomId":"01900000-0000-7000-8000-000000000001","temperature":61.5}',
  '[]', '{}', '{}', '{}', '[]', '{}'
FROM generate_series(1, 25) AS n
ON CONFLICT (account_id, entity_type, entity_uuid) DO UPDATE SET
  sequence = excluded.sequence, server_id = excluded.server_id, version = excluded.version,
  first_version = excluded.first_version, is_deleted = excluded.is_deleted, is_cascaded = excluded.is_cascaded,
  root_type = excluded.root_type, root_uuid = excluded.root_uuid, project = excluded.project, digest = excluded.digest,
  created_at = excluded.created_at, updated_at = excluded.updated_at, stored_at = excluded.stored_at,
  fields = excluded.fields, user_edited_fields = excluded.user_edited_fields, edit_times = excluded.edit_times,
  field_versions = excluded.field_versions, start_versions = excluded.start_versions,
  service_fields = excluded.service_fields, keys = excluded.keys;
INSERT INTO fieldvault.reference (account_id, entity_type, reference, target, entity_uuid)
SELECT ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid, 'AtmosphericLog', target.column_name,
  target.uuid, '01900000-0000-7000-8000-' || lpad(to_hex(:sequence + n), 12, '0')
FROM generate_series(1, 25) AS n,
  (VALUES ('projectId', '01900000-0000-7000-8000-000000000000'), ('roomId', '01900000-0000-7000-8000-000000000001'))
    AS target (column_name, uuid);
INSERT INTO fieldvault.bucket (account_id, entity_type, project, bucket, count, digest)
SELECT ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid, 'AtmosphericLog',
  '01900000-0000-7000-8000-000000000000', lpad(to_hex((:sequence + n * 10) % 256), 2, '0'), :sequence,
  '4fdb9a4f0c2a9c34dd4ad3ae1be7de64bd5b0b0dcf1f0e7f43a2fa1b6f6bb0d1'
FROM generate_series(1, 25) AS n
ON CONFLICT (account_id, entity_type, project, bucket)
  DO UPDATE SET count = excluded.count, digest = excluded.digest;
INSERT INTO fieldvault.response (account_id, idempotency_key, result, digest, stored_at)
SELECT ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid,
  '01900000-0000-7000-8000-' || lpad(to_hex(:sequence + n), 12, '0'),
  '{"createdAt":"2026-01-01T00:00:00.000Z","operationId":"01900000-0000-7000-8000-000000000002","result":"accepted","serverId":100000,"updatedAt":"2026-01-01T00:00:00.000Z","version":1}',
  '4fdb9a4f0c2a9c34dd4ad3ae1be7de64bd5b0b0dcf1f0e7f43a2fa1b6f6bb0d1', 1767225600000
FROM generate_series(1, 25) AS n;
INSERT INTO fieldvault.device (account_id, device_id, counter, digest, seen_at)
VALUES (
  ('00000000-0000-0000-0000-' || lpad((:client_id)::text, 12, '0'))::uuid, 'tablet', :sequence,
  '4fdb9a4f0c2a9c34dd4ad3ae1be7de64bd5b0b0dcf1f0e7f43a2fa1b6f6bb0d1', 1767225600000)
ON CONFLICT (account_id, device_id)
  DO UPDATE SET counter = excluded.counter, digest = excluded.digest, seen_at = excluded.seen_at;
COMMIT;
\endpipeline
