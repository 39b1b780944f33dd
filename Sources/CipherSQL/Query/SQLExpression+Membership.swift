/// Membership in ranges, lists and subqueries.
extension SQLExpression {
  /// Whether the value is within a range, including its ends; false for NULL.
  public func between(_ range: ClosedRange<Value.Bare>) -> SQLTerm<Bool> where Value.Bare: Comparable {
    SQLTerm(SQLNode(.between(node, .value(range.lowerBound), .value(range.upperBound))))
  }

  /// Whether the value is within a range without its upper end; false for NULL.
  public func between(_ range: Range<Value.Bare>) -> SQLTerm<Bool> where Value.Bare: Comparable {
    SQLTerm(
      .binary(
        .binary(node, " >= ", .value(range.lowerBound), .relation), " AND ",
        .binary(node, " < ", .value(range.upperBound), .relation), .and))
  }

  /// Whether the value is in a list. No value is in the empty list.
  public func `in`(_ values: some Sequence<Value.Bare>) -> SQLTerm<Bool> {
    SQLTerm(.binary(node, " IN ", SQLNode(.list(values.map { .value($0) })), .equality))
  }

  /// Whether the value is in the result of a query with one column.
  public func `in`<Other: SQLValue>(_ selection: ValueSelection<Other>) -> SQLTerm<Bool>
  where Other.Bare == Value.Bare {
    SQLTerm(.binary(node, " IN ", SQLNode(.select(selection.parts, .values([selection.node]))), .equality))
  }

  /// Whether the value is NULL.
  public var isNull: SQLTerm<Bool> { SQLTerm(node.isNull) }

  /// Whether the value is not NULL.
  public var isNotNull: SQLTerm<Bool> { SQLTerm(node.isNotNull) }

  /// The value, or another value in place of NULL.
  public static func ?? (left: Self, right: Value.Bare) -> SQLTerm<Value.Bare> {
    SQLTerm(.call("coalesce", left.node, .value(right)))
  }

  /// The value, or the value of another expression in place of NULL.
  public static func ?? <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Other.Value>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(.call("coalesce", left.node, right.node))
  }

  /// Converts the value to another type by SQLite's rules. NULL stays NULL, so a column that may be NULL becomes an
  /// Optional.
  public func cast<Target: SQLCastTarget>(to type: Target.Type) -> SQLTerm<Target> {
    SQLTerm(SQLNode(.cast(node, Target.castName)))
  }
}

/// A type that `CAST` can produce.
public protocol SQLCastTarget: SQLValue {
  /// The name of the type in SQL.
  static var castName: StaticString { get }
}

extension Int: SQLCastTarget {
  /// `INTEGER`: a fraction is cut off, and a text that begins with no number becomes 0.
  public static var castName: StaticString { "INTEGER" }
}
extension Int64: SQLCastTarget {
  /// `INTEGER`: a fraction is cut off, and a text that begins with no number becomes 0.
  public static var castName: StaticString { "INTEGER" }
}
extension Double: SQLCastTarget {
  /// `REAL`: a text that begins with no number becomes 0.
  public static var castName: StaticString { "REAL" }
}
extension String: SQLCastTarget {
  /// `TEXT`: a number becomes its decimal digits.
  public static var castName: StaticString { "TEXT" }
}
extension Optional: SQLCastTarget where Wrapped: SQLCastTarget {
  /// The name of the wrapped type: NULL stays NULL.
  public static var castName: StaticString { Wrapped.castName }
}
