/// The parts of a CREATE INDEX text that SQLite's catalogue lacks: its expressions and its condition. The text is
/// known to be valid, so it is only split.
struct IndexDefinition {
  /// The indexed expressions, without their order.
  private(set) var terms: [String] = []
  /// The expression after WHERE.
  private(set) var condition: String?

  init(_ sql: String) {
    let bytes = Array(sql.utf8)
    func text(_ token: SQLText.Token) -> String { String(decoding: bytes[token.range], as: UTF8.self) }
    let tokens = SQLText.tokens(of: bytes).filter { $0.kind != .space && $0.kind != .comment }
    var depth = 0
    var term: [SQLText.Token] = []
    func finish() {
      if let last = term.last, ["asc", "desc"].contains(text(last).lowercased()) { term.removeLast() }
      guard let first = term.first, let last = term.last else { return }
      terms.append(String(decoding: bytes[first.range.lowerBound..<last.range.upperBound], as: UTF8.self))
      term = []
    }
    for (index, token) in tokens.enumerated() {
      let symbol = token.kind == .symbol ? text(token) : ""
      if symbol == ")" { depth -= 1 }
      if depth == 0, symbol == ")" {
        finish()
        let rest = tokens.dropFirst(index + 1)
        if let word = rest.first, text(word).lowercased() == "where", let first = rest.dropFirst().first,
          let last = rest.last(where: { text($0) != ";" })
        {
          condition = String(decoding: bytes[first.range.lowerBound..<last.range.upperBound], as: UTF8.self)
        }
        break
      }
      if depth == 1, symbol == "," { finish() } else if depth > 0 { term.append(token) }
      if symbol == "(" { depth += 1 }
    }
  }
}
