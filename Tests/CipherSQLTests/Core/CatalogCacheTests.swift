import Testing

@testable import CipherSQL

@Suite struct CatalogCacheTests {
  @Test("After each change of the schema the catalogue is the one that the database has")
  func catalogueFollowsTheDefinitions() throws {
    let database = try Database.inMemory()
    defer { database.close() }
    let changes = [
      "CREATE TABLE Room (id INTEGER PRIMARY KEY, name TEXT)",
      "CREATE TABLE Shelf (id INTEGER PRIMARY KEY, room INTEGER REFERENCES Room, place INTEGER)",
      "CREATE UNIQUE INDEX byPlace ON Shelf (room, place)",
      "DROP INDEX byPlace",
      "CREATE UNIQUE INDEX byPlace ON Shelf (room, place) WHERE place > 0",
      "ALTER TABLE Room RENAME COLUMN name TO title",
      "ALTER TABLE Room ADD COLUMN height REAL NOT NULL DEFAULT 2.5",
      "CREATE VIEW Tall AS SELECT id, height FROM Room WHERE height > 3",
      "DROP VIEW Tall",
      "CREATE VIEW Tall AS SELECT id, title FROM Room WHERE height > 3",
      "ALTER TABLE Shelf RENAME TO Board",
      "CREATE VIRTUAL TABLE Search USING fts5 (title, content = 'Room', content_rowid = 'id')",
      "DROP TABLE Board",
    ]
    for _ in 0..<2 {
      for change in changes {
        try database.write { connection in
          try connection.execute(SQL(raw: change))
          #expect(try Catalog.read(from: connection) == Catalog.readWhole(from: connection), "\(change)")
        }
      }
      try database.write { connection in
        for name in ["Search", "Room"] { try connection.execute(SQL(raw: "DROP TABLE \(name)")) }
        try connection.execute("DROP VIEW Tall")
      }
    }
  }

  @Test("The cache evicts the least recently used entry")
  func leastRecentlyUsedGoes() {
    let cache = CatalogCache(limit: 2)
    let catalog = Catalog(tables: [])
    cache.keep(catalog, of: "a")
    cache.keep(catalog, of: "b")
    #expect(cache.catalog(of: "a") != nil)
    cache.keep(catalog, of: "c")
    #expect(cache.catalog(of: "b") == nil && cache.catalog(of: "a") != nil && cache.catalog(of: "c") != nil)
  }
}
