-- One reading of an instrument.
CREATE TABLE reading (
  readingId INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  projectId INTEGER NOT NULL,
  date TEXT NOT NULL CHECK (date IS strftime('%Y-%m-%dT%H:%M:%fZ', date)),
  relativeHumidity REAL NOT NULL CHECK (relativeHumidity BETWEEN 0 AND 100), -- %
  temperature REAL NOT NULL, -- °F
  dewPoint REAL, -- °F
  note TEXT,
  isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1)),
  createdAt TEXT NOT NULL CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
  updatedAt TEXT NOT NULL CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt))
) STRICT;

CREATE INDEX reading_project_updated ON reading (projectId, isDeleted, updatedAt);
