/// A column that a schema file gives another name.
public struct ColumnRename: Hashable, Sendable {
  /// Its table.
  public let table: String
  /// Its name before.
  public let from: String
  /// Its name afterwards.
  public let to: String

  /// A rename.
  public init(table: String, from: String, to: String) { (self.table, self.from, self.to) = (table, from, to) }

  /// Finds each `ALTER TABLE t RENAME [COLUMN] a TO b` of a text, in its order.
  public static func all(in sql: String) -> [ColumnRename] {
    let bytes = Array(sql.utf8)
    var renames: [ColumnRename] = []
    var words: [String] = []
    for token in SQLText.tokens(of: bytes) {
      switch token.kind {
      case .space, .comment: continue
      case .symbol where bytes[token.range.lowerBound] == UInt8(ascii: ";"):
        if let rename = rename(words) { renames.append(rename) }
        words = []
      default: words.append(String(decoding: bytes[token.range], as: UTF8.self))
      }
    }
    if let rename = rename(words) { renames.append(rename) }
    return renames
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
    return ColumnRename(table: bare(table), from: bare(from), to: bare(to))
  }

  private static func bare(_ name: String) -> String {
    guard let first = name.first, "\"`[".contains(first), name.count >= 2 else { return name }
    let inner = String(name.dropFirst().dropLast())
    return first == "["
      ? inner
      : inner.split(separator: "\(first)\(first)", omittingEmptySubsequences: false).joined(separator: "\(first)")
  }
}
