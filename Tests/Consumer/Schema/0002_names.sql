-- Names that mean something in SQL, in Swift or in the generated code.
CREATE TABLE "order item" (
  "key" INTEGER PRIMARY KEY,
  "class" TEXT NOT NULL,
  "self" TEXT,
  "init" TEXT,
  "default" TEXT,
  hashValue TEXT,
  qualifier TEXT,
  id TEXT,
  "air-mover" TEXT,
  air_mover TEXT,
  "2nd" TEXT,
  "" TEXT,
  "odd ""name""" TEXT,
  statement TEXT,
  row TEXT,
  first TEXT,
  db TEXT UNIQUE,
  string TEXT NOT NULL DEFAULT 'a_b' CHECK (string IN ('self', 'init', 'allCases', 'a-b', 'a_b', '', '+')),
  doubled INTEGER NOT NULL GENERATED ALWAYS AS ("key" * 2),
  today TEXT NOT NULL GENERATED ALWAYS AS (date(0, 'unixepoch')) CHECK (today IS date(today)),
  anything ANY,
  echo ANY NOT NULL GENERATED ALWAYS AS (coalesce(anything, 0))
) STRICT;

CREATE TABLE connection (
  "odd ""name""" TEXT PRIMARY KEY,
  orderId INTEGER REFERENCES "order item" ("key")
) STRICT;

CREATE TABLE "values" (
  "(" TEXT NOT NULL,
  "where" TEXT NOT NULL,
  statement TEXT,
  PRIMARY KEY ("(", "where")
) STRICT;

CREATE VIEW "select" AS SELECT "key" AS "self", "class" FROM "order item";
