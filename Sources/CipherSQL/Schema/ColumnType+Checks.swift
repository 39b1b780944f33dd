extension Catalog.ColumnType {
  /// Creates the type of a column from its declaration and its CHECKs.
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

extension Catalog.Column {
  /// The expressions of the CHECKs beyond those that determine the type.
  public var rules: [String] {
    checks.filter { check in
      let pattern = CheckPattern(check, column: name)
      return type == .bool ? !pattern.isBool : pattern.textType == nil
    }
  }
}

/// A CHECK as a list of words, in which `$` is the column, for comparison with the forms of the convention.
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
    guard let cases = listed ?? compared else { return nil }
    return .enumeration(cases.map { TableText.unquoted(ArraySlice($0.utf8)) })
  }

  /// The texts of `$ IN ('a', 'b')`.
  private var listed: [String]? {
    guard words.count >= 5, words.starts(with: ["$", "in", "("]), words.last == ")" else { return nil }
    return texts(of: words[3..<words.count - 1], each: ["'"], between: ",")
  }

  /// The texts of `$ = 'a' OR $ = 'b'`.
  private var compared: [String]? { texts(of: words[...], each: ["$", "=", "'"], between: "or") }

  /// Returns the texts of a list whose members have the same form, in which `'` is a placeholder for a text.
  private func texts(of words: ArraySlice<String>, each form: [String], between separator: String) -> [String]? {
    let period = form.count + 1
    guard words.count % period == form.count else { return nil }
    var texts: [String] = []
    for (index, word) in words.enumerated() {
      switch index % period {
      case form.count: guard word == separator else { return nil }
      case let place where form[place] == "'":
        guard word.hasPrefix("'") else { return nil }
        texts.append(word)
      case let place: guard word == form[place] else { return nil }
      }
    }
    return texts
  }
}
