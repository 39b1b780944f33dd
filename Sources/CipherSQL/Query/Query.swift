/// A query for records of one type, composed from its columns.
///
/// ```swift
/// let rooms = try Room.where { $0.projectId == id && $0.squareFootage > 10 }
///   .order { $0.updatedAt.descending }
///   .limit(50)
///   .fetch(db)
/// ```
///
/// A query is a value: each function returns a new one, and only functions such as `fetch` run it. Deleted rows
/// (``SoftDeletable``) are left out until ``includingDeleted()``. A subquery may use columns of the outer query if it
/// is created within a closure of the outer query.
public struct Query<R: Record>: Sendable {
  var parts: SelectParts

  /// All records.
  public init() { parts = SelectParts(RecordShape.of(R.self), qualifier: SelectParts.freshQualifier()) }

  var columns: R.Columns { R.Columns(qualifier: parts.sources[0].qualifier) }

  func with(_ change: (inout SelectParts) -> Void) -> Query {
    var copy = self
    change(&copy.parts)
    return copy
  }

  /// Keeps the records that also meet a condition.
  public func `where`(_ condition: (R.Columns) -> some SQLExpression<Bool>) -> Query {
    let node = condition(columns).node
    return with { $0.filter = .and($0.filter, node) }
  }

  /// Adds terms after the present ones.
  public func order(@SQLOrderingBuilder _ terms: (R.Columns) -> [SQLOrdering]) -> Query {
    let terms = terms(columns)
    return with { $0.orderings += terms }
  }

  /// Limits the number of rows, after an offset. For pages prefer ``page(_:size:after:)``, which does not read the
  /// rows that it skips.
  public func limit(_ count: Int, offset: Int? = nil) -> Query { with { ($0.limit, $0.offset) = (count, offset) } }

  /// Leaves out rows that are equal in all columns.
  public func distinct() -> Query { with { $0.isDistinct = true } }

  /// Includes deleted rows.
  public func includingDeleted() -> Query { with { $0.includesDeleted = true } }

  /// Groups rows with equal values of an expression. `select` then returns aggregates over them.
  public func group(by term: (R.Columns) -> some SQLExpression) -> Self {
    let node = term(columns).node
    return with { $0.groups.append(node) }
  }

  /// Groups rows with equal values of some expressions. `select` then returns aggregates over them.
  @_disfavoredOverload
  public func group<each Term: SQLExpression>(
    by terms: (R.Columns) -> (repeat each Term)
  ) -> Self {
    let terms = terms(columns)
    var copy = self
    repeat copy.parts.groups.append((each terms).node)
    return copy
  }

  /// Keeps groups that fulfil a condition.
  public func having(_ condition: (R.Columns) -> some SQLExpression<Bool>) -> Query {
    let node = condition(columns).node
    return with { $0.having = .and($0.having, node) }
  }

  /// Returns an expression of each row instead of the records.
  public func select<Term: SQLExpression>(_ term: (R.Columns) -> Term) -> ValueSelection<Term.Value> {
    ValueSelection(parts, term(columns).node)
  }

  /// Returns some expressions of each row as tuples instead of the records.
  @_disfavoredOverload
  public func select<each Term: SQLExpression>(
    _ terms: (R.Columns) -> (repeat each Term)
  ) -> Selection<repeat (each Term).Value> {
    let terms = terms(columns)
    var nodes: [SQLNode] = []
    repeat nodes.append((each terms).node)
    return Selection(parts, nodes)
  }
}

extension Record {
  /// All records of the type.
  public static var all: Query<Self> { Query() }

  /// The records that fulfil a condition.
  public static func `where`(_ condition: (Columns) -> some SQLExpression<Bool>) -> Query<Self> {
    Query().where(condition)
  }
}
