/// The assignment of a value to one column in an UPDATE.
public struct SQLAssignment<Owner: Record>: Sendable {
  let column: StaticString
  let node: SQLNode
}

extension Column {
  /// Puts a value into the column.
  public func set(_ value: Value) -> SQLAssignment<Owner> { SQLAssignment(column: name, node: .value(value)) }

  /// Puts the value of an expression into the column; it sees the row as it was.
  public func set<Other: SQLExpression>(_ expression: Other) -> SQLAssignment<Owner> where Other.Value == Value {
    SQLAssignment(column: name, node: expression.node)
  }

  /// Puts the value of an expression that is never NULL into a column that may be.
  public func set<Other: SQLExpression>(_ expression: Other) -> SQLAssignment<Owner> where Value == Other.Value? {
    SQLAssignment(column: name, node: expression.node)
  }
}

/// A column of any type, of which only the name is used.
public protocol SQLColumn<Owner>: Sendable {
  /// The record that has the column.
  associatedtype Owner: Record
  /// Its name in the table.
  var name: StaticString { get }
}

extension Column: SQLColumn {}

/// Gathers assignments, one behind the other or in an array.
@resultBuilder
public enum SQLAssignmentBuilder<Owner: Record> {
  /// Accepts one assignment.
  public static func buildExpression(_ one: SQLAssignment<Owner>) -> [SQLAssignment<Owner>] { [one] }
  /// Accepts the assignments of an array, in its order.
  public static func buildExpression(_ several: [SQLAssignment<Owner>]) -> [SQLAssignment<Owner>] { several }
  /// Begins with the assignments of the first line.
  public static func buildPartialBlock(first: [SQLAssignment<Owner>]) -> [SQLAssignment<Owner>] { first }
  /// Appends the assignments of the next line.
  public static func buildPartialBlock(
    accumulated: [SQLAssignment<Owner>], next: [SQLAssignment<Owner>]
  ) -> [SQLAssignment<Owner>] { accumulated + next }
  /// Accepts the assignments of an `if` without `else`; no assignment if its condition is false.
  public static func buildOptional(_ some: [SQLAssignment<Owner>]?) -> [SQLAssignment<Owner>] { some ?? [] }
  /// The assignments of the first branch of an `if` or `switch`.
  public static func buildEither(first: [SQLAssignment<Owner>]) -> [SQLAssignment<Owner>] { first }
  /// The assignments of the other branch of an `if` or `switch`.
  public static func buildEither(second: [SQLAssignment<Owner>]) -> [SQLAssignment<Owner>] { second }
}
