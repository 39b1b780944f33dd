import CipherSQL
import SyncModel

/// The text of values that a unique key or a reference compares. Values that SQLite compares as equal have one text, and
/// other values have different texts; see https://sqlite.org/datatype3.html#comparison_expressions.
enum KeyText {
  /// A text that is longer is stored as its SHA-256.
  private static let longest = 80

  /// Returns the text of the values of a key; `nil` if one is NULL, because NULL equals nothing.
  /// - Parameter collations: the collation by which each value is compared.
  static func of(_ values: [SQLArgument], collations: [String]) -> String? {
    var parts: [String] = []
    for (value, collation) in zip(values, collations) {
      guard let part = text(of: value, collation) else { return nil }
      // The length keeps two parts apart from one that contains the separator.
      parts.append("\(part.utf8.count):\(part)")
    }
    let whole = parts.joined()
    return whole.utf8.count > longest ? SyncValue.text(whole).digest : whole
  }

  private static func text(of value: SQLArgument, _ collation: String) -> String? {
    switch value {
    case .null: return nil
    case .integer(let number): return "i\(number)"
    case .real(let number):
      // A whole REAL equals the INTEGER.
      return Int64(exactly: number).map { "i\($0)" } ?? "r\(number)"
    case .text(let text): return "t" + folded(text, collation)
    case .blob(let bytes): return "b" + Base64.text(bytes)
    }
  }

  private static func folded(_ text: String, _ collation: String) -> String {
    switch collation.uppercased() {
    case "NOCASE":
      return String(decoding: text.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }, as: UTF8.self)
    case "RTRIM": return String(decoding: text.utf8.reversed().drop { $0 == 0x20 }.reversed(), as: UTF8.self)
    default: return text
    }
  }
}
