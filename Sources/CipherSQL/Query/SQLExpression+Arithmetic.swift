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

  /// The quotient by a value; whole numbers without the rest, NULL for a division by zero.
  public static func / (left: Self, right: Value.Bare) -> SQLTerm<Value.Bare?> {
    SQLTerm(.binary(left.node, " / ", .value(right), .multiplication))
  }

  /// The quotient by another expression; whole numbers without the rest, NULL for a division by zero.
  public static func / <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Value.Bare?>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(.binary(left.node, " / ", right.node, .multiplication))
  }

  /// The number with the other sign.
  public static prefix func - (operand: Self) -> SQLTerm<Value> { SQLTerm(.call("-", operand.node)) }
}
