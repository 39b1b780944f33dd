import Testing

@testable import CipherSQL

/// Only schema files change objects of schema files. Callers may define tables, views, indexes and triggers of their
/// own.
@Suite struct SchemaProtectionTests {
  private let vault: TemporaryVault
  private let database: Database

  private static let shop = """
    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL);
    CREATE TABLE "odd name" (a UNIQUE);
    CREATE UNIQUE INDEX byName ON item (name);
    CREATE VIEW cheap AS SELECT * FROM item WHERE price < 1;
    CREATE TRIGGER noted AFTER INSERT ON item BEGIN
      UPDATE item SET price = 0 WHERE price IS NULL;
      SELECT 1;
    END;
    CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text);
    CREATE TABLE old (a);
    ALTER TABLE old RENAME TO renamed;
    CREATE TABLE gone (a); DROP TABLE gone;
    CREATE TEMP TABLE passing (a); DROP TABLE passing;
    INSERT INTO item (name) VALUES ('lamp');
    """

  init() throws {
    vault = try TemporaryVault()
    database = try vault.open()
    try Migrator(schemas: [Self.schema(Self.shop)]).apply(to: database)
  }

  private static func schema(_ files: String...) -> Schema {
    Schema(
      name: "shop",
      migrations: files.enumerated().map { MigrationFile(version: $0.offset + 1, name: "step", sql: $0.element) })
  }

  /// The content of the database.
  private func content(_ database: Database) throws -> [String] {
    try database.read { db throws in
      try db.fetch("SELECT type || name || coalesce(sql, '') FROM sqlite_schema ORDER BY 1", as: String.self)
        + db.fetch("SELECT sql || checksum FROM SchemaMigration", as: String.self)
        + db.fetch("SELECT name FROM item", as: String.self)
    }
  }

  @Test(
    "A caller's statement cannot change an object of a schema",
    arguments: [
      ("DROP TABLE item", "the table item belongs to a schema"), ("drop table main.ITEM", "the table item belongs"),
      ("DROP TABLE IF EXISTS \"odd name\"", "the table odd name belongs"),
      ("DROP TABLE words", "the table words belongs"), ("DROP TABLE renamed", "the table renamed belongs"),
      ("DROP TABLE SchemaMigration", "the table SchemaMigration belongs"),
      ("DROP INDEX byName", "the index byName belongs"), ("DROP VIEW cheap", "the view cheap belongs"),
      ("DROP TRIGGER noted", "the trigger noted belongs"),
      ("ALTER TABLE item RENAME TO thing", "the table item belongs"),
      ("ALTER TABLE item RENAME COLUMN price TO cost", "the table item belongs"),
      ("ALTER TABLE item DROP COLUMN price", "the table item belongs"),
      ("ALTER TABLE item ADD COLUMN colour", "the table item belongs"),
      ("DELETE FROM SchemaMigration", "must not write to the table SchemaMigration"),
      ("UPDATE SchemaMigration SET sql = ''", "must not write to the table SchemaMigration"),
      ("INSERT OR REPLACE INTO SchemaMigration SELECT * FROM SchemaMigration", "must not write to the table"),
      ("CREATE TRIGGER fieldvault_mine AFTER INSERT ON item BEGIN SELECT 1; END", "fieldvault_mine is reserved"),
      ("CREATE TEMP TRIGGER fieldvault_mine AFTER INSERT ON item BEGIN SELECT 1; END", "fieldvault_mine is reserved"),
      ("CREATE INDEX FieldVault_mine ON item (price)", "the index FieldVault_mine is reserved"),
    ])
  func schemaStays(_ sql: String, _ message: String) throws {
    let before = try content(database)
    let statement = SQL(raw: sql)
    let entrances: [() throws -> Void] = [
      { try database.write { _ = try $0.execute(statement) } },
      { try database.withWriter { _ = try $0.execute(statement) } },
      { try database.withWriter { db in try db.withStatement(sql) { try $0.run() } } },
      { try database.read { _ = try $0.fetch(statement, as: SQLArgument.self) } },
      { try database.write { db in try db.savepoint { _ = try db.execute(statement) } } },
    ]
    for entrance in entrances {
      let error = #expect(throws: SQLError.self) { try entrance() }
      #expect(error?.code == .notAllowed)
      #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
      #expect(error?.hint?.isEmpty == false)
    }
    #expect(try content(database) == before)
    database.close()
    let again = try vault.open()
    #expect(try content(again) == before)
    #expect(try Migrator(schemas: [Self.schema(Self.shop)]).verify(again).isEmpty)
  }

  @Test("The hint names the valid way")
  func hint() throws {
    let error = #expect(throws: SQLError.self) { try database.write { try $0.execute("DROP TABLE item") } }
    #expect(error?.hint?.contains("add a file NNNN_name.sql to the schema's folder and apply it") == true)
  }

  @Test("A caller makes, changes and drops tables, views, indexes and triggers of its own")
  func ownObjects() throws {
    let before = try content(database)
    // Twice, because statements are kept for the next use.
    for _ in 0..<2 {
      try database.write { db throws in
        for sql in [
          "CREATE TABLE own (a, b)", "ALTER TABLE own ADD COLUMN c", "ALTER TABLE own RENAME COLUMN c TO d",
          "ALTER TABLE own DROP COLUMN d", "ALTER TABLE own RENAME TO mine", "CREATE INDEX mine_a ON mine (a)",
          "CREATE TRIGGER mine_t AFTER UPDATE ON item BEGIN INSERT INTO mine VALUES (NEW.id, 1); END",
          "UPDATE item SET name = name", "CREATE INDEX item_price ON item (price)", "DROP INDEX item_price",
          "DROP TRIGGER mine_t", "DROP INDEX mine_a", "CREATE VIEW mine_v AS SELECT * FROM mine", "DROP VIEW mine_v",
          "DROP TABLE mine", "CREATE VIRTUAL TABLE mine_words USING fts5(text)", "DROP TABLE mine_words",
          // These names belonged to the schema once.
          "CREATE TABLE gone (a)", "DROP TABLE gone", "CREATE TABLE old (a)", "DROP TABLE old",
          "CREATE TABLE passing (a)", "DROP TABLE passing",
          "CREATE TEMP TABLE item (a)", "ALTER TABLE temp.item ADD COLUMN b", "DROP TABLE temp.item",
          "CREATE TEMP TRIGGER t AFTER INSERT ON item BEGIN SELECT 1; END", "DROP TRIGGER t",
        ] { try db.execute(SQL(raw: sql)) }
      }
    }
    #expect(try content(database) == before)
  }

  @Test("A schema file can change the objects of schema files")
  func migrationsChange() throws {
    let second = """
      ALTER TABLE item ADD COLUMN colour; ALTER TABLE item RENAME COLUMN price TO cost; DROP TRIGGER noted;
      DROP VIEW cheap; DROP INDEX byName; DROP TABLE words; ALTER TABLE renamed RENAME TO again;
      CREATE TABLE later (a);
      """
    try Migrator(schemas: [Self.schema(Self.shop, second)]).apply(to: database)
    for name in ["item", "again", "later"] {
      #expect(throws: SQLError.self) { try database.write { try $0.execute("DROP TABLE \(identifier: name)") } }
    }
    try database.write { try $0.execute("CREATE TABLE renamed (a)") }
    try database.write { try $0.execute("DROP TABLE renamed") }
  }

  @Test("What another connection migrates is known at once")
  func otherConnections() throws {
    try database.write { try $0.execute("CREATE TABLE own (a)") }
    try database.write { try $0.execute("DROP TABLE own") }
    let other = try vault.open()
    try Migrator(schemas: [Self.schema(Self.shop, "CREATE TABLE own (a);")]).apply(to: other)
    let error = #expect(throws: SQLError.self) { try database.write { try $0.execute("DROP TABLE own") } }
    #expect(error?.message.contains("the table own belongs to a schema") == true)
  }

  @Test("A statement that the library kept is not run for a caller")
  func keptStatements() throws {
    let sql = SQL(raw: "DELETE FROM SchemaMigration WHERE schema = 'none'")
    try database.write { db in try db.asMigration { _ = try db.execute(sql) } }
    #expect(throws: SQLError.self) { try database.write { try $0.execute(sql) } }
  }

  @Test("A caller's trigger cannot change an object of a schema")
  func triggersOfCallers() throws {
    try database.write { db in
      try db.execute("CREATE TEMP TRIGGER t AFTER UPDATE ON item BEGIN DELETE FROM SchemaMigration; END")
    }
    let error = #expect(throws: SQLError.self) { try database.write { try $0.execute("UPDATE item SET name = 'x'") } }
    #expect(error?.code == .notAllowed)
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM SchemaMigration", as: Int.self) } == 1)
  }

  @Test(
    "The protected names follow the objects that a file creates, renames and drops",
    arguments: [
      ("CREATE TABLE a (b); CREATE INDEX IF NOT EXISTS c ON a (b)", ["a", "c"]),
      ("create unique index [x y] on a (b); CREATE VIEW \"q\"\"q\" AS SELECT 1", ["q\"q", "x y"]),
      ("CREATE TABLE main . t (a); CREATE TABLE 'single' (a); CREATE TABLE `tick` (a)", ["single", "t", "tick"]),
      ("-- CREATE TABLE no (a);\nCREATE /* TABLE no2 */ TABLE Yes (a DEFAULT 'CREATE TABLE no3 (a)')", ["yes"]),
      ("CREATE TRIGGER t AFTER DELETE ON a BEGIN DELETE FROM b; SELECT 1; END; CREATE TABLE c (d)", ["c", "t"]),
      ("CREATE TEMPORARY TABLE a (b); CREATE TABLE c (d); DROP TABLE IF EXISTS c", []),
      ("CREATE TABLE a (b); ALTER TABLE a RENAME TO c; ALTER TABLE c RENAME b TO d", ["c"]),
      ("CREATE TABLE a (b); ALTER TABLE a ADD COLUMN \"rename\"; DROP", ["a"]), ("CREATE", []), ("CREATE TABLE", []),
    ])
  func names(_ sql: String, _ expected: [String]) {
    var names: Set<String> = []
    SchemaObjects.follow(sql, &names)
    #expect(names.sorted() == expected)
  }
}
