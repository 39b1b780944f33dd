extension Catalog.ColumnType {
  /// The type that a declaration and its CHECKs give a column.
  init(declared: String, checks: [String], column: String) {
    let patterns = checks.map { CheckPattern($0, column: column) }
    switch declared.uppercased() {
    case "INT", "INTEGER": self = patterns.contains(where: \.isBool) ? .bool : .integer
    case "REAL": self = .real
    case "BLOB": self = .blob
    case "ANY", "": self = .any
    default:
      self = patterns.lazy.compactMap(\.textType).first ?? .text
    }
  }
}

/// A CHECK as a list of words, in which the column itself is `$`, to be compared with the forms of the convention.
private struct CheckPattern {
  private let words: [String]

  init(_ check: String, column: String) {
    let bytes = Array(check.utf8)
    words = SQLText.tokens(of: bytes).compactMap { token in
      let text = String(decoding: bytes[token.range], as: UTF8.self)
      switch token.kind {
      case .space, .comment: return nil
      case .string: return text
      case .word, .quotedName:
        let name = TableText.unquoted(bytes[token.range])
        return name.lowercased() == column.lowercased() ? "$" : name.lowercased()
      default: return text
      }
    }
  }

  var isBool: Bool { words == ["$", "in", "(", "0", ",", "1", ")"] }

  var textType: Catalog.ColumnType? {
    if words == ["$", "is", "strftime", "(", "'%Y-%m-%dT%H:%M:%fZ'", ",", "$", ")"] { return .timestamp }
    if words == ["$", "is", "date", "(", "$", ")"] { return .day }
    if words == ["json_valid", "(", "$", ")"] { return .json }
    if words.starts(with: ["$", "glob", "'????????-????-????-????-????????????'"]) { return .uuid }
    return enumeration
  }

  private var enumeration: Catalog.ColumnType? {
    guard words.count >= 5, words.starts(with: ["$", "in", "("]), words.last == ")" else { return nil }
    var cases: [String] = []
    for (index, word) in words[3..<words.count - 1].enumerated() {
      if index % 2 == 1 {
        guard word == "," else { return nil }
      } else {
        guard word.hasPrefix("'") else { return nil }
        cases.append(TableText.unquoted(ArraySlice(word.utf8)))
      }
    }
    return .enumeration(cases)
  }
}
