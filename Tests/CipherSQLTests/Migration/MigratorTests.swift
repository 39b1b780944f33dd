import Testing

@testable import CipherSQL

/// Versioned SQL files: each runs completely or not at all, and a changed or missing file is refused.
@Suite struct MigratorTests {
  private func schema(_ files: [(Int, String)], name: String = "shop") -> Schema {
    Schema(name: name, migrations: files.map { MigrationFile(version: $0.0, name: "step", sql: $0.1) })
  }

  private let first = (
    1, "-- The items.\nCREATE TABLE item (\n  itemId INTEGER PRIMARY KEY,\n  name TEXT NOT NULL\n) STRICT;\n"
  )
  private let second = (2, "ALTER TABLE item ADD COLUMN price REAL;\n")

  private func message(_ body: () throws -> Void) -> String {
    do { try body() } catch let error as SQLError { return "\(error.code.rawValue): \(error.message)" } catch {
      return "another error: \(error)"
    }
    return "no error"
  }

  private func tables(_ database: Database) throws -> [String] {
    try database.read {
      try $0.fetch("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name", as: String.self)
    }
  }

  @Test("An applied migration is recorded and not applied again") func whatIsAppliedIsRecordedAndNotAppliedAgain()
    throws
  {
    let database = try Database.inMemory()
    let done = try Migrator(schemas: [schema([first])]).apply(to: database)
    #expect(done.map(\.version) == [1])
    #expect(done[0].checksum == "\(schema([first]).migrations[0].checksum)" && done[0].checksum.count == 64)
    let both = Migrator(schemas: [schema([first, second])])
    #expect(try database.read { try both.pending(in: $0).map(\.file.version) } == [2])
    #expect(try both.apply(to: database).map(\.version) == [2])
    #expect(try both.apply(to: database).isEmpty)
    let records = try database.read { try MigrationRecord.all(in: $0) }
    #expect(records.map(\.sql) == [first.1, second.1])
  }

  @Test("The checksum is SHA-256") func theChecksumIsSHA256() {
    // FIPS 180-4, the example "abc".
    let file = MigrationFile(version: 1, name: "x", sql: "abc")
    #expect(file.checksum == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test("A failing schema file is reported with its line and rolls back to the state after the previous file")
  func aFileThatFailsNamesItsLineAndLeavesTheDatabaseAsTheOneBeforeLeftIt() throws {
    let database = try Database.inMemory()
    let broken = schema([
      first,
      (
        2, "CREATE TABLE more (a TEXT) STRICT;\nINSERT INTO more VALUES ('x');\n\nINSERT INTO item (itemId) VALUES (1);"
      ),
    ])
    #expect(
      message { try Migrator(schemas: [broken]).apply(to: database) }
        == "migration: shop/0002_step.sql:4: NOT NULL constraint failed: item.name")
    #expect(try tables(database) == ["SchemaMigration", "item"])
    #expect(try database.read { try MigrationRecord.all(in: $0) }.map(\.version) == [1])
  }

  @Test("A syntax error is reported with file and line") func aSyntaxErrorNamesItsOwnLine() throws {
    let broken = schema([(1, "CREATE TABLE a (\n  x TEXT,\n  y TEXT CHEK (y)\n) STRICT;")])
    #expect(
      message { try Migrator(schemas: [broken]).apply(to: try .inMemory()) }
        == "migration: shop/0001_step.sql:3: near \"y\": syntax error")
  }

  @Test("A schema file that changed after it was applied is reported with its line")
  func aFileThatWasChangedAfterItWasAppliedNamesTheLine() throws {
    let database = try Database.inMemory()
    try Migrator(schemas: [schema([first])]).apply(to: database)
    let changed = schema([(1, first.1.replacing("name TEXT", with: "title TEXT")), second])
    let text = message { try Migrator(schemas: [changed]).apply(to: database) }
    #expect(text.hasPrefix("migration: shop/0001_step.sql:4: the file was changed after it was applied at "))
    #expect(try database.read { try MigrationRecord.all(in: $0) }.count == 1)
  }

  @Test("Comments and white space of an applied file may change; any other change names the line of its statement")
  func commentsMayChange() throws {
    let database = try Database.inMemory()
    let sql =
      "-- A thing.\nCREATE TABLE thing (name TEXT, note TEXT DEFAULT 'a  -- b');\nINSERT INTO thing VALUES ('x', NULL);\n"
    try Migrator(schemas: [schema([(1, sql)])]).apply(to: database)
    func result(_ changed: String) -> String {
      message { try Migrator(schemas: [schema([(1, changed)])]).apply(to: database) }
    }
    let allowed = [
      sql.replacing("-- A thing.", with: "/* Things\n   of a shop. */\n\n--"),
      sql.replacing("(name TEXT, note", with: "(\n  name\tTEXT, -- the name\r\n  note"), "\n\n" + sql + "-- The end.",
    ]
    for text in allowed { #expect(result(text) == "no error", "\(text)") }
    let refused = [
      (sql.replacing("'a  -- b'", with: "'a -- b'"), 2), (sql.replacing("thing (", with: "things ("), 2),
      (sql.replacing("'x'", with: "'X'"), 3), (sql.replacing("INSERT", with: "-- INSERT"), 2),
      (sql.replacing("-- A thing.\n", with: "\n\n\n").replacing("NULL", with: "1"), 5),
      (sql + "DELETE FROM thing;", 4), (sql.replacing("name TEXT", with: "nameTEXT"), 2),
    ]
    for (text, line) in refused {
      #expect(result(text).hasPrefix("migration: shop/0001_step.sql:\(line): the file was changed"), "\(text)")
    }
  }

  @Test("A missing version, a repeated version and a newer database are refused")
  func gapsDuplicatesAndANewerDatabaseAreRefused() throws {
    let database = try Database.inMemory()
    #expect(
      message { try Migrator(schemas: [schema([first, (3, "SELECT 1")])]).apply(to: database) }
        == "migration: shop/0003_step.sql: version 2 is missing before it")
    #expect(
      message { try Migrator(schemas: [schema([first, (1, "SELECT 1")])]).apply(to: database) }
        == "migration: shop/0001_step.sql: version 1 appears twice")
    #expect(try tables(database).isEmpty)
    try Migrator(schemas: [schema([first, second])]).apply(to: database)
    #expect(
      message { try Migrator(schemas: [schema([first])]).apply(to: database) }
        == "migration: the database is at version 2 of schema 'shop', but this program supports versions up to 1")
  }

  @Test(
    "Transaction statements, pragmas and ATTACH in a schema file are refused",
    arguments: [
      "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT x", "PRAGMA foreign_keys = OFF", "VACUUM", "ATTACH 'x' AS y",
    ])
  func whatDoesNotBelongIntoAFileIsRefused(_ statement: String) throws {
    let database = try Database.inMemory()
    let text = message { try Migrator(schemas: [schema([(1, first.1 + statement + ";")])]).apply(to: database) }
    #expect(text.contains("is not allowed in a schema file"), "\(text)")
    #expect(try tables(database).isEmpty)
  }

  @Test("A migration with dangling references is rolled back") func referencesAreCheckedBeforeTheCommit() throws {
    let database = try Database.inMemory()
    let child =
      "CREATE TABLE child (itemId INTEGER REFERENCES item (itemId)) STRICT;\nINSERT INTO child VALUES (7), (8);"
    #expect(
      message { try Migrator(schemas: [schema([first, (2, child)])]).apply(to: database) }
        == "migration: shop/0002_step.sql:1: after this file 2 rows of child would refer to rows of item that do not exist"
    )
    #expect(try tables(database) == ["SchemaMigration", "item"])
    #expect(try database.read { try $0.fetchOne("PRAGMA foreign_keys", as: Int.self) } == 1)
  }

  @Test("Rebuilding a table keeps the rows that reference it") func rebuildingATableKeepsTheRowsThatReferToIt() throws {
    let database = try Database.inMemory()
    let child = (2, "CREATE TABLE child (itemId INTEGER REFERENCES item (itemId) ON DELETE CASCADE) STRICT;")
    try Migrator(schemas: [schema([first, child])]).apply(to: database)
    try database.write { db in
      try db.execute("INSERT INTO item (name) VALUES ('a')")
      try db.execute("INSERT INTO child VALUES (1)")
    }
    let rebuild = (
      3,
      """
      CREATE TABLE new (itemId INTEGER PRIMARY KEY, name TEXT NOT NULL, size INTEGER NOT NULL DEFAULT 0) STRICT;
      INSERT INTO new (itemId, name) SELECT itemId, name FROM item;
      DROP TABLE item;
      ALTER TABLE new RENAME TO item;
      """
    )
    let migrator = Migrator(schemas: [schema([first, child, rebuild])])
    try migrator.apply(to: database)
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM child", as: Int.self) } == 1)
    #expect(try migrator.verify(database).isEmpty)
  }

  @Test("Derived objects are created after each file, and in a draft after the last pending file only")
  func derivedObjects() throws {
    let files = [first, (2, "CREATE INDEX byName ON item (name);"), (3, "CREATE TABLE other (n INTEGER) STRICT;")]
    func migrator(_ count: Int) -> Migrator {
      Migrator(
        schemas: [schema(Array(files.prefix(count)))], willApply: { try $0.execute("DROP VIEW IF EXISTS derived") },
        derive: { db, file in
          try db.execute(SQL(raw: "CREATE VIEW derived AS SELECT \(file.version) AS version"))
          try db.execute("CREATE TABLE IF NOT EXISTS derivations (n INTEGER)")
          try db.execute("INSERT INTO derivations VALUES (\(file.version))")
        })
    }
    func derivations(_ database: Database) throws -> [Int] {
      try database.read { try $0.fetch("SELECT n FROM derivations", as: Int.self) }
    }
    let (stepwise, draft) = (try Database.inMemory(), try Database.inMemory())
    try migrator(3).apply(to: stepwise)
    #expect(try derivations(stepwise) == [1, 2, 3])
    try migrator(2).apply(to: draft, isDraft: true)
    #expect(try derivations(draft) == [2])
    try migrator(3).apply(to: draft)
    #expect(try derivations(draft) == [2, 3])
    #expect(try draft.read { try $0.fetchOne("SELECT version FROM derived", as: Int.self) } == 3)
  }

  @Test("Verification reports schema changes made by hand") func verifyShowsWhatWasChangedByHand() throws {
    let database = try Database.inMemory()
    let migrator = Migrator(schemas: [schema([first, (2, "CREATE INDEX byName ON item (name);")])])
    try migrator.apply(to: database)
    #expect(try migrator.verify(database).isEmpty)
    try database.write { db in
      try db.asMigration {
        try db.execute("DROP INDEX byName")
        try db.execute("ALTER TABLE item ADD COLUMN secret TEXT")
      }
      try db.execute("CREATE VIEW v AS SELECT 1")
    }
    #expect(
      try migrator.verify(database).map { "\($0.kind.rawValue) \($0.type) \($0.name)" } == [
        "missing index byName", "changed table item", "unexpected view v",
      ])
  }
}
