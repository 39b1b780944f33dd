/// Splits SQL text like SQLite's tokenizer, as far as statements, comments, strings and parameters require it. Source
/// of the rules: https://sqlite.org/lang_comment.html and the tokenizer's behaviour on quotes.
public enum SQLText {
  /// The kind of a token.
  public enum Kind: Equatable, Sendable {
    case space, comment, word, number, string, blob, quotedName, parameter, symbol, unfinished
  }

  /// A token of SQL and its position.
  public struct Token: Sendable {
    /// The kind; `unfinished` for a string or quoted name without an end.
    public let kind: Kind
    /// The range of its bytes in the text.
    public let range: Range<Int>
  }

  /// Splits a text into all its tokens, including comments and spaces.
  public static func tokens(of text: [UInt8]) -> [Token] {
    var tokens: [Token] = []
    var position = 0
    while position < text.count {
      let (kind, end) = token(in: text, at: position)
      tokens.append(Token(kind: kind, range: position..<end))
      position = end
    }
    return tokens
  }

  /// Returns whether a text has only spaces, comments and semicolons.
  public static func isBlank(_ text: some Sequence<UInt8>) -> Bool {
    let bytes = Array(text)
    return tokens(of: bytes).allSatisfy {
      switch $0.kind {
      case .space, .comment: true
      case .symbol: bytes[$0.range.lowerBound] == UInt8(ascii: ";")
      default: false
      }
    }
  }

  /// Returns the name inside quotes, with its doubled quotes undoubled.
  package static func name(in quoted: ArraySlice<UInt8>) -> String {
    let inner = quoted.dropFirst().dropLast()
    guard let close = quoted.last, close != UInt8(ascii: "]") else { return String(decoding: inner, as: UTF8.self) }
    var name: [UInt8] = []
    var isSecond = false
    for byte in inner {
      isSecond = byte == close && !isSecond
      if !isSecond { name.append(byte) }
    }
    return String(decoding: name, as: UTF8.self)
  }

  /// Returns the first word of a text after spaces, comments and semicolons, in upper case, and its position; `nil` for
  /// a blank text. The first word can be a symbol or a number.
  static func firstWord(of text: [UInt8], from start: Int = 0) -> (word: String, position: Int)? {
    var position = start
    while position < text.count {
      let (kind, end) = token(in: text, at: position)
      switch kind {
      case .space, .comment: break
      case .symbol where text[position] == UInt8(ascii: ";"): break
      default: return (String(decoding: text[position..<end], as: UTF8.self).uppercased(), position)
      }
      position = end
    }
    return nil
  }

  private static func token(in text: [UInt8], at start: Int) -> (Kind, Int) {
    let first = text[start]
    let second = start + 1 < text.count ? text[start + 1] : 0
    switch first {
    case 0x20, 0x09, 0x0a, 0x0c, 0x0d:
      return (.space, run(text, start, while: isSpace))
    case UInt8(ascii: "-") where second == UInt8(ascii: "-"):
      return (.comment, run(text, start) { $0 != 0x0a })
    case UInt8(ascii: "/") where second == UInt8(ascii: "*"):
      var end = start + 2
      while end + 1 < text.count, !(text[end] == UInt8(ascii: "*") && text[end + 1] == UInt8(ascii: "/")) { end += 1 }
      // SQLite ends an open comment at the end of the text.
      return (.comment, min(end + 2, text.count))
    case UInt8(ascii: "'"):
      return quoted(text, start, close: first, .string)
    case UInt8(ascii: "\""), UInt8(ascii: "`"):
      return quoted(text, start, close: first, .quotedName)
    case UInt8(ascii: "["):
      return quoted(text, start, close: UInt8(ascii: "]"), .quotedName)
    case UInt8(ascii: "x"), UInt8(ascii: "X"):
      if second == UInt8(ascii: "'") {
        let (kind, end) = quoted(text, start + 1, close: second, .blob)
        return (kind, end)
      }
      return (.word, run(text, start, while: isWord))
    case UInt8(ascii: "?"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "$"), UInt8(ascii: "#"):
      let end = run(text, start + 1, while: isWord)
      return (end > start + 1 || first == UInt8(ascii: "?") ? .parameter : .symbol, end)
    case UInt8(ascii: "0")...UInt8(ascii: "9"):
      return (.number, run(text, start) { isWord($0) || $0 == UInt8(ascii: ".") })
    default:
      if isWord(first) { return (.word, run(text, start, while: isWord)) }
      return (.symbol, start + 1)
    }
  }

  private static func run(_ text: [UInt8], _ start: Int, while isPart: (UInt8) -> Bool) -> Int {
    var end = start
    while end < text.count, isPart(text[end]) { end += 1 }
    return end
  }

  private static func quoted(_ text: [UInt8], _ start: Int, close: UInt8, _ kind: Kind) -> (Kind, Int) {
    var end = start + 1
    while end < text.count {
      if text[end] == close {
        // A doubled quote is one in the text, but not for brackets.
        if close != UInt8(ascii: "]"), end + 1 < text.count, text[end + 1] == close {
          end += 2
          continue
        }
        return (kind, end + 1)
      }
      end += 1
    }
    return (.unfinished, end)
  }

  // Plain comparisons: the ranges of the standard library are slow in debug builds, and opening a vault looks at each byte of its tables.
  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0a || byte == 0x09 || byte == 0x0d || byte == 0x0c
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    byte >= 0x61 && byte <= 0x7a || byte >= 0x41 && byte <= 0x5a || byte == 0x5f || byte >= 0x30 && byte <= 0x39
      || byte >= 0x80
  }
}

extension SQLText {
  /// Returns the words, names and symbols of each statement of a text, without spaces and comments. The body of a
  /// trigger is split at its semicolons too.
  static func statements(of sql: String) -> [[String]] {
    let bytes = Array(sql.utf8)
    var statements: [[String]] = [[]]
    for token in tokens(of: bytes) {
      switch token.kind {
      case .space, .comment: continue
      case .symbol where bytes[token.range.lowerBound] == UInt8(ascii: ";"): statements.append([])
      default: statements[statements.count - 1].append(String(decoding: bytes[token.range], as: UTF8.self))
      }
    }
    return statements.filter { !$0.isEmpty }
  }

  /// Returns a name without its quotes. SQLite also accepts a name in single quotes.
  static func bareName(_ text: String) -> String {
    guard let first = text.first, "\"`['".contains(first), text.utf8.count >= 2 else { return text }
    return name(in: Array(text.utf8)[...])
  }

  /// Returns the condition of the CREATE INDEX statement of a partial index; `nil` for other indexes.
  package static func condition(ofIndex sql: String) -> String? {
    let bytes = Array(sql.utf8)
    var depth = 0
    for token in tokens(of: bytes) {
      switch token.kind {
      case .symbol where bytes[token.range.lowerBound] == UInt8(ascii: "("): depth += 1
      case .symbol where bytes[token.range.lowerBound] == UInt8(ascii: ")"): depth -= 1
      case .word where depth == 0 && String(decoding: bytes[token.range], as: UTF8.self).uppercased() == "WHERE":
        return String(decoding: bytes[token.range.upperBound...], as: UTF8.self)
      default: continue
      }
    }
    return nil
  }
}
