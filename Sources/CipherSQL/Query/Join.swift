/// A query over two tables; its rows are pairs of their records.
///
/// ```swift
/// let pairs = try Log.all
///   .join(Room.self) { log, room in log.roomId == room.roomId }
///   .where { log, room in room.title == "Attic" }
///   .fetch(db)                                        // [(Log, Room)]
/// ```
///
/// Rows that are marked as deleted are excluded from all tables without ``includingDeleted()``. A left join has `nil`
/// in place of a deleted row and keeps the row on its left.
public struct Join<First: JoinSide, Second: JoinSide>: Sendable {
  var parts: SelectParts

  private var columns: (First.Columns, Second.Columns) {
    (First.columns(of: parts.sources[0].qualifier), Second.columns(of: parts.sources[1].qualifier))
  }

  private func with(_ change: (inout SelectParts) -> Void) -> Self {
    var copy = self
    change(&copy.parts)
    return copy
  }

  /// Keeps the rows that also fulfil a condition.
  public func `where`(_ condition: (First.Columns, Second.Columns) -> some SQLExpression<Bool>) -> Self {
    let columns = columns
    let node = condition(columns.0, columns.1).node
    return with { $0.filter = .and($0.filter, node) }
  }

  /// Appends terms to the ordering.
  public func order(@SQLOrderingBuilder _ terms: (First.Columns, Second.Columns) -> [SQLOrdering]) -> Self {
    let columns = columns
    let terms = terms(columns.0, columns.1)
    return with { $0.orderings += terms }
  }

  /// Limits the number of rows, after an offset.
  public func limit(_ count: Int, offset: Int? = nil) -> Self { with { ($0.limit, $0.offset) = (count, offset) } }

  /// Removes duplicate rows.
  public func distinct() -> Self { with { $0.isDistinct = true } }

  /// Includes deleted rows.
  public func includingDeleted() -> Self { with { $0.includesDeleted = true } }

  /// Groups rows with equal values of an expression. `select` then returns aggregates over them.
  public func group(by term: (First.Columns, Second.Columns) -> some SQLExpression) -> Self {
    let columns = columns
    let node = term(columns.0, columns.1).node
    return with { $0.groups.append(node) }
  }

  /// Keeps groups that fulfil a condition.
  public func having(_ condition: (First.Columns, Second.Columns) -> some SQLExpression<Bool>) -> Self {
    let columns = columns
    let node = condition(columns.0, columns.1).node
    return with { $0.having = .and($0.having, node) }
  }

  /// Returns an expression of each row instead of the records.
  public func select<Term: SQLExpression>(
    _ term: (First.Columns, Second.Columns) -> Term
  ) -> ValueSelection<Term.Value> {
    let columns = columns
    return ValueSelection(parts, term(columns.0, columns.1).node)
  }

  /// Returns some expressions of each row as tuples instead of the records.
  @_disfavoredOverload
  public func select<each Term: SQLExpression>(
    _ terms: (First.Columns, Second.Columns) -> (repeat each Term)
  ) -> Selection<repeat (each Term).Value> {
    let columns = columns
    let terms = terms(columns.0, columns.1)
    var nodes: [SQLNode] = []
    repeat nodes.append((each terms).node)
    return Selection(parts, nodes)
  }

  /// Adds a third table that must have a row for each pair.
  public func join<R: Record>(
    _ type: R.Type, on condition: (First.Columns, Second.Columns, R.Columns) -> some SQLExpression<Bool>
  ) -> Join3<First, Second, Inner<R>> {
    let qualifier = SelectParts.freshQualifier()
    let columns = columns
    let node = condition(columns.0, columns.1, R.Columns(qualifier: qualifier)).node
    return Join3(parts: parts.joining(type, " JOIN ", qualifier, on: node))
  }

  /// Adds a third table that may have no row for a pair.
  public func leftJoin<R: Record>(
    _ type: R.Type, on condition: (First.Columns, Second.Columns, R.Columns) -> some SQLExpression<Bool>
  ) -> Join3<First, Second, Outer<R>> {
    let qualifier = SelectParts.freshQualifier()
    let columns = columns
    let node = condition(columns.0, columns.1, R.Columns(qualifier: qualifier)).node
    return Join3(parts: parts.joining(type, " LEFT JOIN ", qualifier, on: node))
  }
}

extension Join {
  /// The statement that ``fetch(_:)`` runs: its text and its values.
  /// - Throws: ``SQLError`` with `misuse` if the query is nested in itself.
  public var sql: SQL {
    get throws(SQLError) { try parts.statement(.records(and: [])) }
  }

  /// Returns all rows as tuples of records.
  /// - Throws: ``SQLError``: `typeMismatch` for a row that does not fit a type, `interrupted`.
  public func fetch(_ connection: Connection) throws -> [(First.Element, Second.Element)] {
    let second = Int32(parts.sources[0].shape.columnNames.count)
    var rows: [(First.Element, Second.Element)] = []
    try connection.forEach(try sql) { row in
      rows.append((try First.decode(row, at: 0), try Second.decode(row, at: second)))
    }
    return rows
  }

  /// Returns the first row after the offset, or `nil`.
  public func fetchFirst(_ connection: Connection) throws -> (First.Element, Second.Element)? {
    var first = self
    first.parts = parts.firstOnly()
    return try first.fetch(connection).first
  }

  /// Returns the number of rows.
  public func count(_ connection: Connection) throws -> Int {
    try connection.fetchOne(try parts.statement(.count), as: Int.self) ?? 0
  }
}
