import CipherSQL
import Testing

/// Neither a value nor a name can change the meaning of a statement.
@Suite struct InjectionTests {
  static let hostile = [
    "'; DROP TABLE OfflineRoom; --", "\"; DROP TABLE OfflineRoom; --", "') OR 1=1 --", "?1", "\\'", "a\"b", "\"", "'",
    "\"\u{301}; DROP TABLE OfflineRoom; --", "nul\0\"; --", "`x`", "[x]", "%_", "t0.title", "",
  ]

  @Test("A hostile value stays a value", arguments: hostile) func values(_ text: String) throws {
    let database = try Database.house()
    try database.write { db in
      #expect(try db.fetchOne("SELECT \(text)", as: String.self) == text)
      #expect(try Room.where { $0.title == text }.fetch(db).isEmpty)
      #expect(try Room.where { $0.title.in([text]) }.fetch(db).isEmpty)
      #expect(try db.fetch("SELECT value FROM json_each('[1]') WHERE '1' IN (\(list: [text]))", as: Int.self).isEmpty)
      try Room.where { $0.roomId == 1 }.update(db) { $0.note.set(text) }
      #expect(try db.find(Room.self, 1)?.note == text)
      #expect(try Room.where { $0.note == text }.count(db) == 1)
      if !text.isEmpty, !text.contains("\0") { #expect(try Room.where { $0.note.contains(text) }.count(db) == 1) }
      #expect(try Room.all.includingDeleted().count(db) == 4)
    }
  }

  @Test("A hostile name stays a name", arguments: hostile) func names(_ text: String) throws {
    let database = try Database.house()
    try database.write { db in
      do {
        try db.execute("CREATE TABLE \(identifier: text) (\(identifier: text + "x") TEXT)")
        try db.execute("INSERT INTO \(identifier: text) VALUES ('here')")
        let found = try db.fetch("SELECT \(identifier: text + "x") FROM \(identifier: text)", as: String.self)
        #expect(found == ["here"])
      } catch let error as SQLError {
        // A NUL ends the text for SQLite, which then sees an unfinished name.
        #expect(text.contains("\0") && error.code == .invalidSQL)
      }
      #expect(try Room.all.includingDeleted().count(db) == 4)
    }
  }

  @Test("A table name outside the query is never written into the SQL", arguments: hostile) func namesOfTables(
    _ text: String
  ) throws {
    let columns = Room.Columns(qualifier: text)
    let query = Room.where { _ in columns.title == "x" }
    // A name of a table that is not in the query is replaced by the next free one and never written.
    #expect(try query.sql.text.hasSuffix("FROM OfflineRoom AS t0 WHERE t1.title = ? AND t0.isDeleted = 0"))
  }

  @Test("A second statement, an unknown quoted name and a missing argument are refused")
  func aSecondStatementIsRefused() throws {
    try Database.house().write { db in
      for sql in ["SELECT 1; DROP TABLE OfflineLog", "SELECT 1; --x\n SELECT 2", "SELECT 1;\0 DROP TABLE OfflineLog"] {
        let error = #expect(throws: SQLError.self) { try db.execute(SQL(raw: sql)) }
        #expect(error?.code == .invalidSQL)
      }
      try db.execute(SQL(raw: "SELECT 1; -- done\n ;"))
      #expect(throws: SQLError.self) { try db.execute("SELECT \"no such column\"") }
      #expect(throws: SQLError.self) { try db.execute(SQL(raw: "SELECT ?", arguments: [])) }
    }
  }

  @Test("Rows are fetched as tuples") func tuples() throws {
    let rows = try Database.house().read { db in
      try db.fetchRows("SELECT title, floor FROM OfflineRoom WHERE floor > \(0) ORDER BY 1", as: String.self, Int.self)
    }
    #expect(rows.map(\.0) == ["Attic", "Hall", "Kitchen"])
    #expect(rows.map(\.1) == [2, 1, 1])
  }
}
