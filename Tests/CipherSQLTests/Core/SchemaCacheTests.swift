import Testing

@testable import CipherSQL

@Suite struct SchemaCacheTests {
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
      "CREATE TABLE Crate (id INTEGER PRIMARY KEY, room INTEGER REFERENCES rOOM, box TEXT REFERENCES Box (code))",
      "CREATE TABLE Box (Code TEXT PRIMARY KEY, word TEXT CHECK (word IN ('\u{e9}')))",
      "DROP TABLE Box",
      "CREATE TABLE Box (Code TEXT PRIMARY KEY, word TEXT CHECK (word IN ('e\u{301}')))",
      "ALTER TABLE Box RENAME COLUMN Code TO number",
      "ALTER TABLE Room RENAME TO Chamber",
      "CREATE TEMP TABLE Crate (id INTEGER)",
      "ALTER TABLE Chamber RENAME TO Room",
      "DROP TABLE temp.Crate",
      "DROP TABLE Crate",
      "DROP TABLE Box",
    ]
    for _ in 0..<2 {
      for change in changes {
        try database.write { connection in
          try connection.execute(SQL(raw: change))
          let (catalog, whole) = try (Catalog.read(from: connection), Catalog.readWhole(from: connection))
          #expect(catalog == whole, "\(change)")
          #expect(Self.bytes(catalog) == Self.bytes(whole), "\(change)")
        }
      }
      try database.write { connection in
        for name in ["Search", "Room"] { try connection.execute(SQL(raw: "DROP TABLE \(name)")) }
        try connection.execute("DROP VIEW Tall")
      }
    }
  }

  /// The text of a catalogue. Swift takes canonically equivalent texts for equal.
  private static func bytes(_ catalog: Catalog) -> [UInt8] { Array(String(describing: catalog).utf8) }

  @Test("Definitions in another order, and texts that only normalisation makes equal, have catalogues of their own")
  func exactDefinitions() throws {
    let cache = SchemaCache(limit: 8)
    func catalog(_ statements: String...) throws -> Catalog {
      var configuration = Configuration()
      configuration.schemaCache = cache
      let database = try Database.inMemory(configuration: configuration)
      defer { database.close() }
      return try database.write { connection in
        for statement in statements { try connection.execute(SQL(raw: statement)) }
        let catalog = try Catalog.read(from: connection)
        #expect(try catalog == Catalog.readWhole(from: connection))
        return catalog
      }
    }
    let table = "CREATE TABLE Shelf (room, place)"
    let (byRoom, byPlace) = ("CREATE UNIQUE INDEX a ON Shelf (room)", "CREATE UNIQUE INDEX b ON Shelf (place)")
    #expect(try catalog(table, byRoom, byPlace).table("Shelf")?.uniqueKeys == [["room"], ["place"]])
    #expect(try catalog(table, byPlace, byRoom).table("Shelf")?.uniqueKeys == [["place"], ["room"]])
    for word in ["\u{e9}", "e\u{301}"] {
      let found = try catalog("CREATE TABLE T (c TEXT CHECK (c IN ('\(word)')))").table("T")?.column("c")?.type
      guard case .enumeration(let words) = found else {
        Issue.record("not an enumeration")
        continue
      }
      #expect(words.map { Array($0.utf8) } == [Array(word.utf8)])
    }
    #expect(cache.counts == SchemaCache.Counts(hits: 0, misses: 4))
    _ = try catalog(table, byPlace, byRoom)
    #expect(cache.counts == SchemaCache.Counts(hits: 1, misses: 4))
  }

  @Test("A temporary table that hides a table does not change the catalogue of another connection")
  func temporaryTables() throws {
    var configuration = Configuration()
    configuration.schemaCache = SchemaCache(limit: 8)
    let expected = try Catalog(
      tables: [#require(try columns(configuration, hiding: false).table("Room"))])
    _ = try columns(configuration, hiding: true)
    #expect(try columns(configuration, hiding: false) == expected)
    #expect(configuration.schemaCache.counts == SchemaCache.Counts(hits: 1, misses: 2))
  }

  private func columns(_ configuration: Configuration, hiding: Bool) throws -> Catalog {
    let database = try Database.inMemory(configuration: configuration)
    defer { database.close() }
    return try database.write { connection in
      try connection.execute("CREATE TABLE Room (id INTEGER PRIMARY KEY, name TEXT)")
      if hiding { try connection.execute("CREATE TEMP TABLE Room (height REAL)") }
      return try Catalog.read(from: connection)
    }
  }

  @Test("The cache evicts the least recently used entry, and keeps values of different types apart")
  func leastRecentlyUsedGoes() throws {
    let database = try Database.inMemory()
    defer { database.close() }
    func digest(_ value: Int) throws -> SchemaDigest {
      try database.read { try $0.digest(of: ["SELECT \(value)"]) }
    }
    let cache = SchemaCache(limit: 2)
    func isCached(_ number: Int) throws -> Bool {
      var isCached = true
      let value = cache.value(for: try digest(number)) {
        isCached = false
        return number
      }
      #expect(value == number)
      return isCached
    }
    #expect(try !isCached(1))
    #expect(try !isCached(2))
    #expect(try isCached(1))
    #expect(try !isCached(3))
    #expect(try isCached(1))
    #expect(try isCached(3))
    #expect(try !isCached(2))
    #expect(try cache.value(for: digest(2)) { "two" } == "two")
    #expect(cache.counts == SchemaCache.Counts(hits: 3, misses: 5))
  }

  @Test("A digest depends on the type, the limits and the order of values, rows and queries")
  func digests() throws {
    let database = try Database.inMemory()
    defer { database.close() }
    let contents: [[SQL]] = [
      [], ["SELECT 1 WHERE 0"], ["SELECT 1 WHERE 0", "SELECT 1 WHERE 0"], ["SELECT NULL"], ["SELECT 1"], ["SELECT 1.0"],
      ["SELECT '1'"], ["SELECT x'31'"], ["SELECT ''"], ["SELECT x''"], ["SELECT 'ab', 'c'"], ["SELECT 'a', 'bc'"],
      ["SELECT 'abc'"], ["SELECT 1, 2"], ["SELECT 2, 1"], ["SELECT 1", "SELECT 2"],
      ["SELECT 1 UNION ALL SELECT 2"], ["SELECT 2 UNION ALL SELECT 1"],
      ["SELECT \("\u{e9}")"], ["SELECT \("e\u{301}")"],
    ]
    func digests() throws -> [SchemaDigest] {
      try database.read { connection in try contents.map { try connection.digest(of: $0) } }
    }
    #expect(try Set(digests()).count == contents.count)
    #expect(try digests() == digests())
    try database.read { connection in
      let first = try connection.digest(of: ["SELECT 1"])
      let second = try connection.digest(of: ["SELECT 2"], following: first)
      #expect(try second != connection.digest(of: ["SELECT 2"]))
      #expect(try second == connection.digest(of: ["SELECT 2"], following: connection.digest(of: ["SELECT 1"])))
    }
  }
  @Test("A digest of schemas depends on their names and order, and on the number, name and text of each file")
  func digestsOfSchemas() {
    func schema(_ name: String, _ files: (Int, String, String)...) -> Schema {
      Schema(name: name, migrations: files.map { MigrationFile(version: $0.0, name: $0.1, sql: $0.2) })
    }
    let (first, second) = (schema("a", (1, "b", "c")), schema("d"))
    let contents = [
      [], [first], [second], [first, second], [second, first], [first, first], [schema("x", (1, "b", "c"))],
      [schema("a", (2, "b", "c"))], [schema("a", (1, "x", "c"))], [schema("a", (1, "b", "x"))], [schema("a")],
      [schema("a", (1, "bc", ""))], [schema("a", (1, "", "bc"))], [schema("a", (1, "b", "c"), (2, "b", "c"))],
      [schema("a", (1, "b", "\u{e9}"))], [schema("a", (1, "b", "e\u{301}"))],
    ]
    #expect(Set(contents.map { SchemaDigest(of: $0) }).count == contents.count)
    #expect(SchemaDigest(of: [first, second]) == SchemaDigest(of: [schema("a", (1, "b", "c")), schema("d")]))
  }
}
