/// The parts of a CREATE TABLE text that SQLite's catalogue lacks: the CHECKs and the comments.
///
/// The text is known to be valid, so it is only split: at the commas of the outermost parentheses, and each part by
/// its first word.
public struct TableText {
  /// The parts of the text about one column.
  struct ColumnText {
    var checks: [String] = []
    var documentation: String?
  }

  /// The columns by lowercase name.
  private(set) var columns: [String: ColumnText] = [:]
  /// The expressions of the table's CHECKs.
  private(set) var tableChecks: [String] = []
  private let bytes: [UInt8]
  private var arguments: [[SQLText.Token]] = []

  init(_ sql: String) {
    bytes = Array(sql.utf8)
    arguments = split(SQLText.tokens(of: bytes))
    for part in arguments { read(part) }
  }

  /// Returns the CHECKs of the table that name only this column.
  func checks(about column: String) -> [String] {
    tableChecks.filter { check in
      let text = Array(check.utf8)
      let names = SQLText.tokens(of: text).filter { $0.kind == .word || $0.kind == .quotedName }.map {
        Self.unquoted(text[$0.range]).lowercased()
      }
      let named = Set(names).intersection(columns.keys)
      return named == [column.lowercased()]
    }
  }

  /// Returns the value of `name = 'value'` among the arguments of a virtual table.
  func option(_ name: String) -> String? {
    for part in arguments {
      let tokens = part.filter { $0.kind != .space && $0.kind != .comment }
      if tokens.count == 3, word(tokens[0]) == name, text(tokens[1]) == "=" {
        return Self.unquoted(bytes[tokens[2].range])
      }
    }
    return nil
  }

  // MARK: Splitting

  /// Returns the parts between the outermost parentheses. A comment after a comma on the same line belongs to the part
  /// before.
  private func split(_ tokens: [SQLText.Token]) -> [[SQLText.Token]] {
    var parts: [[SQLText.Token]] = []
    var part: [SQLText.Token] = []
    var depth = 0
    var isBehindComma = false
    for token in tokens {
      let symbol = token.kind == .symbol ? text(token) : ""
      if symbol == ")" { depth -= 1 }
      if depth == 0, symbol == ")" { break }
      if depth > 0 {
        if depth == 1, symbol == "," {
          parts.append(part)
          part = []
          isBehindComma = true
        } else if isBehindComma, token.kind == .comment, !parts.isEmpty {
          parts[parts.count - 1].append(token)
          isBehindComma = false
        } else {
          if token.kind != .space || bytes[token.range].contains(0x0a) { isBehindComma = false }
          part.append(token)
        }
      }
      if symbol == "(" { depth += 1 }
    }
    if !part.isEmpty { parts.append(part) }
    return parts
  }

  private mutating func read(_ part: [SQLText.Token]) {
    guard let first = part.first(where: { $0.kind != .space && $0.kind != .comment }) else { return }
    let name = Self.unquoted(bytes[first.range])
    let isConstraint =
      first.kind == .word && ["constraint", "primary", "unique", "check", "foreign"].contains(name.lowercased())
    if isConstraint {
      tableChecks += checks(in: part)
    } else {
      columns[name.lowercased()] = ColumnText(checks: checks(in: part), documentation: documentation(in: part))
    }
  }

  /// Returns the text inside the parentheses of each CHECK of a part.
  private func checks(in part: [SQLText.Token]) -> [String] {
    var found: [String] = []
    var depth = 0
    var start: Int?
    var isCheck = false
    for token in part {
      switch token.kind {
      case .space, .comment: continue
      case .word where depth == 0: isCheck = word(token) == "check"
      case .symbol where text(token) == "(":
        if depth == 0, isCheck { start = token.range.upperBound }
        depth += 1
      case .symbol where text(token) == ")":
        depth -= 1
        if depth == 0, let begin = start {
          found.append(String(decoding: bytes[begin..<token.range.lowerBound], as: UTF8.self))
          start = nil
        }
        if depth == 0 { isCheck = false }
      default: break
      }
    }
    return found
  }

  private func documentation(in part: [SQLText.Token]) -> String? {
    let lines = part.filter { $0.kind == .comment }.flatMap { token in
      Self.commentLines(String(decoding: bytes[token.range], as: UTF8.self))
    }
    return lines.isEmpty ? nil : lines.joined(separator: "\n")
  }

  /// Returns the lines of a comment without its marks.
  public static func commentLines(_ comment: String) -> [String] {
    var text = Substring(comment)
    if text.hasPrefix("--") { text = text.dropFirst(2) }
    if text.hasPrefix("/*") { text = text.dropFirst(2) }
    if text.hasSuffix("*/") { text = text.dropLast(2) }
    return text.split(separator: "\n").map { line in
      var line = line.drop { $0 == " " || $0 == "*" || $0 == "\t" }
      while let last = line.last, last.isWhitespace { line.removeLast() }
      return String(line)
    }.filter { !$0.isEmpty }
  }

  // MARK: Tokens

  private func text(_ token: SQLText.Token) -> String { String(decoding: bytes[token.range], as: UTF8.self) }
  private func word(_ token: SQLText.Token) -> String { text(token).lowercased() }

  /// Returns a name or a text without its quotes.
  public static func unquoted(_ bytes: ArraySlice<UInt8>) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.count >= 2, let first = text.first, let last = text.last else { return text }
    switch (first, last) {
    case ("\"", "\""), ("'", "'"), ("`", "`"):
      return text.dropFirst().dropLast().split(separator: "\(first)\(first)", omittingEmptySubsequences: false)
        .joined(separator: "\(first)")
    case ("[", "]"): return String(text.dropFirst().dropLast())
    default: return text
    }
  }
}
