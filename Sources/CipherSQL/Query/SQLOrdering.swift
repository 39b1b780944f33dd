/// One term of an ORDER BY.
public struct SQLOrdering: Sendable {
  /// The position of NULL.
  enum NullPlace: Sendable {
    case byDirection, first, last
  }

  let node: SQLNode
  let isDescending: Bool
  let isNullable: Bool
  var nulls = NullPlace.byDirection

  /// NULL before all values. An index rarely gives this order for a descending term.
  public var nullsFirst: SQLOrdering { with(.first) }
  /// NULL after all values. An index rarely gives this order for an ascending term.
  public var nullsLast: SQLOrdering { with(.last) }

  private func with(_ nulls: NullPlace) -> SQLOrdering {
    var copy = self
    copy.nulls = nulls
    return copy
  }

  /// Whether NULL comes first. SQLite orders NULL before all values.
  var putsNullsFirst: Bool {
    switch nulls {
    case .byDirection: !isDescending
    case .first: true
    case .last: false
    }
  }
}

extension SQLExpression {
  /// Ascending order; NULL first.
  public var ascending: SQLOrdering { SQLOrdering(node: node, isDescending: false, isNullable: Value.isNullable) }
  /// Descending order; NULL last.
  public var descending: SQLOrdering { SQLOrdering(node: node, isDescending: true, isNullable: Value.isNullable) }
}

extension SQLWriter {
  mutating func write(_ ordering: SQLOrdering) {
    write(ordering.node)
    if ordering.isDescending { write(" DESC") }
    switch ordering.nulls {
    case .byDirection: break
    case .first: write(" NULLS FIRST")
    case .last: write(" NULLS LAST")
    }
  }
}

/// Collects the terms of an ordering, one per line or in an array.
@resultBuilder
public enum SQLOrderingBuilder {
  /// Accepts one term.
  public static func buildExpression(_ ordering: SQLOrdering) -> [SQLOrdering] { [ordering] }
  /// Accepts the terms of an array, in its order.
  public static func buildExpression(_ orderings: [SQLOrdering]) -> [SQLOrdering] { orderings }
  /// Begins with the terms of the first line.
  public static func buildPartialBlock(first: [SQLOrdering]) -> [SQLOrdering] { first }
  /// Appends the terms of the next line.
  public static func buildPartialBlock(accumulated: [SQLOrdering], next: [SQLOrdering]) -> [SQLOrdering] {
    accumulated + next
  }
  /// Accepts the terms of an `if` without `else`; no term if its condition is false.
  public static func buildOptional(_ orderings: [SQLOrdering]?) -> [SQLOrdering] { orderings ?? [] }
  /// Accepts the terms of the first branch of an `if` or `switch`.
  public static func buildEither(first: [SQLOrdering]) -> [SQLOrdering] { first }
  /// Accepts the terms of the other branch of an `if` or `switch`.
  public static func buildEither(second: [SQLOrdering]) -> [SQLOrdering] { second }
}
