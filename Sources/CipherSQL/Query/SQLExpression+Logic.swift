/// Conditions.
extension SQLExpression where Value == Bool {
  /// Both conditions hold.
  public static func && (left: Self, right: some SQLExpression<Bool>) -> SQLTerm<Bool> {
    SQLTerm(.binary(left.node, " AND ", right.node, .and))
  }

  /// One of the conditions holds, or both.
  public static func || (left: Self, right: some SQLExpression<Bool>) -> SQLTerm<Bool> {
    SQLTerm(.binary(left.node, " OR ", right.node, .or))
  }

  /// The condition does not hold. A relation such as `<` with NULL is neither true nor false, so that its
  /// negation does not hold either.
  public static prefix func ! (operand: Self) -> SQLTerm<Bool> {
    SQLTerm(SQLNode(.prefix("NOT ", operand.node, .not)))
  }
}

/// True when a query has a row.
///
/// ```swift
/// Project.where { project in exists(Room.where { $0.projectId == project.projectId }) }
/// ```
public func exists<R: Record>(_ query: Query<R>) -> SQLTerm<Bool> { SQLTerm(SQLNode(.exists(query.parts))) }

/// The value of the first row of a query with one column; NULL when there is no row.
public func scalar<Value: SQLValue>(_ selection: ValueSelection<Value>) -> SQLTerm<Value.Bare?> {
  SQLTerm(SQLNode(.select(selection.parts, .values([selection.node]))))
}
