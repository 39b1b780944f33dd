/// A part of a composed statement before it is written as text. Values stay values until they are bound.
public struct SQLNode: Sendable {
  let kind: Kind

  init(_ kind: Kind) { self.kind = kind }

  indirect enum Kind: Sendable {
    case column(StaticString, of: String)
    case value(SQLArgument)
    case raw(SQL)
    case template([SQLNode])
    case word(StaticString)
    case binary(SQLNode, StaticString, SQLNode, Precedence)
    case prefix(StaticString, SQLNode, Precedence)
    case postfix(SQLNode, StaticString, Precedence)
    case call(StaticString, [SQLNode], isDistinct: Bool)
    case cast(SQLNode, StaticString)
    case between(SQLNode, SQLNode, SQLNode)
    case like(SQLNode, SQLNode, escape: SQLNode?)
    case list([SQLNode])
    case select(SelectParts, SelectParts.Result)
    case exists(SelectParts)
  }

  /// The precedence of an operator, so that parentheses are written only where they are needed.
  enum Precedence: Int, Comparable, Sendable {
    case or = 1
    case and, not, equality, relation, addition, multiplication, whole

    static func < (left: Precedence, right: Precedence) -> Bool { left.rawValue < right.rawValue }
  }

  var precedence: Precedence {
    switch kind {
    case .binary(_, _, _, let precedence), .prefix(_, _, let precedence), .postfix(_, _, let precedence): precedence
    case .between, .like: .equality
    case .raw, .template: .or
    default: .whole
    }
  }

  static func value(_ value: some SQLValue) -> SQLNode { SQLNode(.value(value.sqlArgument)) }

  static func binary(_ left: SQLNode, _ word: StaticString, _ right: SQLNode, _ precedence: Precedence) -> SQLNode {
    SQLNode(.binary(left, word, right, precedence))
  }

  static func call(_ name: StaticString, _ arguments: SQLNode..., isDistinct: Bool = false) -> SQLNode {
    SQLNode(.call(name, arguments, isDistinct: isDistinct))
  }

  static func and(_ left: SQLNode?, _ right: SQLNode) -> SQLNode {
    guard let left else { return right }
    return .binary(left, " AND ", right, .and)
  }

  var isNull: SQLNode { SQLNode(.postfix(self, " IS NULL", .equality)) }
  var isNotNull: SQLNode { SQLNode(.postfix(self, " IS NOT NULL", .equality)) }
}
