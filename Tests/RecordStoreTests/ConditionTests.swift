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
