/// The number of rows of a group.
public func countAll() -> SQLTerm<Int> { SQLTerm(SQLNode(.word("count(*)"))) }

/// Aggregates over the rows of a group. NULL is left out.
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
  /// The sum; nil when there is no value. A sum of integers beyond 64 bits is an error.
  public func sum(distinct: Bool = false) -> SQLTerm<Value.Bare?> {
    SQLTerm(.call("sum", node, isDistinct: distinct))
  }

  /// The average; nil when there is no value.
  public func average(distinct: Bool = false) -> SQLTerm<Double?> {
    SQLTerm(.call("avg", node, isDistinct: distinct))
  }
}
