import TestSupport
import Testing

@testable import CipherSQL

/// The catalogue: the facts from SQLite, and those that only the text of a table has.
@Suite struct CatalogTests {
  private func table(_ sql: String, _ name: String = "t") throws -> Catalog.Table {
    let database = try Database.inMemory()
    try database.write { _ = try $0.execute(SQL(raw: sql)) }
    return try #require(try database.read { try Catalog.read(from: $0) }.table(name))
  }

  @Test(
    "The declared type and the CHECKs give the column type",
    arguments: [
      ("INTEGER CHECK (c IN (0, 1))", Catalog.ColumnType.bool), ("INTEGER CHECK (c IN (0, 1, 2))", .integer),
      ("TEXT CHECK (c IN ('a', 'it''s'))", .enumeration(["a", "it's"])), ("TEXT CHECK (c NOT IN ('a'))", .text),
      ("TEXT CHECK (c = 'a' OR C = 'it''s' or c = 'z')", .enumeration(["a", "it's", "z"])),
      ("TEXT CHECK (c = 'a' OR c = 'b' OR other = 'c')", .text), ("TEXT CHECK (c = 'a' OR c = 'b' AND c = 'c')", .text),
      ("TEXT CHECK (c = 'a' OR c <> 'b')", .text),
      ("TEXT CHECK (c IS strftime('%Y-%m-%dT%H:%M:%fZ', c))", .timestamp),
      ("TEXT CHECK(c  is\n STRFTIME('%Y-%m-%dT%H:%M:%fZ',\"c\") -- utc\n)", .timestamp),
      ("TEXT CHECK (c IS date(c))", .day), ("TEXT CHECK (json_valid(c))", .json), ("BLOB", .blob), ("ANY", .any),
      ("TEXT NOT NULL DEFAULT 'x' CHECK (length(c) > 0) CHECK (c IS date(c))", .day),
      ("REAL CHECK (c IN (0, 1))", .real),
      ("TEXT CHECK (c GLOB '????????-????-????-????-????????????' AND length(unhex(c, '-')) IS 16)", .uuid),
    ])
  func theChecksGiveTheType(_ declaration: String, _ type: Catalog.ColumnType) throws {
    #expect(
      try table("CREATE TABLE t (c \(declaration), other TEXT CHECK (other IN ('z'))) STRICT").column("c")?.type == type
    )
  }

  @Test("A table CHECK about one column gives the type of that column") func aCheckOfTheTableAboutOneColumnCountsForIt()
    throws
  {
    let found = try table(
      "CREATE TABLE t (a INTEGER, b INTEGER, CHECK (a IN (0, 1)), CONSTRAINT x CHECK (b > a)) STRICT")
    #expect(found.column("a")?.type == .bool)
    #expect(found.column("b")?.type == .integer)
  }

  @Test("Comments become the documentation of their column") func commentsBelongToTheirColumn() throws {
    let found = try table(
      """
      CREATE TABLE t ( -- not of a column
        a TEXT, -- of a
        -- of b, above
        b REAL NOT NULL DEFAULT (1 + 2), /* of b, behind */
        "c d" INTEGER /* of c */ -- and more
      ) STRICT
      """)
    #expect(found.column("a")?.documentation?.hasSuffix("of a") == true)
    #expect(found.column("b")?.documentation == "of b, above\nof b, behind")
    #expect(found.column("c d")?.documentation == "of c\nand more")
  }

  @Test("The catalog lists primary key, foreign keys and unique keys") func keysReferencesAndUniqueColumns() throws {
    let found = try table(
      """
      CREATE TABLE t (
        id INTEGER PRIMARY KEY, up INTEGER REFERENCES t ON DELETE CASCADE, code TEXT NOT NULL UNIQUE, x TEXT, y TEXT,
        UNIQUE (x, y)
      ) STRICT
      """)
    #expect(found.column("id")?.isRowID == true)
    #expect(found.column("id")?.isNotNull == true)
    #expect(
      found.foreignKeys == [
        Catalog.ForeignKey(table: "t", columns: [.init(from: "up", to: "id")], onDelete: .cascade, onUpdate: .noAction)
      ])
    #expect(found.uniqueKeys == [["code"], ["x", "y"]])
  }

  @Test("A full-text table has its content table and rowid column") func anFTSTableKnowsItsContent() throws {
    let database = try Database.inMemory()
    try database.write { db in
      try db.execute("CREATE TABLE note (noteId INTEGER PRIMARY KEY, body TEXT) STRICT")
      try db.execute("CREATE VIRTUAL TABLE noteSearch USING fts5(body, content='note', content_rowid='noteId')")
    }
    let catalog = try database.read { try Catalog.read(from: $0) }
    #expect(catalog.tables.map(\.name) == ["note", "noteSearch"])
    #expect(catalog.table("noteSearch")?.contentTable == "note")
    #expect(catalog.table("noteSearch")?.contentRowID == "noteId")
    #expect(catalog.table("noteSearch")?.columns.map(\.name).first == "body")
  }

  /// Spaces, comments and the case of keywords change nothing.
  @Test("Layout, comments and keyword case do not change the catalog") func anyLayoutOfTheSameTableIsTheSameTable()
    throws
  {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = Seeded(seed)
    func random(_ bound: Int) -> Int { generator.number(0..<bound) }
    let words = [
      "CREATE", "TABLE", "t", "(", "a", "INTEGER", "PRIMARY", "KEY", ",", "b", "TEXT", "NOT", "NULL", "DEFAULT",
      "'x, (y'",
      "CHECK", "(", "b", "IN", "(", "'x, (y'", ",", "'z'", ")", ")", ",", "c", "INTEGER", "CHECK", "(", "c", "IN", "(",
      "0",
      ",", "1", ")", ")", ",", "UNIQUE", "(", "b", ",", "c", ")", ")", "STRICT",
    ]
    let gaps = [" ", "\n", "\t ", " /* , ) CHECK ( */ ", " -- , ( '\n"]
    let plain = try table(words.joined(separator: " "))
    for _ in 0..<200 {
      let text = words.map { word in
        let cased = word.hasPrefix("'") || random(2) == 0 ? word : word.count > 1 ? word.lowercased() : word
        return cased + gaps[random(gaps.count)]
      }.joined()
      let found = try table(text)
      #expect(found.columns.map(\.type) == plain.columns.map(\.type), "seed \(seed): \(text)")
      #expect(found.columns.map(\.isNotNull) == plain.columns.map(\.isNotNull), "seed \(seed)")
      #expect(found.uniqueKeys == plain.uniqueKeys, "seed \(seed)")
    }
  }
}
