import CipherSQL
import ServerStorage

/// The tables of `directory.db`.
enum DirectorySchema {
  /// The version that stores the files of schemas.
  static let versionWithFiles = 4

  static let schema = Schema(
    name: "directory",
    migrations: [
      MigrationFile(
        version: 1, name: "accounts",
        sql: """
          -- Who this server is. Always one row.
          CREATE TABLE ServerIdentity (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            serverUuid TEXT NOT NULL -- the same for the life of the data
          ) STRICT;

          -- The schemas whose records the accounts have, in the order in which they are applied.
          CREATE TABLE ServedSchema (
            position INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            folder TEXT -- the absolute path of its files; NULL for one that the program carries
          ) STRICT;

          -- A company, or whoever shares records.
          CREATE TABLE Account (
            accountId INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            folder TEXT NOT NULL UNIQUE, -- says nothing about whose it is
            createdAt TEXT NOT NULL
          ) STRICT;

          -- A user or a device of an account.
          CREATE TABLE Member (
            userId INTEGER PRIMARY KEY,
            accountId INTEGER NOT NULL REFERENCES Account (accountId),
            name TEXT NOT NULL UNIQUE,
            createdAt TEXT NOT NULL
          ) STRICT;

          -- What a member shows to be let in; the token itself is not kept.
          CREATE TABLE Token (
            hash BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32), -- SHA-256 of the token
            userId INTEGER NOT NULL REFERENCES Member (userId),
            createdAt TEXT NOT NULL,
            revokedAt TEXT
          ) STRICT, WITHOUT ROWID;

          CREATE INDEX Token_member ON Token (userId);
          """),
      MigrationFile(
        version: 2, name: "roles_and_expiry",
        sql: """
          DROP INDEX Token_member;
          ALTER TABLE Token RENAME TO OldToken;

          -- What a user shows to be let in; the token itself is not kept. A user may have several.
          CREATE TABLE Token (
            tokenId INTEGER PRIMARY KEY AUTOINCREMENT, -- names the token in commands; never given out again
            hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32), -- SHA-256 of the token
            userId INTEGER NOT NULL REFERENCES Member (userId),
            role TEXT NOT NULL DEFAULT 'device' CHECK (role IN ('device', 'service', 'admin')),
            label TEXT, -- which device or program has it
            createdAt TEXT NOT NULL,
            expiresAt TEXT, -- the token is valid before this time
            revokedAt TEXT
          ) STRICT;

          INSERT INTO Token (hash, userId, createdAt, revokedAt)
          SELECT hash, userId, createdAt, revokedAt FROM OldToken ORDER BY createdAt, hash;
          DROP TABLE OldToken;

          CREATE INDEX Token_member ON Token (userId);
          """),
      MigrationFile(
        version: 3, name: "time_of_retention",
        sql: """
          -- The time by which responses and deletions are forgotten; no row before it has begun.
          CREATE TABLE RetentionTime (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            milliseconds INTEGER NOT NULL -- since 1970
          ) STRICT;
          """),
      MigrationFile(
        version: versionWithFiles, name: "files_of_schemas",
        sql: """
          -- The files of a schema that comes from a folder, as they were read last. They serve when the folder is missing.
          CREATE TABLE ServedSchemaFile (
            schemaName TEXT NOT NULL REFERENCES ServedSchema (name),
            version INTEGER NOT NULL,
            name TEXT NOT NULL,
            sql TEXT NOT NULL,
            PRIMARY KEY (schemaName, version)
          ) STRICT, WITHOUT ROWID;
          """),
      MigrationFile(
        version: 5, name: "audit_log",
        sql: """
          -- What was changed in the administration of the server, and by whom. Rows are only added.
          CREATE TABLE AuditEntry (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            time INTEGER NOT NULL, -- milliseconds since 1970
            actor TEXT NOT NULL, -- the user of the system who ran the command
            action TEXT NOT NULL,
            user TEXT, -- whose rights changed
            details TEXT NOT NULL
          ) STRICT;

          CREATE INDEX AuditEntry_time ON AuditEntry (time);
          CREATE INDEX AuditEntry_action ON AuditEntry (action, time);
          """),
      MigrationFile(
        version: 6, name: "last_use_of_tokens",
        sql: "ALTER TABLE Token ADD COLUMN lastUsedAt TEXT; -- of the last request, at most a minute late"),
      MigrationFile(
        version: 7, name: "membership",
        sql: """
          ALTER TABLE Member ADD COLUMN recordUuid TEXT; -- the record by which membership records name the user
          -- 1 if devices see only the projects of which their users are members.
          ALTER TABLE Account ADD COLUMN limitsToMembers INTEGER NOT NULL DEFAULT 0 CHECK (limitsToMembers IN (0, 1));
          """),
      MigrationFile(
        version: 8, name: "deletion_of_accounts",
        sql: """
          ALTER TABLE Account ADD COLUMN deletedAt TEXT; -- when its deletion began; the row stays until the data are removed
          CREATE INDEX AuditEntry_user ON AuditEntry (user) WHERE user IS NOT NULL;
          CREATE INDEX AuditEntry_actor ON AuditEntry (actor);
          """),
      MigrationFile(
        version: 9, name: "contacts_of_devices",
        sql: """
          -- The last requests of each device.
          CREATE TABLE DeviceContact (
            accountId INTEGER NOT NULL REFERENCES Account (accountId),
            deviceId TEXT NOT NULL,
            tokenId INTEGER NOT NULL, -- of its last request
            version TEXT, -- of its program
            firstSeenAt INTEGER NOT NULL, -- milliseconds since 1970
            lastSeenAt INTEGER NOT NULL, -- at most a minute late
            position INTEGER, -- of the last change that it has read
            revokedAt INTEGER,
            toldAt INTEGER, -- when it was told that it is revoked
            PRIMARY KEY (accountId, deviceId)
          ) STRICT, WITHOUT ROWID;

          CREATE INDEX DeviceContact_revoked ON DeviceContact (accountId, deviceId) WHERE revokedAt IS NOT NULL;
          """),
      MigrationFile(
        version: 10, name: "pages_for_operators",
        sql: """
          -- The links to the pages for operators, and the sessions that they have opened.
          CREATE TABLE OperatorSession (
            linkHash BLOB NOT NULL PRIMARY KEY CHECK (length(linkHash) = 32), -- SHA-256 of the key in the link
            sessionHash BLOB UNIQUE CHECK (length(sessionHash) = 32), -- SHA-256 of the cookie; NULL until the link is opened
            endsAt INTEGER NOT NULL, -- of the link or of the session, in milliseconds since 1970
            usedAt INTEGER -- the last request, at most a minute late
          ) STRICT, WITHOUT ROWID;

          CREATE INDEX OperatorSession_end ON OperatorSession (endsAt);
          CREATE INDEX Member_account ON Member (accountId);
          CREATE INDEX Token_valid ON Token (userId) WHERE revokedAt IS NULL;
          """),
    ])
}
