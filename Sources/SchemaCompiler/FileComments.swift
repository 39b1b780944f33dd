import CipherSQL

/// The comments directly above a CREATE TABLE or CREATE VIEW. SQLite keeps the comments inside the statement, but not
/// these.
struct FileComments {
  private var comments: [String: String] = [:]

  init(_ sql: String) {
    let bytes = Array(sql.utf8)
    var pending: [String] = []
    let tokens = SQLText.tokens(of: bytes)
    for (index, token) in tokens.enumerated() {
      let text = String(decoding: bytes[token.range], as: UTF8.self)
      switch token.kind {
      case .comment: pending += TableText.commentLines(text)
      case .space:
        // An empty line separates a comment from the next statement.
        if text.filter({ $0 == "\n" }).count > 1 { pending = [] }
      case .word where text.uppercased() == "CREATE":
        if let name = Self.name(behind: index, tokens, bytes), !pending.isEmpty {
          comments[name.lowercased()] = pending.joined(separator: "\n")
        }
        pending = []
      default: pending = []
      }
    }
  }

  func documentation(of name: String) -> String? { comments[name.lowercased()] }

  private static func name(behind index: Int, _ tokens: [SQLText.Token], _ bytes: [UInt8]) -> String? {
    let skipped: Set<String> = ["TEMP", "TEMPORARY", "TABLE", "VIEW", "IF", "NOT", "EXISTS"]
    for token in tokens[(index + 1)...] where token.kind == .word || token.kind == .quotedName {
      let text = String(decoding: bytes[token.range], as: UTF8.self)
      if token.kind == .word, skipped.contains(text.uppercased()) { continue }
      return TableText.unquoted(bytes[token.range])
    }
    return nil
  }
}
