@testable import CipherSQL
import Testing

@Suite struct StatementCacheTests {
  @Test("A query with other arguments reuses its prepared statement") func theSameCompositionIsPreparedOnce() throws {
    try Database.house().read { db in
      func statement(_ floor: Int64) throws -> ObjectIdentifier {
        try db.withStatement(try Room.where { $0.floor == floor }.order { $0.title.ascending }.sql.text) {
          ObjectIdentifier($0)
        }
      }
      let first = try statement(1)
      #expect(try statement(2) == first)
    }
  }

  @Test("A nested query with equal text gets its own statement")
  func theSameTextInsideItselfGetsAStatementOfItsOwn() throws {
    try Database.house().read { db in
      var pairs: [String] = []
      let rooms = Room.all.order { $0.title.ascending }
      try rooms.forEach(db) { outer in
        try rooms.forEach(db) { inner in pairs.append("\(outer.title.prefix(1))\(inner.title.prefix(1))") }
      }
      #expect(pairs == ["AA", "AC", "AK", "CA", "CC", "CK", "KA", "KC", "KK"])
      let found = try db.withStatement(Room.findSQL) { _ in try db.find(Room.self, 1) }
      #expect(found?.title == "Attic")
    }
  }

  @Test("The cache evicts the least recently used statement") func theLeastRecentlyUsedMakesRoom() throws {
    try Database.inMemory().read { db in
      let kept = try db.withStatement("SELECT 'kept'" as String) { ObjectIdentifier($0) }
      for number in 0..<1000 {
        #expect(try db.fetchOne(SQL(raw: "SELECT \(number)"), as: Int.self) == number)
        #expect(try db.withStatement("SELECT 'kept'" as String) { ObjectIdentifier($0) } == kept)
      }
    }
  }

  @Test("A statement can be used again after an error") func aStatementIsResetAfterAnError() throws {
    try Database.house().write { db in
      for _ in 0..<2 {
        #expect(throws: SQLError.self) { try db.insert(Room(projectId: 9, title: "")) }
      }
      try db.insert(Room(projectId: 1, title: "Porch"))
    }
  }
}
