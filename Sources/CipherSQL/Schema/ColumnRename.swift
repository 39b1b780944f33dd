/// A column that a schema file renames.
public struct ColumnRename: Hashable, Sendable {
  /// The table of the column.
  public let table: String
  /// The old name.
  public let from: String
  /// The new name.
  public let to: String

  /// Creates a rename.
  public init(table: String, from: String, to: String) { (self.table, self.from, self.to) = (table, from, to) }

  /// Finds each `ALTER TABLE t RENAME [COLUMN] a TO b` of a text, in its order.
  public static func all(in sql: String) -> [ColumnRename] {
    SQLText.statements(of: sql).compactMap(rename)
  }

  private static func rename(_ words: [String]) -> ColumnRename? {
    var rest = words[...]
    func take(_ word: String) -> Bool {
      guard rest.first?.uppercased() == word else { return false }
      rest.removeFirst()
      return true
    }
    guard take("ALTER"), take("TABLE"), let table = rest.popFirst(), take("RENAME") else { return nil }
    _ = take("COLUMN")
    guard let from = rest.popFirst(), take("TO"), let to = rest.popFirst(), rest.isEmpty else { return nil }
    return ColumnRename(
      table: SQLText.bareName(table), from: SQLText.bareName(from), to: SQLText.bareName(to))
  }
}
