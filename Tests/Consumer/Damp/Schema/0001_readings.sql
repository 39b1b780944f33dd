-- A reading of an instrument.
CREATE TABLE reading (
  readingId INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE
    CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
  place TEXT NOT NULL,
  humidity REAL NOT NULL CHECK (humidity BETWEEN 0 AND 100) -- %
) STRICT;
