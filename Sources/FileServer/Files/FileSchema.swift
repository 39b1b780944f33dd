import CipherSQL
import SQLCipherStorage

extension AccountDatabase {
  /// The uploads and contents of an account.
  package static let files = AccountDatabase(
    fileName: "files.db", keyName: "files", readers: 2, schema: FileSchema.schema, wasMadeAtFirstUse: true)
}

/// The tables of `files.db`, a separate database of each account. A commit of an offset therefore never waits for a
/// commit of records, or the reverse.
enum FileSchema {
  static let schema = Schema(
    name: "files",
    migrations: [
      MigrationFile(
        version: 1, name: "uploads_and_contents",
        sql: """
          -- An upload, under way or finished. A finished one stays until it expires, for a client that missed the response.
          CREATE TABLE Upload (
            id TEXT NOT NULL PRIMARY KEY, -- its name in addresses
            userId INTEGER NOT NULL,
            content TEXT NOT NULL,
            variant TEXT NOT NULL CHECK (variant IN ('full', 'thumbnail')),
            file TEXT NOT NULL UNIQUE, -- its name in the folder
            metadata TEXT NOT NULL, -- as the client wrote it
            length INTEGER CHECK (length >= 0), -- NULL while it is not known
            received INTEGER NOT NULL DEFAULT 0 CHECK (received >= 0 AND (length IS NULL OR received <= length)),
            counted INTEGER NOT NULL CHECK (counted >= 0), -- bytes towards the quota
            expiresAt INTEGER NOT NULL, -- in milliseconds since 1970
            isFinished INTEGER NOT NULL DEFAULT 0 CHECK (isFinished IN (0, 1))
          ) STRICT, WITHOUT ROWID;

          CREATE INDEX Upload_expiry ON Upload (expiresAt);

          -- A file that is complete.
          CREATE TABLE Content (
            content TEXT NOT NULL,
            variant TEXT NOT NULL CHECK (variant IN ('full', 'thumbnail')),
            userId INTEGER NOT NULL, -- who sent it
            file TEXT NOT NULL UNIQUE, -- its name in the folder
            byteCount INTEGER NOT NULL CHECK (byteCount >= 0),
            counted INTEGER NOT NULL CHECK (counted >= 0), -- bytes towards the quota
            finishedAt INTEGER NOT NULL, -- in milliseconds since 1970
            wasUsed INTEGER NOT NULL DEFAULT 0 CHECK (wasUsed IN (0, 1)), -- whether a record has referred to it
            PRIMARY KEY (content, variant)
          ) STRICT, WITHOUT ROWID;

          -- What the files of a user take, kept by the triggers below.
          CREATE TABLE FileUsage (
            userId INTEGER PRIMARY KEY,
            bytes INTEGER NOT NULL
          ) STRICT;

          CREATE TRIGGER Upload_added AFTER INSERT ON Upload BEGIN
            INSERT INTO FileUsage (userId, bytes) VALUES (NEW.userId, NEW.counted)
            ON CONFLICT (userId) DO UPDATE SET bytes = bytes + excluded.bytes;
          END;
          CREATE TRIGGER Upload_changed AFTER UPDATE OF counted ON Upload BEGIN
            UPDATE FileUsage SET bytes = bytes + NEW.counted - OLD.counted WHERE userId = NEW.userId;
          END;
          CREATE TRIGGER Upload_removed AFTER DELETE ON Upload BEGIN
            UPDATE FileUsage SET bytes = bytes - OLD.counted WHERE userId = OLD.userId;
          END;
          CREATE TRIGGER Content_added AFTER INSERT ON Content BEGIN
            INSERT INTO FileUsage (userId, bytes) VALUES (NEW.userId, NEW.counted)
            ON CONFLICT (userId) DO UPDATE SET bytes = bytes + excluded.bytes;
          END;
          CREATE TRIGGER Content_removed AFTER DELETE ON Content BEGIN
            UPDATE FileUsage SET bytes = bytes - OLD.counted WHERE userId = OLD.userId;
          END;
          """),
      MigrationFile(
        version: 2, name: "objects",
        sql: """
          -- An address was given to send a file to an object store; the row goes when the server has found it there, or when
          -- it has waited too long.
          CREATE TABLE ObjectUpload (
            id TEXT NOT NULL PRIMARY KEY, -- the last part of its key in the store, and its name in requests
            userId INTEGER NOT NULL,
            content TEXT NOT NULL,
            variant TEXT NOT NULL CHECK (variant IN ('full', 'thumbnail')),
            byteCount INTEGER NOT NULL CHECK (byteCount >= 0),
            sha256 TEXT NOT NULL, -- of what is sent, in base64
            contentType TEXT NOT NULL,
            counted INTEGER NOT NULL CHECK (counted >= 0), -- bytes towards the quota
            addressEndsAt INTEGER NOT NULL, -- in milliseconds since 1970: until then something may come
            expiresAt INTEGER NOT NULL, -- in milliseconds since 1970
            UNIQUE (userId, content, variant)
          ) STRICT, WITHOUT ROWID;

          CREATE INDEX ObjectUpload_expiry ON ObjectUpload (expiresAt);

          -- A file that is complete in the object store.
          CREATE TABLE ObjectContent (
            content TEXT NOT NULL,
            variant TEXT NOT NULL CHECK (variant IN ('full', 'thumbnail')),
            userId INTEGER NOT NULL, -- who sent it
            id TEXT NOT NULL UNIQUE, -- the last part of its key in the store
            byteCount INTEGER NOT NULL CHECK (byteCount >= 0),
            counted INTEGER NOT NULL CHECK (counted >= 0), -- bytes towards the quota
            addressEndsAt INTEGER NOT NULL, -- in milliseconds since 1970: until then it may be sent once more
            finishedAt INTEGER NOT NULL, -- in milliseconds since 1970
            wasUsed INTEGER NOT NULL DEFAULT 0 CHECK (wasUsed IN (0, 1)), -- whether a record has referred to it
            PRIMARY KEY (content, variant)
          ) STRICT, WITHOUT ROWID;

          -- What has to be removed from the object store, which may not be reached just then.
          CREATE TABLE ObjectRemoval (
            id TEXT NOT NULL PRIMARY KEY,
            notBefore INTEGER NOT NULL -- in milliseconds since 1970
          ) STRICT, WITHOUT ROWID;

          CREATE TRIGGER ObjectUpload_added AFTER INSERT ON ObjectUpload BEGIN
            INSERT INTO FileUsage (userId, bytes) VALUES (NEW.userId, NEW.counted)
            ON CONFLICT (userId) DO UPDATE SET bytes = bytes + excluded.bytes;
          END;
          CREATE TRIGGER ObjectUpload_removed AFTER DELETE ON ObjectUpload BEGIN
            UPDATE FileUsage SET bytes = bytes - OLD.counted WHERE userId = OLD.userId;
          END;
          CREATE TRIGGER ObjectContent_added AFTER INSERT ON ObjectContent BEGIN
            INSERT INTO FileUsage (userId, bytes) VALUES (NEW.userId, NEW.counted)
            ON CONFLICT (userId) DO UPDATE SET bytes = bytes + excluded.bytes;
          END;
          CREATE TRIGGER ObjectContent_removed AFTER DELETE ON ObjectContent BEGIN
            UPDATE FileUsage SET bytes = bytes - OLD.counted WHERE userId = OLD.userId;
          END;
          """),
      MigrationFile(
        version: 3, name: "proofs",
        sql: """
          -- Which volume and bucket hold the files of this account: each carries the marker. Always one row.
          CREATE TABLE FileMarker (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            marker TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))),
            isOnDisk INTEGER NOT NULL DEFAULT 0 CHECK (isOnDisk IN (0, 1)), -- whether the folder was marked
            isInStore INTEGER NOT NULL DEFAULT 0 CHECK (isInStore IN (0, 1)) -- whether the bucket was marked
          ) STRICT;
          INSERT INTO FileMarker (id) VALUES (1);

          ALTER TABLE Content ADD COLUMN sha256 TEXT; -- of the bytes as they are kept, in hexadecimal digits; NULL: not hashed
          ALTER TABLE Content ADD COLUMN contentDigest TEXT; -- what the key of a record showed the content to be; NULL: not proven
          -- Whether the bytes are not those that the record names: another upload may replace them.
          ALTER TABLE Content ADD COLUMN isRefuted INTEGER NOT NULL DEFAULT 0 CHECK (isRefuted IN (0, 1));
          ALTER TABLE Content ADD COLUMN missingSince INTEGER; -- when the bytes were first found missing or of another length
          ALTER TABLE Content ADD COLUMN unusedSince INTEGER; -- when no record needed it first
          CREATE INDEX Content_missing ON Content (missingSince) WHERE missingSince IS NOT NULL;
          CREATE INDEX Content_unused ON Content (unusedSince) WHERE unusedSince IS NOT NULL;

          ALTER TABLE ObjectContent ADD COLUMN sha256 TEXT;
          ALTER TABLE ObjectContent ADD COLUMN contentDigest TEXT;
          ALTER TABLE ObjectContent ADD COLUMN isRefuted INTEGER NOT NULL DEFAULT 0 CHECK (isRefuted IN (0, 1));
          ALTER TABLE ObjectContent ADD COLUMN missingSince INTEGER;
          ALTER TABLE ObjectContent ADD COLUMN unusedSince INTEGER;
          CREATE INDEX ObjectContent_missing ON ObjectContent (missingSince) WHERE missingSince IS NOT NULL;
          CREATE INDEX ObjectContent_unused ON ObjectContent (unusedSince) WHERE unusedSince IS NOT NULL;

          -- Files in the folder without a row, and when a sweep saw each first.
          CREATE TABLE OrphanedFile (
            file TEXT NOT NULL PRIMARY KEY,
            since INTEGER NOT NULL -- in milliseconds since 1970
          ) STRICT, WITHOUT ROWID;
          """),
      MigrationFile(
        version: 4, name: "deleted_accounts",
        sql: """
          -- 1 from the deletion of the account on: no upload can begin.
          ALTER TABLE FileMarker ADD COLUMN isClosed INTEGER NOT NULL DEFAULT 0 CHECK (isClosed IN (0, 1));
          """),
    ])
}
