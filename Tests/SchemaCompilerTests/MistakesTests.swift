import Testing

@testable import SchemaCompiler

/// A mistake in any SQL file is reported at its file, line and column.
@Suite struct MistakesTests {
  private let table = "CREATE TABLE room (roomId INTEGER PRIMARY KEY, title TEXT NOT NULL) STRICT;\n"

  private func mistakes(_ files: [String: String]) throws -> [String] { try SchemaFolder(files).mistakes() }

  @Test("A syntax error is reported with file, line and column") func aSyntaxErrorInASchemaFile() throws {
    let found = try mistakes(["0001_rooms.sql": table + "\nCREATE TABEL x (a);\n"])
    #expect(found == ["0001_rooms.sql:3:1: error: near \"TABEL\": syntax error"])
  }

  @Test("A conflict with an earlier file is reported at the statement of the later file")
  func aSecondFileThatContradictsTheFirst() throws {
    let found = try mistakes(["0001_rooms.sql": table, "0002_more.sql": "-- again\nCREATE TABLE room (a) STRICT;"])
    #expect(found.count == 1)
    #expect(found[0].hasPrefix("0002_more.sql:2:1: error: "), "\(found)")
  }

  @Test("A transaction statement in a schema file is refused") func transactionsDoNotBelongIntoAFile() throws {
    let found = try mistakes(["0001_rooms.sql": "BEGIN;\n" + table])
    #expect(
      found.first?.hasPrefix("0001_rooms.sql:1:1: error: BEGIN is not allowed in a schema file") == true, "\(found)")
  }

  @Test("Seed rows with dangling references are refused") func seedRowsThatReferToNothing() throws {
    let found = try mistakes([
      "0001_rooms.sql": table
        + "CREATE TABLE log (roomId INTEGER REFERENCES room (roomId)) STRICT;\nINSERT INTO log VALUES (7);"
    ])
    #expect(found.first?.contains("1 rows of log would refer to rows of room that do not exist") == true, "\(found)")
  }

  @Test("A reference to columns that are not unique is reported at its file")
  func referencesThatCannotBeChecked() throws {
    let reference = "CREATE TABLE log (title TEXT REFERENCES room (title)) STRICT;"
    #expect(
      try mistakes(["0001_rooms.sql": table, "0002_logs.sql": reference])
        == ["0002_logs.sql:1:1: error: foreign key mismatch - \"log\" referencing \"room\""])
    let unknown = "CREATE TABLE log (title TEXT REFERENCES room (colour)) STRICT;"
    #expect(
      try mistakes(["0001_rooms.sql": table + unknown])
        == ["0001_rooms.sql:1:1: error: foreign key mismatch - \"log\" referencing \"room\""])
  }

  @Test("A view of a table that is not there is reported at its line")
  func viewsThatCannotBeRead() throws {
    let view = "-- Large ones.\nCREATE VIEW big AS SELECT size FROM rooms;"
    #expect(
      try mistakes(["0001_rooms.sql": table, "0002_views.sql": view])
        == ["0002_views.sql:2:1: error: after this file the view big cannot be read: no such table: main.rooms"])
  }

  @Test(
    "A missing version, a repeated version and a malformed file name are reported",
    arguments: [
      (["0001_a.sql", "0003_c.sql"], "version 2 is missing"),
      (["0001_a.sql", "0001_b.sql"], "version 1 appears twice"),
      (["1_a.sql"], "the name is not NNNN_what_it_does.sql"), (["0001_A.sql"], "the name is not NNNN_what_it_does.sql"),
    ])
  func namesOfFiles(_ names: [String], _ message: String) throws {
    let files = Dictionary(
      uniqueKeysWithValues: names.enumerated().map { ($1, "CREATE TABLE t\($0) (a TEXT) STRICT;") })
    let found = try mistakes(files)
    #expect(found.count == 1 && found[0].contains(message), "\(found)")
  }

  @Test("An unknown column of a query is reported with file, line and column") func anUnknownColumnInAQuery() throws {
    let found = try mistakes([
      "0001_rooms.sql": table,
      "queries/rooms.sql": "-- name: all :many\nSELECT title,\n  colour FROM room;\n",
    ])
    #expect(found == ["queries/rooms.sql:3:3: error: no such column: colour"])
  }

  @Test("One run reports the mistakes of several queries") func severalQueriesReportTheirMistakesInOneRun() throws {
    let found = try mistakes([
      "0001_rooms.sql": table,
      "queries/rooms.sql": """
      -- name: one :one
      SELECT nothing FROM room;

      -- name: two :many
      SELECT title FROM nowhere;

      -- name: three :exec
      SELECT title FROM room;

      -- name: four :many
      UPDATE room SET title = 'x';
      """,
    ])
    #expect(
      found == [
        "queries/rooms.sql:2:8: error: no such column: nothing",
        "queries/rooms.sql:5:19: error: no such table: nowhere",
        "queries/rooms.sql:7:1: error: three returns rows; declare it :one or :many",
        "queries/rooms.sql:10:1: error: four returns no rows; declare it :exec",
      ] || found.count == 4, "\(found)")
  }

  @Test("A query marked no-scan that scans a table is refused") func aScanOfAWholeTableWhereItIsForbidden() throws {
    let found = try mistakes([
      "0001_rooms.sql": table,
      "queries/rooms.sql": "-- name: byTitle :many\n-- no-scan\nSELECT * FROM room WHERE title = :title;\n",
    ])
    #expect(
      found == ["queries/rooms.sql:3:1: error: byTitle scans the whole table room; add an index or remove -- no-scan"])
  }

  @Test("A result column of unknown type is refused with a hint") func aTypeThatCannotBeMadeOut() throws {
    let found = try mistakes([
      "0001_rooms.sql": table, "queries/rooms.sql": "-- name: odd :many\nSELECT title || :ending AS name FROM room;\n",
    ])
    #expect(found.count == 1 && found[0].contains("add a line -- "), "\(found)")
  }
}
