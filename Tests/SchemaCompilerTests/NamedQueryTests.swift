import Testing

@testable import SchemaCompiler

/// Named queries become typed functions.
@Suite struct NamedQueryTests {
  private let sql = """
    CREATE TABLE room (
      roomId INTEGER PRIMARY KEY, title TEXT NOT NULL, area REAL,
      changedAt TEXT NOT NULL CHECK (changedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', changedAt))
    ) STRICT;
    CREATE TABLE log (
      logId INTEGER PRIMARY KEY, roomId INTEGER NOT NULL REFERENCES room (roomId), humidity REAL NOT NULL
    ) STRICT;
    """

  private func swift(_ query: String) throws -> String {
    let folder = try SchemaFolder(["0001_rooms.sql": sql, "queries/rooms.sql": query])
    return try #require(try folder.compile()["Queries_rooms.swift"])
  }

  @Test("Query parameters take the types of the columns that they are compared with")
  func parametersTakeTheTypesOfTheirColumns() throws {
    let text = try swift(
      """
      -- name: rooms :many
      SELECT title FROM room WHERE area BETWEEN :least AND :most AND changedAt >= :since AND roomId IN (:a, :b)
      LIMIT :count;
      """)
    #expect(
      text.contains(
        "static func rooms(_ db: Connection, least: Double, most: Double, since: Date, a: Int64, b: Int64, count: Int) throws -> [String]"
      ), "\(text)")
  }

  @Test("A query that selects a whole row returns the entity") func aWholeRowIsTheEntity() throws {
    #expect(try swift("-- name: find :one\nSELECT * FROM room WHERE roomId = :id;").contains("throws -> Room? {"))
  }

  @Test("Columns of the outer side of a LEFT JOIN are optional") func theOtherSideOfAnOuterJoinMayBeMissing() throws {
    let text = try swift(
      "-- name: all :many\nSELECT room.title AS title, log.humidity AS humidity, count(*) AS n FROM room LEFT JOIN log ON log.roomId = room.roomId GROUP BY 1;"
    )
    #expect(text.contains("public let title: String\n"))
    #expect(text.contains("public let humidity: Double?\n"))
    #expect(text.contains("public let n: Int64\n"))
  }

  @Test("A writing query takes a write connection and returns a count") func writesTakeTheWritingConnection() throws {
    let text = try swift("-- name: add :exec\nINSERT INTO log (roomId, humidity) VALUES (:room, :humidity);")
    #expect(
      text.contains("static func add(_ db: WriteConnection, room: Int64, humidity: Double) throws -> Int"), "\(text)")
  }

  @Test("Annotations set the documentation and the result type of a query") func annotationsOverrule() throws {
    let text = try swift(
      "-- name: mean :one\n-- How damp it is.\n-- result mean: Double\nSELECT avg(humidity) AS mean FROM log;")
    #expect(text.contains("/// How damp it is."))
    #expect(text.contains("throws -> Double? {"))
  }

  @Test(
    "A named query that SQLite would run outside of the database is refused",
    arguments: [
      "PRAGMA rekey = 'x'", "ATTACH 'x' AS y", "VACUUM INTO 'x'", "SELECT load_extension('x')", "COMMIT",
      "PRAGMA cipher_log = 'x'", "PRAGMA journal_mode = DELETE", "DROP TABLE log", "ALTER TABLE log ADD COLUMN x",
    ])
  func refusedStatements(_ sql: String) throws {
    let folder = try SchemaFolder(["0001_rooms.sql": self.sql, "queries/rooms.sql": "-- name: run :exec\n\(sql);"])
    let mistakes = try folder.mistakes()
    #expect(mistakes.count == 1 && mistakes.first?.contains("not") == true, "\(mistakes)")
  }
}
