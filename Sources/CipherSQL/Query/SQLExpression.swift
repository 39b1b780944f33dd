/// An expression with a value in each row: a column, a constant, or a combination by operators and functions.
///
/// Expressions are composed from the columns of a record. The compiler checks their types, and every value is bound.
/// NULL behaves like nil in Swift where the two would differ: see ``==(_:_:)-(_,Self.Value.Bare?)``.
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

  /// Creates an expression from a value.
  public init(_ value: Value) { node = .value(value) }

  /// Creates an expression from SQL text. The type is not checked: a wrong type is a `typeMismatch` when a row is read.
  public init(sql: SQL) { node = SQLNode(.raw(sql)) }

  /// Creates an expression from SQL with interpolated expressions: `SQLTerm<Bool>("\($0.title) GLOB \("*7")")`.
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

  /// Creates a piece of SQL from the parts of an interpolated literal.
  public init(stringInterpolation: StringInterpolation) { parts = stringInterpolation.parts }

  /// Gathers the parts of the literal.
  public struct StringInterpolation: StringInterpolationProtocol, Sendable {
    var parts: [SQLNode] = []

    /// Begins a literal. The counts only reserve memory.
    public init(literalCapacity: Int, interpolationCount: Int) { parts.reserveCapacity(interpolationCount * 2 + 1) }

    /// Inserts the text of the literal.
    public mutating func appendLiteral(_ text: String) {
      if !text.isEmpty { parts.append(SQLNode(.raw(SQL(raw: text)))) }
    }

    /// Inserts an expression with the right name of its table.
    public mutating func appendInterpolation(_ expression: some SQLExpression) { parts.append(expression.node) }

    /// Binds a value.
    public mutating func appendInterpolation(_ value: some SQLValue) { parts.append(.value(value)) }
  }
}

/// The number of rows of a group.
public func countAll() -> SQLTerm<Int> { SQLTerm(SQLNode(.word("count(*)"))) }

/// Aggregates over the rows of a group. NULL is ignored.
extension SQLExpression {
  /// The number of rows with a value; with `distinct`, the number of different values.
  public func count(distinct: Bool = false) -> SQLTerm<Int> {
    SQLTerm(.call("count", node, isDistinct: distinct))
  }

  /// The smallest value; `nil` without values.
  public func min() -> SQLTerm<Value.Bare?> { SQLTerm(.call("min", node)) }

  /// The largest value; `nil` without values.
  public func max() -> SQLTerm<Value.Bare?> { SQLTerm(.call("max", node)) }
}

extension SQLExpression where Value.Bare: SQLNumber {
  /// The sum; `nil` without values. A sum of integers beyond 64 bits is an error.
  public func sum(distinct: Bool = false) -> SQLTerm<Value.Bare?> {
    SQLTerm(.call("sum", node, isDistinct: distinct))
  }

  /// The average; `nil` without values.
  public func average(distinct: Bool = false) -> SQLTerm<Double?> {
    SQLTerm(.call("avg", node, isDistinct: distinct))
  }
}

/// A type that SQL can calculate with.
public protocol SQLNumber: SQLValue {}
extension Int: SQLNumber {}
extension Int32: SQLNumber {}
extension Int64: SQLNumber {}
extension Double: SQLNumber {}

/// Arithmetic. NULL on either side makes the result NULL. An integer over 64 bits becomes a REAL in SQLite, which is
/// a `typeMismatch` when it is read as an integer.
extension SQLExpression where Value.Bare: SQLNumber {
  /// The sum with a value.
  public static func + (left: Self, right: Value.Bare) -> SQLTerm<Value> {
    SQLTerm(.binary(left.node, " + ", .value(right), .addition))
  }

  /// The sum with another expression of the same type.
  public static func + <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Value>
  where Other.Value == Value {
    SQLTerm(.binary(left.node, " + ", right.node, .addition))
  }

  /// The sum with another expression where one of the two may be NULL.
  @_disfavoredOverload
  public static func + <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Value.Bare?>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(.binary(left.node, " + ", right.node, .addition))
  }

  /// The difference with a value.
  public static func - (left: Self, right: Value.Bare) -> SQLTerm<Value> {
    SQLTerm(.binary(left.node, " - ", .value(right), .addition))
  }

  /// The difference with another expression of the same type.
  public static func - <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Value>
  where Other.Value == Value {
    SQLTerm(.binary(left.node, " - ", right.node, .addition))
  }

  /// The difference with another expression where one of the two may be NULL.
  @_disfavoredOverload
  public static func - <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Value.Bare?>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(.binary(left.node, " - ", right.node, .addition))
  }

  /// The product with a value.
  public static func * (left: Self, right: Value.Bare) -> SQLTerm<Value> {
    SQLTerm(.binary(left.node, " * ", .value(right), .multiplication))
  }

  /// The product with another expression of the same type.
  public static func * <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Value>
  where Other.Value == Value {
    SQLTerm(.binary(left.node, " * ", right.node, .multiplication))
  }

  /// The product with another expression where one of the two may be NULL.
  @_disfavoredOverload
  public static func * <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Value.Bare?>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(.binary(left.node, " * ", right.node, .multiplication))
  }

  /// The quotient by a value; without the remainder for integers, NULL for a division by zero.
  public static func / (left: Self, right: Value.Bare) -> SQLTerm<Value.Bare?> {
    SQLTerm(.binary(left.node, " / ", .value(right), .multiplication))
  }

  /// The quotient by another expression; without the remainder for integers, NULL for a division by zero.
  public static func / <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Value.Bare?>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(.binary(left.node, " / ", right.node, .multiplication))
  }

  /// The negated number.
  public static prefix func - (operand: Self) -> SQLTerm<Value> { SQLTerm(.call("-", operand.node)) }
}

/// Comparisons of expressions with values and with each other.
///
/// They behave as in Swift: `==` and `!=` treat NULL as an ordinary value, like `nil`. Therefore `$0.note != "x"` keeps
/// the rows without a note, and a comparison with `nil` is `IS NULL` or `IS NOT NULL`. The relations `<`, `<=`, `>` and
/// `>=` are false for NULL on either side.
extension SQLExpression {
  /// Whether both values are equal. For a column that may be NULL this is `IS`, which can use an index like `=`.
  public static func == (left: Self, right: Value.Bare) -> SQLTerm<Bool> {
    SQLTerm(equal(left.node, .value(right), isNullable: Value.isNullable))
  }

  /// Whether both values are equal; `nil` is `IS NULL`.
  @_disfavoredOverload
  public static func == (left: Self, right: Value.Bare?) -> SQLTerm<Bool> {
    guard let right else { return SQLTerm(left.node.isNull) }
    return left == right
  }

  /// Whether both expressions are equal; NULL is equal to NULL.
  public static func == <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Bool>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(equal(left.node, right.node, isNullable: Value.isNullable || Other.Value.isNullable))
  }

  /// Whether the values differ; true for NULL. For a column that may be NULL this is `IS NOT`.
  public static func != (left: Self, right: Value.Bare) -> SQLTerm<Bool> {
    SQLTerm(different(left.node, .value(right), isNullable: Value.isNullable))
  }

  /// Whether the values differ; `nil` is `IS NOT NULL`.
  @_disfavoredOverload
  public static func != (left: Self, right: Value.Bare?) -> SQLTerm<Bool> {
    guard let right else { return SQLTerm(left.node.isNotNull) }
    return left != right
  }

  /// Whether the expressions differ. NULL differs from every value, but not from NULL.
  public static func != <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Bool>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(different(left.node, right.node, isNullable: Value.isNullable || Other.Value.isNullable))
  }

  /// Whether the value is less; false for NULL.
  public static func < (left: Self, right: Value.Bare) -> SQLTerm<Bool> {
    SQLTerm(.binary(left.node, " < ", .value(right), .relation))
  }

  /// Whether the value is less than another expression; false for NULL.
  public static func < <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Bool>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(.binary(left.node, " < ", right.node, .relation))
  }

  /// Whether the value is less or equal; false for NULL.
  public static func <= (left: Self, right: Value.Bare) -> SQLTerm<Bool> {
    SQLTerm(.binary(left.node, " <= ", .value(right), .relation))
  }

  /// Whether the value is less than or equal to another expression; false for NULL.
  public static func <= <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Bool>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(.binary(left.node, " <= ", right.node, .relation))
  }

  /// Whether the value is greater; false for NULL.
  public static func > (left: Self, right: Value.Bare) -> SQLTerm<Bool> {
    SQLTerm(.binary(left.node, " > ", .value(right), .relation))
  }

  /// Whether the value is greater than another expression; false for NULL.
  public static func > <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Bool>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(.binary(left.node, " > ", right.node, .relation))
  }

  /// Whether the value is greater or equal; false for NULL.
  public static func >= (left: Self, right: Value.Bare) -> SQLTerm<Bool> {
    SQLTerm(.binary(left.node, " >= ", .value(right), .relation))
  }

  /// Whether the value is greater than or equal to another expression; false for NULL.
  public static func >= <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Bool>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(.binary(left.node, " >= ", right.node, .relation))
  }
}

private func equal(_ left: SQLNode, _ right: SQLNode, isNullable: Bool) -> SQLNode {
  .binary(left, isNullable ? " IS " : " = ", right, .equality)
}

private func different(_ left: SQLNode, _ right: SQLNode, isNullable: Bool) -> SQLNode {
  .binary(left, isNullable ? " IS NOT " : " <> ", right, .equality)
}

/// Conditions.
extension SQLExpression where Value == Bool {
  /// Whether both conditions hold.
  public static func && (left: Self, right: some SQLExpression<Bool>) -> SQLTerm<Bool> {
    SQLTerm(.binary(left.node, " AND ", right.node, .and))
  }

  /// Whether at least one of the conditions holds.
  public static func || (left: Self, right: some SQLExpression<Bool>) -> SQLTerm<Bool> {
    SQLTerm(.binary(left.node, " OR ", right.node, .or))
  }

  /// Whether the condition does not hold. A relation such as `<` with NULL is neither true nor false, so its negation
  /// does not hold either.
  public static prefix func ! (operand: Self) -> SQLTerm<Bool> {
    SQLTerm(SQLNode(.prefix("NOT ", operand.node, .not)))
  }
}

/// Whether a query has a row.
///
/// ```swift
/// Project.where { project in exists(Room.where { $0.projectId == project.projectId }) }
/// ```
public func exists<R: Record>(_ query: Query<R>) -> SQLTerm<Bool> { SQLTerm(SQLNode(.exists(query.parts))) }

/// Returns the value of the first row of a query with one column; NULL without rows.
public func scalar<Value: SQLValue>(_ selection: ValueSelection<Value>) -> SQLTerm<Value.Bare?> {
  SQLTerm(SQLNode(.select(selection.parts, .values([selection.node]))))
}

/// Text.
extension SQLExpression where Value.Bare == String {
  /// Whether the text matches a pattern in which `%` means any text and `_` any character. ASCII letters match in
  /// either case.
  /// - Parameter escape: a character that removes the meaning of a following `%` or `_`.
  public func like(_ pattern: String, escape: Character? = nil) -> SQLTerm<Bool> {
    SQLTerm(SQLNode(.like(node, .value(pattern), escape: escape.map { .value(String($0)) })))
  }

  /// Whether the value contains a text. Ignores the case of ASCII letters.
  public func contains(_ text: String) -> SQLTerm<Bool> { like("%" + likeEscaped(text) + "%", escape: "\\") }

  /// Whether the value begins with a text. Ignores the case of ASCII letters.
  public func hasPrefix(_ text: String) -> SQLTerm<Bool> { like(likeEscaped(text) + "%", escape: "\\") }

  /// Whether the value ends with a text. Ignores the case of ASCII letters.
  public func hasSuffix(_ text: String) -> SQLTerm<Bool> { like("%" + likeEscaped(text), escape: "\\") }

  /// The text with its ASCII letters in lower case.
  public var lowercased: SQLTerm<Value> { SQLTerm(.call("lower", node)) }

  /// The text with its ASCII letters in upper case.
  public var uppercased: SQLTerm<Value> { SQLTerm(.call("upper", node)) }

  /// The number of characters (code points) of the text, up to a NUL.
  public var length: SQLTerm<Int?> { SQLTerm(.call("length", node)) }
}

/// Returns a text for a LIKE pattern whose escape character is the backslash.
private func likeEscaped(_ text: String) -> String {
  var result = String.UnicodeScalarView()
  for scalar in text.unicodeScalars {
    if scalar == "%" || scalar == "_" || scalar == "\\" { result.append("\\") }
    result.append(scalar)
  }
  return String(result)
}
