import CipherSQL

/// The server's own tables in the database of an account, beside the tables of the records themselves.
enum BookkeepingSchema {
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

          -- What operations were answered, so that each takes effect once.
          CREATE TABLE ServerAnswer (
            operationId TEXT NOT NULL PRIMARY KEY,
            answer TEXT NOT NULL,
            storedAt INTEGER NOT NULL -- in milliseconds since 1970
          ) STRICT, WITHOUT ROWID;

          CREATE INDEX ServerAnswer_age ON ServerAnswer (storedAt);
          """)
    ])
}
