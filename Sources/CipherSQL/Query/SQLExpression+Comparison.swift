/// Comparisons of expressions with values and with each other.
///
/// They read as Swift does: `==` and `!=` take NULL for a value like any other, as nil is in Swift, so that
/// `$0.note != "x"` keeps the rows without a note, and a comparison with nil is `IS NULL` or `IS NOT NULL`.
/// The relations `<`, `<=`, `>` and `>=` are false for NULL on either side.
extension SQLExpression {
  /// Equal. For a column that may be NULL this is `IS`, which an index serves as `=`.
  public static func == (left: Self, right: Value.Bare) -> SQLTerm<Bool> {
    SQLTerm(equal(left.node, .value(right), isNullable: Value.isNullable))
  }

  /// Equal, where nil is `IS NULL`.
  @_disfavoredOverload
  public static func == (left: Self, right: Value.Bare?) -> SQLTerm<Bool> {
    guard let right else { return SQLTerm(left.node.isNull) }
    return left == right
  }

  /// Equal to another expression; NULL is equal to NULL.
  public static func == <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Bool>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(equal(left.node, right.node, isNullable: Value.isNullable || Other.Value.isNullable))
  }

  /// Not equal; true for NULL. Where the column may be NULL this is `IS NOT`.
  public static func != (left: Self, right: Value.Bare) -> SQLTerm<Bool> {
    SQLTerm(different(left.node, .value(right), isNullable: Value.isNullable))
  }

  /// Not equal, where nil is `IS NOT NULL`.
  @_disfavoredOverload
  public static func != (left: Self, right: Value.Bare?) -> SQLTerm<Bool> {
    guard let right else { return SQLTerm(left.node.isNotNull) }
    return left != right
  }

  /// Different from another expression; NULL differs from every value and not from NULL.
  public static func != <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Bool>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(different(left.node, right.node, isNullable: Value.isNullable || Other.Value.isNullable))
  }

  /// Less; false for NULL.
  public static func < (left: Self, right: Value.Bare) -> SQLTerm<Bool> {
    SQLTerm(.binary(left.node, " < ", .value(right), .relation))
  }

  /// Less than another expression; false for NULL.
  public static func < <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Bool>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(.binary(left.node, " < ", right.node, .relation))
  }

  /// Less or equal; false for NULL.
  public static func <= (left: Self, right: Value.Bare) -> SQLTerm<Bool> {
    SQLTerm(.binary(left.node, " <= ", .value(right), .relation))
  }

  /// Less or equal to another expression; false for NULL.
  public static func <= <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Bool>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(.binary(left.node, " <= ", right.node, .relation))
  }

  /// Greater; false for NULL.
  public static func > (left: Self, right: Value.Bare) -> SQLTerm<Bool> {
    SQLTerm(.binary(left.node, " > ", .value(right), .relation))
  }

  /// Greater than another expression; false for NULL.
  public static func > <Other: SQLExpression>(left: Self, right: Other) -> SQLTerm<Bool>
  where Other.Value.Bare == Value.Bare {
    SQLTerm(.binary(left.node, " > ", right.node, .relation))
  }

  /// Greater or equal; false for NULL.
  public static func >= (left: Self, right: Value.Bare) -> SQLTerm<Bool> {
    SQLTerm(.binary(left.node, " >= ", .value(right), .relation))
  }

  /// Greater or equal to another expression; false for NULL.
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
