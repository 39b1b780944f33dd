import CipherSQL
import ServerStorage

/// The server's own tables in the database of an account, in addition to the tables of the records.
enum BookkeepingSchema {
  /// The tables of the server.
  static let tables = [
    "SchemaMigration", "ServerState", "ServerEpoch", "ServerRecord", "ServerUniqueKey", "ServerReference",
    "ServerNewReference", "ServerCounter", "ServerBucket", "ServerAnswer", "ServerDevice", "ServerTombstone",
    "ServerJob", "ServerMembership",
  ]

  static let schema = Schema(
    name: "server",
    migrations: [
      MigrationFile(
        version: 1, name: "records_and_answers",
        sql: """
          -- Where the account stands. Always one row.
          CREATE TABLE ServerState (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            identity TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))), -- tells these data from all others
            lastSequence INTEGER NOT NULL DEFAULT 0,
            horizon INTEGER NOT NULL DEFAULT 0 -- deletions up to here may be forgotten
          ) STRICT;

          INSERT INTO ServerState (id) VALUES (1);

          -- What the server knows of a record beside its row. A change gives the row a new, higher sequence.
          CREATE TABLE ServerRecord (
            sequence INTEGER PRIMARY KEY,
            entityType TEXT NOT NULL,
            entityUuid TEXT NOT NULL,
            serverId INTEGER NOT NULL,
            firstVersion INTEGER NOT NULL, -- the version of fields that never changed
            isDeleted INTEGER NOT NULL CHECK (isDeleted IN (0, 1)),
            editTimes TEXT NOT NULL, -- JSON: field to milliseconds since 1970
            fieldVersions TEXT NOT NULL, -- JSON: field to the version with which it last changed
            project TEXT, -- the uuid of the project that the record belongs to
            digest TEXT NOT NULL, -- SHA-256 of the content, in hexadecimal digits
            storedAt INTEGER NOT NULL, -- the server's time of the last change, in milliseconds since 1970
            -- Deleted only because of what it refers to: it comes back with that.
            wentAlong INTEGER NOT NULL DEFAULT 0 CHECK (wentAlong IN (0, 1)),
            UNIQUE (entityType, entityUuid),
            UNIQUE (entityType, serverId)
          ) STRICT;

          CREATE INDEX ServerRecord_live ON ServerRecord (isDeleted, project);
          CREATE INDEX ServerRecord_deletions ON ServerRecord (storedAt) WHERE isDeleted = 1;

          -- The last server id of each kind of record.
          CREATE TABLE ServerCounter (
            entityType TEXT NOT NULL PRIMARY KEY,
            lastId INTEGER NOT NULL
          ) STRICT, WITHOUT ROWID;

          -- The responses to operations, so that each operation takes effect once.
          CREATE TABLE ServerAnswer (
            operationId TEXT NOT NULL PRIMARY KEY,
            answer TEXT NOT NULL,
            storedAt INTEGER NOT NULL -- in milliseconds since 1970
          ) STRICT, WITHOUT ROWID;

          CREATE INDEX ServerAnswer_age ON ServerAnswer (storedAt);
          """),
      MigrationFile(
        version: 2, name: "jobs",
        sql: """
          -- The record whose deletion cascaded to this one; NULL where that is not known.
          ALTER TABLE ServerRecord ADD COLUMN rootType TEXT;
          ALTER TABLE ServerRecord ADD COLUMN rootUuid TEXT;

          -- Records whose dependents still have to follow them. The newest is visited first, so that few are left at any time.
          CREATE TABLE ServerJob (
            number INTEGER PRIMARY KEY,
            kind TEXT NOT NULL CHECK (kind IN ('cascade', 'project')),
            entityType TEXT NOT NULL,
            entityUuid TEXT NOT NULL,
            reference INTEGER NOT NULL DEFAULT 0, -- the reference by which dependents are being visited
            after INTEGER, -- the row of the last dependent that was visited by it; NULL before the first
            time INTEGER NOT NULL, -- the server's time of the change, in milliseconds since 1970
            UNIQUE (kind, entityType, entityUuid)
          ) STRICT;
          """),
      MigrationFile(
        version: 3, name: "epochs_and_keys",
        sql: """
          -- The epochs of the data; the one with the highest number is current.
          CREATE TABLE ServerEpoch (
            number INTEGER PRIMARY KEY, -- from 0
            epoch TEXT NOT NULL UNIQUE,
            startSequence INTEGER NOT NULL, -- the last sequence of the epoch before
            startedAt INTEGER NOT NULL -- in milliseconds since 1970
          ) STRICT;

          -- What told these data from all others before names their first epoch.
          INSERT INTO ServerEpoch (number, epoch, startSequence, startedAt) SELECT 0, identity, 0, 0 FROM ServerState;
          ALTER TABLE ServerState DROP COLUMN identity;

          -- By the number of each epoch in which the record changed: its version when that epoch began.
          ALTER TABLE ServerRecord ADD COLUMN startVersions TEXT NOT NULL DEFAULT '{}';

          -- Devices of version 1 used the operation id as key.
          ALTER TABLE ServerAnswer RENAME COLUMN operationId TO idempotencyKey;
          ALTER TABLE ServerAnswer ADD COLUMN digest TEXT; -- of the operation's content; NULL for one of version 1

          -- The last push of each device, so that a second copy of its vault is noticed.
          CREATE TABLE ServerDevice (
            deviceId TEXT NOT NULL PRIMARY KEY,
            counter INTEGER NOT NULL,
            digest TEXT NOT NULL,
            seenAt INTEGER NOT NULL -- in milliseconds since 1970
          ) STRICT, WITHOUT ROWID;

          CREATE INDEX ServerDevice_age ON ServerDevice (seenAt);
          """),
      MigrationFile(
        version: 4, name: "buckets",
        sql: """
          -- The sum of the digests of the records of each bucket that are not deleted; each write keeps it up to date.
          CREATE TABLE ServerBucket (
            entityType TEXT NOT NULL,
            project TEXT NOT NULL, -- empty for records that belong to none
            bucket TEXT NOT NULL, -- the last two digits of their uuids
            count INTEGER NOT NULL,
            digest TEXT NOT NULL,
            PRIMARY KEY (entityType, project, bucket)
          ) STRICT, WITHOUT ROWID;

          CREATE INDEX ServerRecord_bucket ON ServerRecord (entityType, substr(entityUuid, -2)) WHERE isDeleted = 0;

          -- The schema versions for which digests are stored, those for which they are being computed, and how far that is.
          ALTER TABLE ServerState ADD COLUMN digestSchemas TEXT;
          ALTER TABLE ServerState ADD COLUMN pendingSchemas TEXT;
          ALTER TABLE ServerState ADD COLUMN digestSequence INTEGER NOT NULL DEFAULT 0;
          """),
      MigrationFile(
        version: 5, name: "roles_of_writers",
        sql: """
          -- JSON: the fields whose value a service wrote. What was stored before counts as written by devices.
          ALTER TABLE ServerRecord ADD COLUMN serviceFields TEXT NOT NULL DEFAULT '[]';
          """),
      MigrationFile(
        version: 6, name: "released_values",
        sql: """
          -- JSON: UNIQUE values that the row of a deleted record has given up to another record, by field; NULL for none.
          ALTER TABLE ServerRecord ADD COLUMN released TEXT;

          -- The references that jobs follow are numbered in another way now: they are followed again from the first.
          UPDATE ServerJob SET reference = 0, after = NULL;
          """),
      MigrationFile(
        version: 7, name: "tombstones",
        sql: """
          -- Deleted records that the account did not have: a device that still has one does not bring it back unasked.
          CREATE TABLE ServerTombstone (
            entityType TEXT NOT NULL,
            entityUuid TEXT NOT NULL,
            storedAt INTEGER NOT NULL, -- in milliseconds since 1970
            PRIMARY KEY (entityType, entityUuid)
          ) STRICT, WITHOUT ROWID;

          CREATE INDEX ServerTombstone_age ON ServerTombstone (storedAt);
          """),
      MigrationFile(
        version: 8, name: "forgotten_versions",
        sql: """
          -- The highest version of a forgotten record. New records begin above it, so that no version is used twice.
          ALTER TABLE ServerState ADD COLUMN forgottenVersion INTEGER NOT NULL DEFAULT 0;
          """),
      MigrationFile(
        version: 9, name: "followed_values",
        sql: """
          -- A third kind of job: the values of dependents follow values of the record.
          ALTER TABLE ServerJob RENAME TO ServerJobBefore;
          CREATE TABLE ServerJob (
            number INTEGER PRIMARY KEY,
            kind TEXT NOT NULL CHECK (kind IN ('cascade', 'project', 'values')),
            entityType TEXT NOT NULL,
            entityUuid TEXT NOT NULL,
            reference INTEGER NOT NULL DEFAULT 0, -- the reference by which dependents are being visited
            after INTEGER, -- the row of the last dependent that was visited by it; NULL before the first
            time INTEGER NOT NULL, -- the server's time of the change, in milliseconds since 1970
            UNIQUE (kind, entityType, entityUuid)
          ) STRICT;
          INSERT INTO ServerJob (number, kind, entityType, entityUuid, reference, after, time)
            SELECT number, kind, entityType, entityUuid, reference, after, time FROM ServerJobBefore;
          DROP TABLE ServerJobBefore;
          """),
      MigrationFile(
        version: 10, name: "generic_layout",
        sql: """
          -- What the tables of the schemas and this one had is moved by `TypedAccount`, which removes them.
          DROP INDEX ServerRecord_live;
          DROP INDEX ServerRecord_deletions;
          DROP INDEX ServerRecord_bucket;
          ALTER TABLE ServerRecord RENAME TO TypedRecord;
          ALTER TABLE ServerJob RENAME TO TypedJob;

          -- The records of all entities. A change gives the row a new, higher sequence.
          CREATE TABLE ServerRecord (
            sequence INTEGER PRIMARY KEY,
            entityType TEXT NOT NULL,
            entityUuid TEXT NOT NULL,
            serverId INTEGER NOT NULL,
            version INTEGER NOT NULL,
            firstVersion INTEGER NOT NULL, -- the version of fields that never changed; 0 for a row of a schema
            isDeleted INTEGER NOT NULL CHECK (isDeleted IN (0, 1)),
            isCascaded INTEGER NOT NULL CHECK (isCascaded IN (0, 1)), -- deleted only with a record that it references
            rootType TEXT, -- the record whose deletion cascaded to this one; NULL if it is not known
            rootUuid TEXT,
            project TEXT, -- the uuid of the project that the record belongs to
            digest TEXT NOT NULL, -- SHA-256 of the content, in hexadecimal digits
            createdAt INTEGER NOT NULL, -- times are milliseconds since 1970
            updatedAt INTEGER NOT NULL,
            storedAt INTEGER NOT NULL, -- the server's time of the last change
            fields TEXT NOT NULL, -- JSON: field to value, without NULL
            userEditedFields TEXT NOT NULL, -- JSON: the fields that a user has edited
            editTimes TEXT NOT NULL, -- JSON: field to time, if it differs from updatedAt
            fieldVersions TEXT NOT NULL, -- JSON: field to the version with which it last changed
            startVersions TEXT NOT NULL, -- JSON: epoch to the version at its beginning
            serviceFields TEXT NOT NULL, -- JSON: the fields whose value a service wrote
            keys TEXT NOT NULL, -- JSON: the values of unique keys, those released, and references of several columns
            UNIQUE (entityType, entityUuid),
            UNIQUE (entityType, serverId)
          ) STRICT;

          CREATE INDEX ServerRecord_live ON ServerRecord (isDeleted, project);
          CREATE INDEX ServerRecord_deletions ON ServerRecord (storedAt) WHERE isDeleted = 1;
          CREATE INDEX ServerRecord_bucket ON ServerRecord (entityType, substr(entityUuid, -2)) WHERE isDeleted = 0;

          -- The record that holds a UNIQUE value.
          CREATE TABLE ServerUniqueKey (
            entityType TEXT NOT NULL,
            keyName TEXT NOT NULL,
            value TEXT NOT NULL,
            entityUuid TEXT NOT NULL,
            PRIMARY KEY (entityType, keyName, value)
          ) STRICT, WITHOUT ROWID;

          -- The records that reference a record, by its uuid or by the value of one of its keys.
          CREATE TABLE ServerReference (
            entityType TEXT NOT NULL,
            reference TEXT NOT NULL,
            target TEXT NOT NULL,
            entityUuid TEXT NOT NULL,
            PRIMARY KEY (entityType, reference, target, entityUuid)
          ) STRICT, WITHOUT ROWID;

          -- Records whose dependents still have to follow them. The newest is visited first, so that few are left at any time.
          CREATE TABLE ServerJob (
            number INTEGER PRIMARY KEY,
            kind TEXT NOT NULL CHECK (kind IN ('cascade', 'project')),
            entityType TEXT NOT NULL,
            entityUuid TEXT NOT NULL,
            reference INTEGER NOT NULL, -- the reference by which dependents are being visited
            after TEXT, -- the last dependent that was visited by it; NULL before the first
            time INTEGER NOT NULL -- the server's time of the change, in milliseconds since 1970
          ) STRICT;

          -- Digests are computed again when the records are moved, and when a schema changes.
          DELETE FROM ServerBucket;
          ALTER TABLE ServerState DROP COLUMN digestSchemas;
          ALTER TABLE ServerState DROP COLUMN pendingSchemas;
          ALTER TABLE ServerState DROP COLUMN digestSequence;
          """),
      MigrationFile(
        version: 11, name: "new_references",
        sql: """
          -- The newest references, in the order in which they came. Many are moved to ServerReference at once, because each
          -- reference of a push would change another page of it.
          CREATE TABLE ServerNewReference (
            number INTEGER PRIMARY KEY,
            entityType TEXT NOT NULL,
            reference TEXT NOT NULL,
            target TEXT NOT NULL,
            entityUuid TEXT NOT NULL
          ) STRICT;

          -- The bucket of a record is a reference, too.
          INSERT INTO ServerReference (entityType, reference, target, entityUuid)
            SELECT entityType, ',bucket', substr(entityUuid, -2), entityUuid FROM ServerRecord;
          DROP INDEX ServerRecord_bucket;
          """),
      MigrationFile(
        version: 12, name: "memberships",
        sql: """
          -- The projects that each user sees. They follow from the records, which are searched when the schemas change. A membership
          -- that has ended stays.
          CREATE TABLE ServerMembership (
            source TEXT NOT NULL, -- the uuid of the membership record, or of the project for its creator
            holder TEXT NOT NULL, -- record=UUID, user=NUMBER or everyone
            project TEXT NOT NULL,
            isMember INTEGER NOT NULL CHECK (isMember IN (0, 1)),
            sequence INTEGER NOT NULL, -- of the change with which it began or ended
            PRIMARY KEY (project, source, holder)
          ) STRICT, WITHOUT ROWID;

          CREATE INDEX ServerMembership_holder ON ServerMembership (holder, project);
          """),
      MigrationFile(
        version: 13, name: "number_of_records",
        sql: "ALTER TABLE ServerState ADD COLUMN recordCount INTEGER; -- without deleted ones; NULL until it is needed"),
    ])
}
