/// The assignment of a value to one column in an UPDATE.
public struct SQLAssignment<Owner: Record>: Sendable {
  let column: StaticString
  let node: SQLNode
}

extension Column {
  /// Assigns a value to the column.
  public func set(_ value: Value) -> SQLAssignment<Owner> { SQLAssignment(column: name, node: .value(value)) }

  /// Assigns the value of an expression to the column. The expression uses the values of the row before the update.
  public func set<Other: SQLExpression>(_ expression: Other) -> SQLAssignment<Owner> where Other.Value == Value {
    SQLAssignment(column: name, node: expression.node)
  }

  /// Assigns the value of an expression that is never NULL to a column that may be NULL.
  public func set<Other: SQLExpression>(_ expression: Other) -> SQLAssignment<Owner> where Value == Other.Value? {
    SQLAssignment(column: name, node: expression.node)
  }
}

/// A column of any type, of which only the name is used.
public protocol SQLColumn<Owner>: Sendable {
  /// The record that has the column.
  associatedtype Owner: Record
  /// The name of the column in the table.
  var name: StaticString { get }
}

extension Column: SQLColumn {}

/// Collects assignments, one per line or in an array.
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
  /// Accepts the assignments of the first branch of an `if` or `switch`.
  public static func buildEither(first: [SQLAssignment<Owner>]) -> [SQLAssignment<Owner>] { first }
  /// Accepts the assignments of the other branch of an `if` or `switch`.
  public static func buildEither(second: [SQLAssignment<Owner>]) -> [SQLAssignment<Owner>] { second }
}
