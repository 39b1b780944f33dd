-- Something that is sold.
CREATE TABLE item (
  itemId INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL DEFAULT 'tool' CHECK (kind IN ('tool', 'spare-part')),
  price REAL NOT NULL CHECK (price >= 0), -- euros
  inStock INTEGER NOT NULL DEFAULT 1 CHECK (inStock IN (0, 1))
) STRICT;
