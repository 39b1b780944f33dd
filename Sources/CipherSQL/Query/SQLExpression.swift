/// An expression with a value in each row: a column, a constant, or a combination by operators and functions.
///
/// Expressions are composed from the columns of a record. The compiler checks their types, and every value is bound.
/// NULL behaves like nil in Swift where the two would differ: see ``==(_:_:)``.
public protocol SQLExpression<Value>: Sendable {
  /// The Swift type of the value.
  associatedtype Value: SQLValue
  /// The expression as a part of a statement.
  var node: SQLNode { get }
}

/// A composed expression.
public struct SQLTerm<Value: SQLValue>: SQLExpression {
  /// The expression as a part of a statement.
  public let node: SQLNode

  init(_ node: SQLNode) { self.node = node }

  /// A value as an expression.
  public init(_ value: Value) { node = .value(value) }

  /// Creates an expression from SQL text. The type is not checked: a wrong one is a `typeMismatch` when a row is
  /// read.
  public init(sql: SQL) { node = SQLNode(.raw(sql)) }

  /// A piece of SQL with expressions in it:
  /// `SQLTerm<Bool>("\($0.title) GLOB \("*7")")`.
  public init(_ template: SQLTemplate) { node = SQLNode(.template(template.parts)) }
}

extension Column: SQLExpression {
  /// The column, under the name of its table in the statement.
  @inlinable
  public var node: SQLNode { SQLNode(column: name, of: qualifier) }
}

extension SQLNode {
  @usableFromInline
  init(column name: StaticString, of qualifier: String) { kind = .column(name, of: qualifier) }
}

/// A piece of SQL as a literal in which expressions and values are interpolated.
public struct SQLTemplate: ExpressibleByStringInterpolation, Sendable {
  let parts: [SQLNode]

  /// Creates SQL text without expressions.
  public init(stringLiteral text: String) { parts = [SQLNode(.raw(SQL(raw: text)))] }

  /// A piece of SQL from the parts of an interpolated literal.
  public init(stringInterpolation: StringInterpolation) { parts = stringInterpolation.parts }

  /// Gathers the parts of the literal.
  public struct StringInterpolation: StringInterpolationProtocol, Sendable {
    var parts: [SQLNode] = []

    /// Begins a literal; the counts only set memory aside.
    public init(literalCapacity: Int, interpolationCount: Int) { parts.reserveCapacity(interpolationCount * 2 + 1) }

    /// Inserts the text of the literal.
    public mutating func appendLiteral(_ text: String) {
      if !text.isEmpty { parts.append(SQLNode(.raw(SQL(raw: text)))) }
    }

    /// Puts an expression in, with the right name of its table.
    public mutating func appendInterpolation(_ expression: some SQLExpression) { parts.append(expression.node) }

    /// Binds a value.
    public mutating func appendInterpolation(_ value: some SQLValue) { parts.append(.value(value)) }
  }
}
