import CipherSQL

/// The default of a column as the default of a Swift argument.
enum Defaults {
  /// `nil` if Swift has no equivalent, so the caller must pass the argument.
  static func swift(for column: Catalog.Column) -> String? {
    if column.isRowID { return "0" }
    guard let sql = column.defaultSQL.map(trimmed), sql.uppercased() != "NULL" else {
      return column.isNotNull ? nil : "nil"
    }
    let lowered = sql.lowercased()
    switch column.type {
    case .bool: return sql == "1" ? "true" : sql == "0" ? "false" : nil
    case .integer: return Int64(sql).map(String.init)
    case .real: return Double(sql).map { "\($0)" }
    case .text: return text(sql).map(swiftLiteral)
    case .json: return text(sql).map { "JSONText(\(swiftLiteral($0)))" }
    case .enumeration(let values): return text(sql).flatMap { Model.cases(values)[$0] }.map { "." + $0 }
    case .timestamp where lowered.contains("'now'"): return ".nowInMilliseconds()"
    case .uuid where lowered.contains("random"): return ".version7()"
    default: return column.isNotNull ? nil : "nil"
    }
  }

  /// The text of an SQL string literal.
  private static func text(_ sql: String) -> String? {
    guard sql.count >= 2, sql.first == "'", sql.last == "'" else { return nil }
    return sql.dropFirst().dropLast().split(separator: "''", omittingEmptySubsequences: false).joined(separator: "'")
  }

  private static func trimmed(_ sql: String) -> String {
    var text = Substring(sql)
    while let first = text.first, first.isWhitespace { text.removeFirst() }
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return String(text)
  }
}
