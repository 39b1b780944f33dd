import CipherSQL
import Foundation
import TestSupport
import Testing

/// Text of any origin in quotes of SQL. A quote with a combining character behind it is one Character, and still a quote for SQLite.
@Suite struct QuotingTests {
  private static func text(_ random: inout Seeded) -> String {
    (0..<random.number(1..<8)).map { _ in random.pick(["'", "\"", "\u{301}", "\u{200D}", "\\", "x", ";", "--", "]"]) }
      .joined()
  }

  @Test("Text in single quotes is the same text for SQLite")
  func literals() throws {
    var random = Seeded()
    let database = try Database.inMemory()
    for _ in 0..<300 {
      let text = Self.text(&random)
      let found = try database.read { try $0.fetchOne(SQL(raw: "SELECT '\(text.replacingQuotes)'"), as: String.self) }
      #expect(found == text)
    }
  }

  @Test("A quoted name is the same name for SQLite")
  func names() throws {
    var random = Seeded()
    for _ in 0..<100 {
      let name = Self.text(&random)
      let database = try Database.inMemory()
      try database.write { try $0.execute("CREATE TABLE \(identifier: name) (x)") }
      #expect(try database.read { try $0.fetch("SELECT name FROM sqlite_schema", as: String.self) } == [name])
    }
  }
}
