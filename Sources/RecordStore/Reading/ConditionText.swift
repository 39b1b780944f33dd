import CipherSQL
import SchemaModel

/// The tokens of a user's condition, for messages about it.
package struct ConditionText: Sendable {
  private let bytes: [UInt8]
  /// The tokens without spaces and comments.
  private let tokens: [SQLText.Token]

  package init(_ text: String) {
    bytes = Array(text.utf8)
    tokens = SQLText.tokens(of: bytes).filter { $0.kind != .space && $0.kind != .comment }
  }

  private func text(_ token: SQLText.Token) -> String { String(decoding: bytes[token.range], as: UTF8.self) }

  /// Whether the condition has a query of its own, whose columns belong to any table.
  package var hasQuery: Bool { tokens.contains { $0.kind == .word && text($0).uppercased() == "SELECT" } }

  /// Returns the fields of an entity that contain text and that the condition compares with a bare number, such as `level > 10`.
  /// SQLite compares them as text, so that '9' is greater than '10'. Conditions with a query are not examined.
  package func textsComparedWithNumbers(_ entity: Entity) -> [String] {
    if hasQuery { return [] }
    var found: [String] = []
    for (index, token) in tokens.enumerated() where token.kind == .word || token.kind == .quotedName {
      let name = token.kind == .word ? text(token) : SQLText.name(in: bytes[token.range])
      guard let column = entity.table.columns.first(where: { $0.name.lowercased() == name.lowercased() }),
        Self.isText(column.type), !found.contains(column.name)
      else { continue }
      if isNumber(after: index) || isNumber(before: index) { found.append(column.name) }
    }
    return found
  }

  private static func isText(_ type: Catalog.ColumnType) -> Bool {
    switch type {
    case .text, .enumeration, .timestamp, .day, .uuid, .json: true
    case .integer, .real, .bool, .blob, .any: false
    }
  }

  private func isNumber(after index: Int) -> Bool {
    var next = index + 1
    while next < tokens.count, isOperator(tokens[next]) { next += 1 }
    return next > index + 1 && next < tokens.count && isNumber(at: next, step: 1)
  }

  private func isNumber(before index: Int) -> Bool {
    var next = index - 1
    while next >= 0, isOperator(tokens[next]) { next -= 1 }
    return next < index - 1 && next >= 0 && isNumber(at: next, step: -1)
  }

  /// Whether a number stands alone: an operator behind it would make it a part of an expression.
  private func isNumber(at index: Int, step: Int) -> Bool {
    guard tokens[index].kind == .number else { return false }
    let beyond = index + step
    guard tokens.indices.contains(beyond), tokens[beyond].kind == .symbol else { return true }
    return ["(", ")", ","].contains(text(tokens[beyond]))
  }

  private func isOperator(_ token: SQLText.Token) -> Bool {
    token.kind == .symbol && ["=", "<", ">", "!", "==", "<=", ">=", "<>", "!="].contains(text(token))
  }
}
