import ServerStorage

/// The tables of the database and their changes, which are applied in order.
///
/// Every table begins with `account_id`, except `account` and the small tables that all nodes read whole, so that a
/// database that distributes rows by account can hold them unchanged. Texts of keys compare byte by byte.
///
/// Indexes in another order than the primary key have the condition that their last column is not NULL, which is always true.
/// PostgreSQL uses them only for queries that compare this column. Otherwise it could read a whole account by them to find a
/// key, with a plan from a time when the table was small.
enum PostgresLayout {
  /// A change of the tables.
  struct Migration: Sendable {
    let version: Int
    let name: String
    let statements: [String]
  }

  /// The number of parts of the large tables.
  private static let partitions = 16

  /// All changes, in order.
  static let migrations = tablesOfRecords + tablesOfAdministration

  private static let tablesOfRecords = [
    Migration(
      version: 1, name: "generic_layout",
      statements: [
        """
        CREATE TABLE fieldvault.account (
          account_id uuid PRIMARY KEY,
          name text NOT NULL UNIQUE,
          created_at bigint NOT NULL, -- times are milliseconds since 1970
          last_sequence bigint NOT NULL DEFAULT 0,
          horizon bigint NOT NULL DEFAULT 0, -- deletions up to here may be forgotten
          forgotten_version bigint NOT NULL DEFAULT 0, -- new records begin above it
          epochs text[] NOT NULL, -- the current one last
          epoch_start bigint NOT NULL DEFAULT 0, -- the last change before the current epoch
          epoch_started_at bigint NOT NULL,
          schema_set text, -- the schemas whose files the records have; NULL before the first request
          incarnation bigint NOT NULL, -- the state of the database in which the current epoch is valid
          object_marker text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''), -- the bucket has an object of this name
          is_in_store boolean NOT NULL DEFAULT false -- whether the bucket was marked
        ) WITH (fillfactor = 50)
        """,
        """
        CREATE TABLE fieldvault.record (
          account_id uuid NOT NULL,
          sequence bigint NOT NULL,
          entity_type text COLLATE "C" NOT NULL,
          entity_uuid text COLLATE "C" NOT NULL,
          server_id bigint NOT NULL,
          version bigint NOT NULL,
          first_version bigint NOT NULL, -- the version of fields that never changed; 0 for a row of a schema
          is_deleted boolean NOT NULL,
          is_cascaded boolean NOT NULL, -- deleted only with a record that it references
          root_type text, -- the record whose deletion cascaded to this one; NULL if it is not known
          root_uuid text,
          project text, -- the uuid of the project that the record belongs to
          digest text NOT NULL, -- SHA-256 of the content, in hexadecimal digits
          created_at bigint NOT NULL,
          updated_at bigint NOT NULL,
          stored_at bigint NOT NULL, -- the server's time of the last change
          fields text NOT NULL, -- JSON: field to value, without NULL
          user_edited_fields text NOT NULL, -- JSON: the fields that a user has edited
          edit_times text NOT NULL, -- JSON: field to time, if it differs from updated_at
          field_versions text NOT NULL, -- JSON: field to the version with which it last changed
          start_versions text NOT NULL, -- JSON: epoch to the version at its beginning
          service_fields text NOT NULL, -- JSON: the fields whose value a service wrote
          keys text NOT NULL, -- JSON: the values of unique keys, those released, and references of several columns
          PRIMARY KEY (account_id, entity_type, entity_uuid)
        ) PARTITION BY HASH (account_id)
        """,
        """
        CREATE UNIQUE INDEX record_sequence ON fieldvault.record (account_id, sequence) WHERE sequence IS NOT NULL
        """,
        """
        CREATE UNIQUE INDEX record_server_id ON fieldvault.record (account_id, entity_type, server_id)
        WHERE server_id IS NOT NULL
        """,
        "CREATE INDEX record_live ON fieldvault.record (account_id, sequence, project) WHERE is_deleted IS FALSE",
        "CREATE INDEX record_deletions ON fieldvault.record (account_id, stored_at, sequence) WHERE is_deleted",
        """
        CREATE INDEX record_bucket ON fieldvault.record (account_id, entity_type, right(entity_uuid, 2))
        WHERE is_deleted IS FALSE
        """,
        """
        CREATE TABLE fieldvault.unique_key ( -- the record that holds a UNIQUE value
          account_id uuid NOT NULL,
          entity_type text COLLATE "C" NOT NULL,
          key_name text COLLATE "C" NOT NULL,
          value text COLLATE "C" NOT NULL,
          entity_uuid text COLLATE "C" NOT NULL,
          PRIMARY KEY (account_id, entity_type, key_name, value)
        ) PARTITION BY HASH (account_id)
        """,
        """
        CREATE TABLE fieldvault.reference ( -- the records that reference a record, by its uuid or a value of a key
          account_id uuid NOT NULL,
          entity_type text COLLATE "C" NOT NULL,
          reference text COLLATE "C" NOT NULL,
          target text COLLATE "C" NOT NULL,
          entity_uuid text COLLATE "C" NOT NULL,
          PRIMARY KEY (account_id, entity_type, reference, target, entity_uuid)
        ) PARTITION BY HASH (account_id)
        """,
        """
        CREATE TABLE fieldvault.response ( -- the responses to operations, so that each takes effect once
          account_id uuid NOT NULL,
          idempotency_key text COLLATE "C" NOT NULL,
          result text NOT NULL,
          digest text,
          stored_at bigint NOT NULL,
          PRIMARY KEY (account_id, idempotency_key)
        ) PARTITION BY HASH (account_id)
        """,
        "CREATE INDEX response_age ON fieldvault.response (account_id, stored_at) WHERE stored_at IS NOT NULL",
        """
        CREATE TABLE fieldvault.counter ( -- the last server id of each entity
          account_id uuid NOT NULL,
          entity_type text COLLATE "C" NOT NULL,
          last_id bigint NOT NULL,
          PRIMARY KEY (account_id, entity_type)
        ) WITH (fillfactor = 50)
        """,
        """
        CREATE TABLE fieldvault.bucket ( -- the sums of the digests of records that are not deleted
          account_id uuid NOT NULL,
          entity_type text COLLATE "C" NOT NULL,
          project text COLLATE "C" NOT NULL, -- empty for records without a project
          bucket text COLLATE "C" NOT NULL, -- the last two digits of the uuids
          count bigint NOT NULL,
          digest text NOT NULL,
          PRIMARY KEY (account_id, entity_type, project, bucket)
        ) WITH (fillfactor = 70)
        """,
        """
        CREATE TABLE fieldvault.device ( -- the last push of each device
          account_id uuid NOT NULL,
          device_id text COLLATE "C" NOT NULL,
          counter bigint NOT NULL,
          digest text NOT NULL,
          seen_at bigint NOT NULL,
          PRIMARY KEY (account_id, device_id)
        )
        """,
        "CREATE INDEX device_age ON fieldvault.device (account_id, seen_at) WHERE seen_at IS NOT NULL",
        """
        CREATE TABLE fieldvault.tombstone ( -- deleted records that the account did not have
          account_id uuid NOT NULL,
          entity_type text COLLATE "C" NOT NULL,
          entity_uuid text COLLATE "C" NOT NULL,
          stored_at bigint NOT NULL,
          PRIMARY KEY (account_id, entity_type, entity_uuid)
        )
        """,
        "CREATE INDEX tombstone_age ON fieldvault.tombstone (account_id, stored_at) WHERE stored_at IS NOT NULL",
        """
        CREATE TABLE fieldvault.job ( -- records whose dependents still have to follow them
          account_id uuid NOT NULL,
          number bigint NOT NULL,
          kind text NOT NULL,
          entity_type text NOT NULL,
          entity_uuid text NOT NULL,
          reference bigint NOT NULL, -- the reference by which dependents are being visited
          after text, -- the last dependent that was visited by it
          time bigint NOT NULL,
          PRIMARY KEY (account_id, number)
        )
        """,
        """
        CREATE TABLE fieldvault.upload ( -- files on their way to the object store
          account_id uuid NOT NULL,
          id text COLLATE "C" NOT NULL, -- the last part of the key in the store
          user_id bigint NOT NULL,
          content text COLLATE "C" NOT NULL,
          variant text COLLATE "C" NOT NULL,
          byte_count bigint NOT NULL,
          sha256 text NOT NULL, -- of what is sent, in base64
          content_type text NOT NULL,
          counted bigint NOT NULL, -- bytes towards the quota
          address_ends_at bigint NOT NULL, -- until then something may arrive
          expires_at bigint NOT NULL,
          PRIMARY KEY (account_id, id),
          UNIQUE (account_id, user_id, content, variant)
        )
        """,
        "CREATE INDEX upload_expiry ON fieldvault.upload (account_id, expires_at)",
        """
        CREATE TABLE fieldvault.content ( -- files that are complete in the object store
          account_id uuid NOT NULL,
          content text COLLATE "C" NOT NULL,
          variant text COLLATE "C" NOT NULL,
          user_id bigint NOT NULL, -- who sent it
          id text COLLATE "C" NOT NULL, -- the last part of the key in the store
          byte_count bigint NOT NULL,
          counted bigint NOT NULL,
          address_ends_at bigint NOT NULL,
          finished_at bigint NOT NULL,
          was_used boolean NOT NULL DEFAULT false, -- whether a record has needed it
          sha256 text NOT NULL, -- of the stored bytes, in hexadecimal digits
          content_digest text, -- the digest that the key of a record has verified
          is_refuted boolean NOT NULL DEFAULT false, -- whether the bytes are not those that the record names
          missing_since bigint,
          unused_since bigint,
          PRIMARY KEY (account_id, content, variant),
          UNIQUE (account_id, id)
        )
        """,
        "CREATE INDEX content_missing ON fieldvault.content (account_id, missing_since) WHERE missing_since IS NOT NULL",
        "CREATE INDEX content_unused ON fieldvault.content (account_id, unused_since) WHERE unused_since IS NOT NULL",
        """
        CREATE TABLE fieldvault.object_removal ( -- objects that have to be removed from the store
          account_id uuid NOT NULL,
          id text COLLATE "C" NOT NULL,
          not_before bigint NOT NULL,
          PRIMARY KEY (account_id, id)
        )
        """,
        "CREATE INDEX object_removal_time ON fieldvault.object_removal (account_id, not_before, id)",
        """
        CREATE TABLE fieldvault.file_usage ( -- the bytes of each user that count towards the quota
          account_id uuid NOT NULL,
          user_id bigint NOT NULL,
          bytes bigint NOT NULL,
          PRIMARY KEY (account_id, user_id)
        )
        """,
        """
        CREATE TABLE fieldvault.schema_set ( -- the files of schemas that records have
          digest text PRIMARY KEY,
          files text NOT NULL -- JSON: schemas in the order in which they are applied, with their files
        )
        """,
        """
        CREATE TABLE fieldvault.server ( -- one row
          server_uuid text NOT NULL,
          system_identifier text NOT NULL, -- what tells this life of the database from others
          timeline text NOT NULL,
          database_oid bigint NOT NULL,
          incarnation bigint NOT NULL,
          retention_time bigint, -- the time by which old data are removed
          retention_owner text, -- the node that removes old data
          retention_owned_until bigint
        )
        """,
        """
        CREATE TABLE fieldvault.member (
          account_id uuid NOT NULL,
          user_id bigint GENERATED ALWAYS AS IDENTITY,
          name text NOT NULL, -- unique on the server
          created_at bigint NOT NULL,
          PRIMARY KEY (account_id, user_id)
        )
        """,
        """
        CREATE TABLE fieldvault.token (
          token_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          hash bytea NOT NULL UNIQUE, -- SHA-256 of the token
          account_id uuid NOT NULL,
          user_id bigint NOT NULL,
          role text NOT NULL,
          label text,
          created_at bigint NOT NULL,
          expires_at bigint,
          revoked_at bigint
        )
        """,
        """
        CREATE TABLE fieldvault.served_schema (
          position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          name text NOT NULL UNIQUE,
          folder text, -- NULL for a schema of the program
          files text -- JSON: the files of a schema from a folder
        )
        """,
      ]
        + ["record", "unique_key", "reference", "response"].flatMap { table in
          (0..<partitions).map { part in
            """
            CREATE TABLE fieldvault.\(table)_\(part) PARTITION OF fieldvault.\(table)
            FOR VALUES WITH (MODULUS \(partitions), REMAINDER \(part))
            """
          }
        }),
    Migration(
      version: 2, name: "report_views",
      statements: [
        "CREATE SCHEMA fieldvault_report",
        "ALTER TABLE fieldvault.server ADD COLUMN view_set text -- the schemas of which fieldvault_report has views",
        // A report can neither hold the character U+0000 nor fail for the records that have it.
        #"""
        CREATE FUNCTION fieldvault.report_fields(fields text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
        BEGIN
          IF strpos(fields, '\u0000') = 0 THEN RETURN fields::jsonb; END IF;
          RETURN regexp_replace(fields, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g')::jsonb;
        EXCEPTION WHEN data_exception THEN RETURN '{}'::jsonb; -- a number beyond those of PostgreSQL
        END $$
        """#,
        """
        CREATE FUNCTION fieldvault.report_integer(value jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT CASE jsonb_typeof(value)
          WHEN 'boolean' THEN (value::boolean)::int::bigint
          WHEN 'number' THEN
            CASE WHEN value::numeric = trunc(value::numeric)
                AND value::numeric BETWEEN -9223372036854775808 AND 9223372036854775807
              THEN value::numeric::bigint END
        END $$
        """,
        """
        CREATE FUNCTION fieldvault.report_real(value jsonb) RETURNS double precision
        LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
        BEGIN
          RETURN CASE jsonb_typeof(value) WHEN 'number' THEN (value #>> '{}')::double precision END;
        EXCEPTION WHEN data_exception THEN RETURN NULL;
        END $$
        """,
        """
        CREATE FUNCTION fieldvault.report_boolean(value jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT CASE jsonb_typeof(value) WHEN 'boolean' THEN value::boolean WHEN 'number' THEN value::numeric <> 0 END $$
        """,
        """
        CREATE FUNCTION fieldvault.report_time(value jsonb) RETURNS timestamptz
        LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
        BEGIN
          RETURN CASE jsonb_typeof(value) WHEN 'string' THEN (value #>> '{}')::timestamptz END;
        EXCEPTION WHEN data_exception THEN RETURN NULL;
        END $$
        """,
        """
        CREATE FUNCTION fieldvault.report_day(value jsonb) RETURNS date LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
        BEGIN
          RETURN CASE jsonb_typeof(value) WHEN 'string' THEN (value #>> '{}')::date END;
        EXCEPTION WHEN data_exception THEN RETURN NULL;
        END $$
        """,
        """
        CREATE FUNCTION fieldvault.report_bytes(value jsonb) RETURNS bytea LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
        BEGIN
          RETURN CASE jsonb_typeof(value) WHEN 'string' THEN decode(value #>> '{}', 'base64') END;
        EXCEPTION WHEN data_exception THEN RETURN NULL;
        END $$
        """,
      ]),
  ]
}
