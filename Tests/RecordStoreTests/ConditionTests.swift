import CipherSQL
import RestorationModel
import StoreSupport
import Testing
import VaultStore

@testable import RecordStore

/// `--where` is one expression, and nothing rides on it.
@Suite struct ConditionTests {
  @Test(
    "An expression is accepted as a condition",
    arguments: [
      "title = 'x'", "squareFootage > 10 AND (level = '2' OR level IS NULL)", "title LIKE '%)%'", "title = ';'",
      "roomId IN (SELECT roomId FROM OfflineRoom)", "\"title\" = 'a -- b'",
      "SELECT 1",
    ])
  func expressionsPass(_ text: String) throws {
    try RecordReader.checkExpression(text)
    let (database, entities) = try restorationDatabase()
    var selection = RecordSelection()
    selection.condition = text
    try database.read { try RecordReader($0).forEach(try entities.entity("Room"), selection) { _ in } }
  }

  @Test(
    "Text that is not one closed expression is refused",
    arguments: [
      "", "  ", "1; DELETE FROM OfflineRoom", "1) OR (1", "1 -- ", "1 /* ", "1 /* x */", "title = 'x", "(1", "1)",
      "title = ?",
      "title = :x", "1 = 1\0",
    ])
  func whatIsNoneIsRefused(_ text: String) throws {
    #expect(throws: VaultError.self) { try RecordReader.checkExpression(text) }
  }

  @Test(
    "A mistake in a condition is reported without the text around it",
    arguments: [
      ("title =", "incomplete input"), ("title = = 1", #"near "=""#), ("titel = 'x'", "has no field 'titel'"),
      ("roomId IN (SELECT colour FROM OfflineProject)", "no such column: colour"),
      ("nofunction(title)", "no such function: nofunction"),
    ])
  func mistakes(_ text: String, _ message: String) throws {
    let (database, entities) = try restorationDatabase()
    var selection = RecordSelection()
    selection.condition = text
    let error = #expect(throws: (any Error).self) {
      try database.read { try RecordReader($0).forEach(try entities.entity("Room"), selection) { _ in } }
    }
    let shown = (error as? VaultError)?.message ?? "\(error as Any)"
    #expect(shown.contains(message) && !shown.contains(#"near ")""#), "\(shown)")
  }

  @Test(
    "Text that is compared with a bare number is noticed",
    arguments: [
      ("level > 10", ["level"]), ("10 <= level AND title = 'x'", ["level"]), ("(\"level\" = 2)", ["level"]),
      ("LEVEL<>3", ["level"]),
      ("level = '2'", []), ("squareFootage > 10", []), ("isDeleted = 0", []), ("CAST(level AS REAL) > 10", []),
      ("length(title) > 3", []), ("level = 1 || ''", []), ("level IS NULL", []), ("level IN (SELECT 1)", []),
      ("title = 1 OR level = 2", ["title", "level"]),
    ] as [(String, [String])])
  func textsAndNumbers(_ text: String, _ fields: [String]) throws {
    let (_, entities) = try restorationDatabase()
    #expect(ConditionText(text).textsComparedWithNumbers(try entities.entity("Room")) == fields)
  }

  @Test(
    "A condition with additional clauses is refused by SQLite",
    arguments: ["1 UNION SELECT 1", "1 ORDER BY 1", "1 LIMIT 0", "1 GROUP BY 1"])
  func clausesDoNotPrepare(_ text: String) throws {
    let (database, entities) = try restorationDatabase()
    var selection = RecordSelection()
    selection.condition = text
    #expect(throws: SQLError.self) {
      try database.read { try RecordReader($0).forEach(try entities.entity("Room"), selection) { _ in } }
    }
  }
}
